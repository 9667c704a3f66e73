package alerting

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func open(t testing.TB) *Store {
	t.Helper()
	return must.Get(OpenStore(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), 0))(t)
}

// fill appends samples of this number of series.
func fill(t testing.TB, s *Store, series int, from, to time.Time, every time.Duration) {
	t.Helper()
	for at := from; at.Before(to); at = at.Add(every) {
		app := s.Appender(t.Context())
		for i := range series {
			name := labels.FromStrings("__name__", "height", "node", string(rune('a'+i)))
			must.Get(app.Append(0, name, at.UnixMilli(), float64(at.Unix())))(t)
		}
		must.Do(t, app.Commit())
	}
}

func TestStoreKeepsExactlyItsHistory(t *testing.T) {
	for _, history := range []time.Duration{minHistory, maxHistory} {
		t.Run(history.String(), func(t *testing.T) {
			s := open(t)
			begin := time.Unix(1_800_000_000, 0)
			now := begin.Add(time.Hour)
			fill(t, s, 21, begin, now, 15*time.Second) // one of the series ends here
			for end := now.Add(history + 4*time.Hour); now.Before(end); {
				fill(t, s, 20, now, now.Add(dropEvery), 15*time.Second)
				now = now.Add(dropEvery)
				must.Do(t, s.drop(now, history))
			}
			q := must.Get(s.Querier(now.Add(-history).UnixMilli(), now.UnixMilli()))(t)
			set := q.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchEqual, "__name__", "height"))
			series := 0
			for set.Next() {
				series++
				samples := 0
				for it := set.At().Iterator(nil); it.Next() != chunkenc.ValNone; {
					samples++
				}
				if want := int(history / (15 * time.Second)); samples != want {
					t.Errorf("%s: %d samples, want %d", set.At().Labels(), samples, want)
				}
			}
			if err := q.Close(); err != nil || series != 20 || s.NumSeries() != 20 {
				t.Errorf("%d series, %d in the head, want 20 (%v)", series, s.NumSeries(), err)
			}
			if oldest := now.Sub(time.UnixMilli(s.MinTime())); oldest > history+Lookback+dropEvery {
				t.Errorf("oldest sample %s ago", oldest)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHistoryFollowsTheMemoryLimit(t *testing.T) {
	for _, test := range []struct {
		interval time.Duration
		series   uint64
		want     time.Duration
	}{
		{15 * time.Second, 0, maxHistory},
		{15 * time.Second, 2_000, maxHistory},
		{15 * time.Second, 4_000, 4_000 * 15 * time.Second},
		{30 * time.Second, 4_000, maxHistory},
		{15 * time.Second, 1_000_000, minHistory},
	} {
		if got := (Config{Interval: test.interval}).history(test.series); got != test.want {
			t.Errorf("%d series every %s: kept for %s, want %s", test.series, test.interval, got, test.want)
		}
	}
}

// A query that starts while samples are dropped returns the remaining samples. It does not block the drop.
func TestQueryDuringADrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		now := time.Now()
		fill(t, s, 1, now.Add(-3*time.Hour), now, 15*time.Second)
		ask := func(from, to time.Time) storage.Querier {
			return must.Get(s.Querier(from.UnixMilli(), to.UnixMilli()))(t)
		}
		early := ask(now.Add(-3*time.Hour), now)
		dropped := make(chan error, 1)
		go func() { dropped <- s.drop(now, minHistory) }()
		synctest.Wait() // the drop waits for the earlier query

		late := ask(now.Add(-3*time.Hour), now)
		gone := ask(now.Add(-3*time.Hour), now.Add(-minHistory-time.Hour/2))
		must.Do(t, early.Close())
		select {
		case err := <-dropped:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("later queries block the drop")
		}
		for name, q := range map[string]storage.Querier{"late": late, "gone": gone} {
			samples := 0
			set := q.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchEqual, "__name__", "height"))
			for set.Next() {
				for it := set.At().Iterator(nil); it.Next() != chunkenc.ValNone; {
					samples++
				}
			}
			if want := map[string]int{"late": int((minHistory + Lookback) / (15 * time.Second))}[name]; samples != want {
				t.Errorf("%s: %d samples, want %d", name, samples, want)
			}
			if err := q.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The store's directory is deleted, so a write to it would fail, as writes of Prometheus' database do on a full disk.
func TestStoreWritesNoFiles(t *testing.T) {
	s := open(t)
	begin := time.Unix(1_800_000_000, 0)
	for i := range 4 {
		from := begin.Add(time.Duration(i) * time.Hour)
		fill(t, s, 20, from, from.Add(time.Hour), 15*time.Second)
		must.Do(t, s.drop(from.Add(time.Hour), minHistory))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left over: %s (%v)", s.dir, err)
	}
}
