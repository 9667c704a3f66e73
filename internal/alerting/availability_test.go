package alerting

import (
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// ratio returns the value of a family for a node and a window; NaN if it is absent.
func (w *world) ratio(family, node, window string) float64 {
	w.t.Helper()
	for line := range strings.Lines(w.metric(family)) {
		var v float64
		if strings.Contains(line, fmt.Sprintf("node=%q", node)) && strings.Contains(line, fmt.Sprintf("window=%q", window)) {
			must.Get(fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &v))(w.t)
			return v
		}
	}
	return math.NaN()
}

// Availability is the share of the watched time. What was not watched is neither up nor down, also after a restart, and a removed node has none.
func TestAvailabilityIsThatOfTheWatchedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(0))
		slow := func(o *Options) { o.Interval = 4 * time.Minute }
		_, stop := w.start(slow)
		up := func(is int, long time.Duration) {
			w.show(fmt.Sprintf("avax_node_up{node=\"alpha\"} %d", is))
			time.Sleep(long)
		}
		demand := func(family, window string, want float64) {
			t.Helper()
			if got := w.ratio(family, "alpha", window); math.Abs(got-want) > 0.002 || math.IsNaN(got) != math.IsNaN(want) {
				t.Errorf("%s of %s is %.4f, want %.4f", family, window, got, want)
			}
		}
		const day = 24 * time.Hour
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + time.Minute)))
		up(1, 2*day)
		up(0, 3*time.Hour)
		up(1, 21*time.Hour)
		demand("avax_availability_ratio", "24h", 21./24)
		demand("avax_availability_ratio", "7d", 1-3./24/3)
		demand("avax_availability_ratio", "30d", 1-3./24/3)
		demand("avax_availability_watched_ratio", "24h", 1)
		demand("avax_availability_watched_ratio", "30d", 3./30)
		stop()
		time.Sleep(day)
		_, again := w.start(slow)
		up(1, day)
		demand("avax_availability_ratio", "24h", 1)
		demand("avax_availability_ratio", "90d", 1-3./24/4)
		demand("avax_availability_watched_ratio", "90d", 4./90)
		demand("avax_availability_watched_ratio", "7d", 4./7)
		if testing.Short() {
			again()
			return
		}
		w.show("avax_node_up{node=\"bravo\"} 1")
		time.Sleep(25 * time.Hour)
		demand("avax_availability_ratio", "90d", math.NaN())
		if got := w.ratio("avax_availability_ratio", "bravo", "7d"); got != 1 {
			t.Errorf("bravo: %v", got)
		}
		again()
	})
}

// While all that was watched is within each window, the windows say the same: they count the hour that has not ended, also over a restart.
func TestWindowsAgreeOnWhatIsInAllOfThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(0))
		slow := func(o *Options) { o.Interval = 4 * time.Minute }
		_, stop := w.start(slow)
		up := func(is int, long time.Duration) {
			w.show(fmt.Sprintf("avax_node_up{node=\"alpha\"} %d", is))
			for end := time.Now().Add(long); time.Now().Before(end); {
				time.Sleep(min(5*time.Minute, time.Until(end)))
				share, long := w.ratio(AvailabilityFamily, "alpha", "24h"), w.ratio(WatchedFamily, "alpha", "24h")
				for window, days := range map[string]float64{"7d": 7, "30d": 30, "90d": 90} {
					if of, longOf := w.ratio(AvailabilityFamily, "alpha", window), days*w.ratio(WatchedFamily, "alpha", window); math.IsNaN(of) != math.IsNaN(share) || math.Abs(of-share) > 1e-9 || math.Abs(longOf-long) > 1e-9 {
						t.Errorf("%s: %.6f of %.6f days in %s, %.6f of %.6f in 24h", time.Now().Format("15:04"), of, longOf, window, share, long)
					}
				}
			}
		}
		time.Sleep(17 * time.Minute)
		up(1, 41*time.Minute)
		up(0, 13*time.Minute)
		up(1, 66*time.Minute)
		stop()
		time.Sleep(20 * time.Minute)
		_, again := w.start(slow)
		up(1, 30*time.Minute)
		up(0, 9*time.Minute)
		up(1, 80*time.Minute)
		again()
		if got := w.ratio(AvailabilityFamily, "alpha", "90d"); got > 0.95 || got < 0.85 {
			t.Errorf("%.4f", got)
		}
	})
}

// The share of good answers in a window is the average over the watched time: with nine tenths of the answers good in three hours, and all in the other
// 69 hours, a tenth of three hours of 72 is missed.
func TestGoodAnswersAreTheAverageOfTheWatchedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, down(0))
		_, stop := w.start(func(o *Options) { o.Interval = 4 * time.Minute })
		defer stop()
		good := func(is float64, long time.Duration) {
			w.show(fmt.Sprintf("avax:rpc_good_ratio{chain=\"C\",objective=\"answers\"} %g", is))
			time.Sleep(long)
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + time.Minute)))
		good(1, 2*24*time.Hour)
		good(0.9, 3*time.Hour)
		good(1, 21*time.Hour)
		for window, want := range map[string]float64{"24h": 1 - 0.1*3/24, "7d": 1 - 0.1*3/72, "30d": 1 - 0.1*3/72, "90d": 1 - 0.1*3/72} {
			var got float64
			for line := range strings.Lines(w.metric("avax_availability_ratio")) {
				if strings.Contains(line, `chain="C",node="",node_id="",objective="answers",window="`+window) {
					must.Get(fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &got))(t)
				}
			}
			if math.Abs(got-want) > 0.0002 {
				t.Errorf("%s: %.5f, want %.5f", window, got, want)
			}
		}
	})
}

// The documented size of ninety days: docs/operating.md.
func TestQuarterOfAThousandNodesIsSmall(t *testing.T) {
	const nodes, megabyte = 1000, 1 << 20
	root := t.TempDir()
	dir := must.Get(state.Open(root))(t)
	before := heap()
	quarter := must.Get(newQuarter(dir, slog.New(slog.DiscardHandler)))(t)
	began := time.Now().Add(-QuarterHistory).Truncate(quarterStep)
	steps := int(QuarterHistory / quarterStep)
	if testing.Short() {
		steps /= 10
	}
	for i := range steps {
		app := quarter.store.Appender(t.Context())
		for node := range nodes {
			add := func(name string, v float64) {
				of := labels.FromStrings("__name__", name, "node", fmt.Sprintf("validator-%04d", node))
				must.Get(app.Append(0, of, began.Add(time.Duration(i)*quarterStep).UnixMilli(), v))(t)
			}
			add(watchedSteps, 12)
			if (i*31+node*17)%500 == 0 { // an outage of some minutes in three weeks
				add(lostSteps, 0.8)
			}
		}
		must.Do(t, app.Commit())
		if i%24 == 23 {
			must.Do(t, quarter.save(quarter.store, QuarterHistory))
		}
	}
	quarter.close()
	var size int64
	must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if info, statErr := os.Stat(path); err == nil && statErr == nil && !d.IsDir() {
			size += info.Size()
		}
		return err
	}))
	memory := heap() - before
	t.Logf("%d nodes, %d hours: %.1f MB on disk, %.1f MB in memory", nodes, steps, float64(size)/megabyte, float64(memory)/megabyte)
	if most := int64(steps) * 15 * megabyte / 2160; size > most {
		t.Errorf("%d bytes on disk, at most %d", size, most)
	}
	runtime.KeepAlive(quarter)
}
