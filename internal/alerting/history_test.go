package alerting

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// saved is a history in a directory, with its log.
type saved struct {
	*history
	dir *state.Dir
	log bytes.Buffer
}

func openHistory(t *testing.T, path string) *saved {
	t.Helper()
	s := &saved{}
	dir := must.Get(state.Open(path))(t)
	dir.Log = slog.New(slog.NewTextHandler(&s.log, nil))
	s.dir, s.history = dir, newHistory(dir, dir.Log, "history", partEvery)
	return s
}

// samplesOf returns the samples of all series, by their labels.
func samplesOf(t *testing.T, s *Store) map[string][]float64 {
	t.Helper()
	q := must.Get(s.Querier(s.MinTime(), s.MaxTime()))(t)
	defer q.Close()
	all := map[string][]float64{}
	set := q.Select(t.Context(), false, nil, labels.MustNewMatcher(labels.MatchRegexp, "__name__", ".+"))
	for set.Next() {
		for it := set.At().Iterator(nil); it.Next() == chunkenc.ValFloat; {
			_, v := it.At()
			if value.IsStaleNaN(v) {
				v = -1
			}
			all[set.At().Labels().String()] = append(all[set.At().Labels().String()], v)
		}
	}
	return all
}

// same fails the test unless a new process reads the samples of a store.
func same(t *testing.T, path string, s *Store) {
	t.Helper()
	restored := open(t)
	defer restored.Close()
	if err := openHistory(t, path).load(restored, time.Now()); err != nil {
		t.Error(err)
	}
	got, want := samplesOf(t, restored), samplesOf(t, s)
	if len(got) != len(want) {
		t.Errorf("%d series, want %d", len(got), len(want))
	}
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("%s: %d samples, want %d", name, len(got[name]), len(want[name]))
		}
	}
}

// At each save only new samples are written, over several files.
func TestSamplesSurviveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, s := t.TempDir(), open(t)
		h := openHistory(t, path)
		for range 10 {
			now := time.Now()
			fill(t, s, 20, now, now.Add(5*time.Minute), 15*time.Second)
			time.Sleep(5 * time.Minute)
			must.Do(t, h.save(s, minHistory))
		}
		if parts, _ := h.parts(); len(parts) < 3 {
			t.Errorf("%d files", len(parts))
		}
		same(t, path, s) // as after kill -9: nothing was closed
		h.close()
		same(t, path, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestOldFilesAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := openHistory(t, t.TempDir()), open(t)
		for range 24 {
			now := time.Now()
			fill(t, s, 1, now, now.Add(15*time.Minute), 15*time.Second)
			time.Sleep(15 * time.Minute)
			must.Do(t, h.save(s, time.Hour))
		}
		parts, err := h.parts()
		if err != nil || len(parts) > 6 || len(parts) < 5 {
			t.Errorf("%d files for an hour (%v)", len(parts), err)
		}
		h.close()
	})
}

// A machine without a clock of its own starts in the past, until its time is synchronized: that start deletes nothing. What a wrong clock wrote into
// the future is deleted by a process that runs longer.
func TestStartInThePastDeletesNoSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, s := t.TempDir(), open(t)
		ahead := time.Now().AddDate(3, 0, 0) // also a name with more digits
		h := openHistory(t, path)
		must.Do(t, os.MkdirAll(h.path, 0o700))
		for i := range 3 {
			must.Do(t, h.begin(ahead.Add(time.Duration(i)*partEvery)))
			h.size = 1
			h.close()
		}
		for range 3 { // processes
			h, restored := openHistory(t, path), open(t)
			must.Do(t, h.load(restored, time.Now()))
			for range 50 {
				now := time.Now()
				fill(t, s, 1, now, now.Add(15*time.Second), 15*time.Second)
				time.Sleep(15 * time.Second)
				must.Do(t, h.save(s, time.Hour))
			}
			h.close()
		}
		future := func() (n int) {
			parts, _ := h.parts()
			for _, part := range parts {
				if began(part) > time.Now().UnixMilli() {
					n++
				}
			}
			return n
		}
		if future() != 3 {
			t.Errorf("%d of 3 files after three starts", future())
		}
		h = openHistory(t, path)
		must.Do(t, h.load(open(t), time.Now()))
		for range 3 {
			must.Do(t, h.save(s, time.Hour))
			now := time.Now()
			fill(t, s, 1, now, now.Add(15*time.Second), 15*time.Second)
			time.Sleep(partEvery)
		}
		must.Do(t, h.save(s, time.Hour))
		if future() != 0 {
			t.Errorf("%d files from the future are left", future())
		}
	})
}

// New versions, messages and alerts make new series, and the old ones end.
func TestHistoryForgetsSeriesThatHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, s := openHistory(t, t.TempDir()), open(t)
		for n := range 200 {
			app := s.Appender(t.Context())
			must.Get(app.Append(0, labels.FromStrings("__name__", "version", "number", strconv.Itoa(n)), time.Now().UnixMilli(), 1))(t)
			must.Do(t, app.Commit())
			time.Sleep(15 * time.Minute)
			must.Do(t, h.save(s, time.Hour))
			must.Do(t, s.drop(time.Now(), time.Hour))
		}
		if known := len(h.written); known > 50 {
			t.Errorf("%d series are known, of the last hours 200", known)
		}
		h.close()
		must.Do(t, s.Close())
	})
}

// A full or read-only disk loses nothing that is still in memory when there is space again.
func TestFailedWriteIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, s := t.TempDir(), open(t)
		h := openHistory(t, path)
		more := func() {
			now := time.Now()
			fill(t, s, 20, now, now.Add(5*time.Minute), 15*time.Second)
			time.Sleep(5 * time.Minute)
		}
		more()
		must.Do(t, h.save(s, minHistory))
		good := h.file
		full := must.Get(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
		h.file = full
		more()
		if err := h.save(s, minHistory); !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), partSuffix) {
			t.Errorf("error %v", err)
		}
		must.Do(t, good.Close())
		for range 3 { // no room for a file
			must.Do(t, os.Rename(h.path, h.path+"-moved"), os.WriteFile(h.path, nil, 0o600))
			more()
			if err := h.save(s, minHistory); err == nil {
				t.Error("no error")
			}
			must.Do(t, os.Remove(h.path), os.Rename(h.path+"-moved", h.path))
		}
		more()
		if err := h.save(s, minHistory); err != nil {
			t.Error(err)
		}
		same(t, path, s)
	})
}

// More samples than are kept until a save are saved, too.
func TestSamplesBetweenTwoSavesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, s := t.TempDir(), open(t)
		h := openHistory(t, path)
		must.Do(t, h.save(s, minHistory))
		now := time.Now()
		fill(t, s, maxRecent/100, now, now.Add(30*time.Minute), 15*time.Second)
		if n := len(s.recent.samples); n > maxRecent {
			t.Errorf("%d samples are kept", n)
		}
		time.Sleep(30 * time.Minute)
		must.Do(t, h.save(s, minHistory))
		same(t, path, s)
	})
}

func TestDamagedHistoryIsSetAside(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"zeros":     func(p string) error { return os.WriteFile(p, make([]byte, 4096), 0o600) },
		"text":      func(p string) error { return os.WriteFile(p, []byte("not samples, and longer than a head"), 0o600) },
		"FIFO":      func(p string) error { return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o600)) },
		"directory": func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			path, s := t.TempDir(), open(t)
			h := openHistory(t, path)
			fill(t, s, 20, time.Now().Add(-time.Hour), time.Now(), 15*time.Second)
			must.Do(t, h.save(s, minHistory))
			parts, _ := h.parts()
			must.Do(t, damage(parts[0]))
			again, restored := openHistory(t, path), open(t)
			if err := again.load(restored, time.Now()); err != nil || restored.NumSeries() != 0 {
				t.Errorf("%d series (%v)", restored.NumSeries(), err)
			}
			if n := again.dir.Damaged(); n != 1 || !strings.Contains(again.log.String(), "state file damaged") {
				t.Errorf("%d files set aside: %s", n, &again.log)
			}
		})
	}
}

// A process that is killed during a write leaves an incomplete record. What is before it counts, and so do later files.
func TestIncompleteRecordEndsAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, s := t.TempDir(), open(t)
		h := openHistory(t, path)
		now := time.Now()
		fill(t, s, 20, now, now.Add(5*time.Minute), 15*time.Second)
		must.Do(t, h.save(s, minHistory))
		parts, _ := h.parts()
		content := must.Get(os.ReadFile(parts[0]))(t)
		for cut := 0; cut < len(content); cut += 37 {
			must.Do(t, os.WriteFile(parts[0], append(slices.Clone(content), content[:cut]...), 0o600))
			again, restored := openHistory(t, path), open(t)
			if err := again.load(restored, time.Now()); err != nil || again.dir.Damaged() != 0 || restored.NumSeries() != 20 {
				t.Fatalf("cut at %d: %d series, %d files set aside (%v)", cut, restored.NumSeries(), again.dir.Damaged(), err)
			}
			_ = restored.Close()
		}
	})
}

// Too many open files, or no permission, say nothing about the content.
func TestUnreadableHistoryIsKept(t *testing.T) {
	path, s := t.TempDir(), open(t)
	fill(t, s, 20, time.Now().Add(-time.Hour), time.Now(), 15*time.Second)
	must.Do(t, openHistory(t, path).save(s, minHistory))
	h, restored := openHistory(t, path), open(t)
	parts, _ := h.parts()
	var limit syscall.Rlimit
	must.Do(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit), syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: limit.Max}))
	_, err := h.read(parts[0], restored, time.Now())
	must.Do(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	if !errors.Is(err, syscall.EMFILE) || !state.Passing(err) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(parts[0]); errors.Is(err, fs.ErrNotExist) || filepath.Ext(parts[0]) != partSuffix {
		t.Errorf("%s: %v", parts[0], err)
	}
}

// After the clock was set back, the samples before the step have the times that a right clock would have given them, and so have the values that
// are times of this clock: an alert on their age neither ends nor starts.
func TestSamplesMoveWithTheClock(t *testing.T) {
	s, at := open(t), time.Unix(1_800_000_000, 0)
	now := float64(at.Unix())
	want := map[string][]float64{}
	app := s.Appender(t.Context())
	for _, one := range []struct {
		name         string
		value, after float64
	}{
		{"height", 7, 7},
		{forState, now - 60, now - 3660},
		{"avax:node_down_since_timestamp_seconds", now - 60, now - 3660},
		{"avax:node_watched_timestamp_seconds", now, now - 3600},
		{"avax:validator_end_timestamp_seconds", now + 60, now + 60}, // by the network's clock
		{"avax:other_timestamp_seconds", 0, 0},
		{"avax_chain_head_timestamp_seconds", now - 60, now - 60}, // by the network's clock
		{"avax:node_lag_seconds", 60, 60},
	} {
		must.Get(app.Append(0, labels.FromStrings("__name__", one.name), at.UnixMilli(), one.value))(t)
		want[`{__name__="`+one.name+`"}`] = []float64{one.after}
	}
	must.Do(t, app.Commit())
	moved := must.Get(s.moved(slog.New(slog.DiscardHandler), at, -time.Hour))(t)
	if moved.MaxTime() != at.Add(-time.Hour).UnixMilli() {
		t.Errorf("newest sample at %d", moved.MaxTime())
	}
	if diff := cmp.Diff(want, samplesOf(t, moved)); diff != "" {
		t.Errorf("(-want +moved):\n%s", diff)
	}
}
