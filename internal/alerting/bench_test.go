package alerting

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// seriesPerNode is the number of series of a node with the default collectors and an L1 (see docs/performance.md).
const seriesPerNode = 455

// BenchmarkAlerting measures the evaluation of the built-in rules every 15 s, with as much history as the limit of memory allows.
// It also reports the number of active alerts. Without a fault there is one, which always fires.
func BenchmarkAlerting(b *testing.B) {
	for _, nodes := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			page := seriesOf(nodes*seriesPerNode, func(string) bool { return true })
			for b.Loop() {
				// Synthetic time is only available in tests.
				ok := testing.RunTests(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{
					Name: b.Name(), F: func(t *testing.T) { synctest.Test(t, func(t *testing.T) { cost(t, b, page) }) },
				}})
				if !ok {
					b.FailNow()
				}
			}
		})
	}
}

// seriesOf returns this number of series of the collectors' families, for healthy nodes.
func seriesOf(n int, wanted func(string) bool) []labels.Labels {
	var series []labels.Labels
	for node := 0; ; node++ {
		before := len(series)
		for _, spec := range collectors.All() {
			for _, f := range spec.Families {
				if !wanted(f.Name) || len(f.Labels) == 0 {
					continue
				}
				if len(series) == n {
					return series
				}
				l := labels.NewBuilder(labels.FromStrings("__name__", f.Name))
				for _, name := range f.Labels {
					l.Set(name, name+"-"+strconv.Itoa(node))
				}
				series = append(series, l.Labels())
			}
		}
		if len(series) == before {
			return series
		}
	}
}

// well returns a healthy value.
func well(family string) float64 {
	switch {
	case strings.HasSuffix(family, "_timestamp_seconds"):
		return float64(time.Now().AddDate(1, 0, 0).Unix())
	case strings.HasSuffix(family, "_avax"), strings.HasSuffix(family, "_runway_seconds"):
		return 1e9
	case faults.MatchString(family):
		return 0
	}
	return 1
}

var (
	// faults matches the families in which the value 1 is a fault.
	faults = regexp.MustCompile("_(benched|duplicate|fork_detected|check_failing|mismatch|newer_version_stake_ratio|downtime_used_seconds)$")
	// settled matches the families of which a rule detects changes.
	settled = regexp.MustCompile("_(up|weight|owners?|owner_threshold|block|info)$")
)

// cost runs alerting for some minutes with a full history, and reports the costs.
func cost(t *testing.T, b *testing.B, series []labels.Labels) {
	const interval, ticks = 15 * time.Second, 20
	w := newWorld(t, string(alerts.Rules))
	var page bytes.Buffer
	for _, l := range series {
		fmt.Fprintf(&page, "%s%s %g\n", l.Get("__name__"), labels.NewBuilder(l).Del("__name__").Labels(), well(l.Get("__name__")))
	}
	w.show(page.String())
	before := heap()
	filled := make(chan struct{})
	a, stop := w.start(func(o *Options) {
		o.Metrics = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			<-filled
			w.ServeHTTP(rw, r)
		})
	})
	defer stop()
	var kept []labels.Labels
	for _, l := range series {
		kept = append(kept, labels.NewBuilder(l).Set("job", "avax-exporter").Set("instance", "here:9865").Labels())
	}
	history := Config{Interval: interval}.history(uint64(len(kept)))
	now := time.Now()
	appendHistory(t, a.current().store, kept, now.Add(-history), now, interval)
	close(filled)
	time.Sleep(15 * time.Minute) // until rules are evaluated, every cache is filled, and it is known which series have ended
	used := processor()
	time.Sleep(ticks * interval)
	used = processor() - used
	perTick := used / ticks
	active := 0
	for _, g := range a.groups() {
		for _, r := range g.Rules {
			active += len(r.Alerts)
		}
	}
	b.ReportMetric(float64(active), "alerts")
	b.ReportMetric(float64(len(kept)), "series")
	b.ReportMetric(history.Hours(), "history-h")
	b.ReportMetric(perTick.Seconds()*1000, "cpu-ms/tick")
	b.ReportMetric(100*perTick.Seconds()/interval.Seconds(), "%-of-a-core")
	b.ReportMetric(float64(heap()-before)/1e6, "heap-MB")
	b.ReportMetric(float64(size(t, w.state)), "disk-B")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkHistory measures the memory of stored samples at 15 s: per series, and per sample beyond the first two hours.
func BenchmarkHistory(b *testing.B) {
	const interval, count = 15 * time.Second, 2000
	series := seriesOf(count, func(string) bool { return true })
	for _, hours := range []int{2, 24} {
		b.Run(fmt.Sprintf("hours=%d", hours), func(b *testing.B) {
			for b.Loop() {
				before := heap()
				s := open(b)
				end := time.Unix(1_800_000_000, 0)
				samples := appendHistory(b, s, series, end.Add(-time.Duration(hours)*time.Hour), end, interval)
				used := float64(heap() - before)
				b.ReportMetric(used/float64(len(series)), "B/series")
				b.ReportMetric(used/float64(samples), "B/sample")
				must.Do(b, s.Close())
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// appendHistory appends samples of healthy series and returns the number of samples. A third of the series change.
func appendHistory(t testing.TB, s *Store, series []labels.Labels, from, to time.Time, every time.Duration) (samples int) {
	t.Helper()
	refs, values, moves := make([]storage.SeriesRef, len(series)), make([]float64, len(series)), make([]bool, len(series))
	for n, l := range series {
		name := l.Get("__name__")
		values[n], moves[n] = well(name), n%3 == 0 && !settled.MatchString(name)
	}
	for i, at := 0, from; at.Before(to); i, at = i+1, at.Add(every) {
		app := s.Appender(t.Context())
		for n, l := range series {
			value := values[n]
			if moves[n] {
				value *= 1 + float64(i%7)/137
			}
			var err error
			if refs[n], err = app.Append(refs[n], l, at.UnixMilli(), value); err != nil {
				t.Fatal(err)
			}
			samples++
		}
		must.Do(t, app.Commit())
	}
	return samples
}

// heap returns the size of live memory.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// processor returns the CPU time of this process.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// size returns the size of the files in a directory.
func size(t *testing.T, path string) (n int64) {
	must.Do(t, filepath.WalkDir(path, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := os.Stat(file)
		if err == nil {
			n += info.Size()
		}
		return err
	}))
	return n
}
