package snapshot_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
)

var (
	height = metric.New("avax_test_height", "A height.", "node")
	peers  = metric.New("avax_test_peers", "Peers.", "node")

	alpha = snapshot.Key{Collector: "test", Target: "alpha"}
	bravo = snapshot.Key{Collector: "test", Target: "bravo"}
)

// run is a good run of the job with a height, good for a minute.
func run(k snapshot.Key, value float64) snapshot.Run {
	b := metric.NewBatch([]*metric.Family{height, peers})
	b.Set(height, value, k.Target)
	b.Set(peers, value+1, k.Target)
	return snapshot.Run{Key: k, At: time.Now(), Took: time.Second, Until: time.Now().Add(time.Minute), Chunks: b.Chunks()}
}

func failure(k snapshot.Key) snapshot.Run {
	return snapshot.Run{Key: k, At: time.Now(), Until: time.Now().Add(time.Minute), Err: errors.New("down")}
}

func page(t *testing.T, s *snapshot.Store) string {
	var page strings.Builder
	if err := s.Write(&page, time.Now()); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func TestAFamilyOfSeveralJobsStandsTogetherUnderOneHeader(t *testing.T) {
	s := snapshot.New()
	s.Put(run(bravo, 20))
	s.Put(run(alpha, 10))
	want := `# HELP avax_test_height A height.
# TYPE avax_test_height gauge
avax_test_height{node="alpha"} 10
avax_test_height{node="bravo"} 20
# HELP avax_test_peers Peers.
# TYPE avax_test_peers gauge
avax_test_peers{node="alpha"} 11
avax_test_peers{node="bravo"} 21
`
	if diff := cmp.Diff(want, page(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestAFailedRunChangesTheVerdictAndNotTheSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := snapshot.New()
		s.Put(run(alpha, 10))
		before := page(t, s)
		time.Sleep(59 * time.Second)
		s.Put(failure(alpha))
		if diff := cmp.Diff(before, page(t, s)); diff != "" {
			t.Error(diff)
		}
		if s.Last(alpha).Err == nil {
			t.Error("the verdict is still good")
		}
	})
}

func TestSamplesVanishWhenTheirTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := snapshot.New()
		s.Put(run(alpha, 10))
		time.Sleep(30 * time.Second)
		s.Put(failure(alpha))
		s.Put(run(bravo, 20))
		time.Sleep(30 * time.Second)
		if got := page(t, s); strings.Contains(got, "alpha") || !strings.Contains(got, `{node="bravo"} 20`) {
			t.Errorf("a minute after alpha's last good run:\n%s", got)
		}
		if v := s.Values("avax_test_height", time.Now()); len(v) != 1 || v[0].Labels["node"] != "bravo" {
			t.Errorf("values of %v", v)
		}
	})
}

func TestARunIsReplacedWhole(t *testing.T) {
	s := snapshot.New()
	s.Put(run(alpha, 10))
	next := run(alpha, 12)
	next.Chunks = next.Chunks[:1] // no peers this time
	s.Put(next)
	want := `# HELP avax_test_height A height.
# TYPE avax_test_height gauge
avax_test_height{node="alpha"} 12
`
	if diff := cmp.Diff(want, page(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestADeletedJobTakesItsSamplesWithIt(t *testing.T) {
	s := snapshot.New()
	s.Put(run(alpha, 10))
	s.Delete(alpha)
	if got := page(t, s); got != "" {
		t.Errorf("still served:\n%s", got)
	}
}

// The text page and the one that a protobuf scraper gets are the same.
func TestGatherTellsWhatThePageTells(t *testing.T) {
	s := snapshot.New()
	s.Put(run(alpha, 10))
	s.Put(run(bravo, 20))
	families, err := s.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(page(t, s), text.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTheStoreTellsHowItsJobsFare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := snapshot.New()
		s.Put(run(alpha, 10))
		s.Put(failure(bravo))
		time.Sleep(time.Second)
		s.Put(failure(alpha))

		want := `# HELP avax_exporter_collector_last_success_timestamp_seconds When the collector's last successful run for this target began; absent until there was one.
# TYPE avax_exporter_collector_last_success_timestamp_seconds gauge
avax_exporter_collector_last_success_timestamp_seconds{collector="test",target="alpha"} 9.466848e+08
# HELP avax_exporter_collector_success 1 if the collector's last run for this target succeeded, 0 if it failed; absent until the first run has ended.
# TYPE avax_exporter_collector_success gauge
avax_exporter_collector_success{collector="test",target="alpha"} 0
avax_exporter_collector_success{collector="test",target="bravo"} 0
# HELP avax_exporter_series Series that the collector serves at this moment, over all its targets.
# TYPE avax_exporter_series gauge
avax_exporter_series{collector="test"} 2
`
		r := prometheus.NewPedanticRegistry()
		r.MustRegister(s)
		if err := testutil.GatherAndCompare(r, strings.NewReader(want), "avax_exporter_collector_last_success_timestamp_seconds",
			"avax_exporter_collector_success", "avax_exporter_series"); err != nil {
			t.Error(err)
		}
	})
}

func TestTablesComeAndGoWithTheirRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := snapshot.New()
		for _, k := range []snapshot.Key{bravo, alpha, {Collector: "other", Target: "network"}} {
			r := run(k, 10)
			for _, about := range []string{"first", "second"} {
				r.Tables = append(r.Tables, metric.Table{About: about, Columns: []string{"Of"}, Rows: [][]string{{k.Target}}})
			}
			s.Put(r)
		}
		all := []string{"other network first", "other network second", "test alpha first", "test alpha second", "test bravo first", "test bravo second"}
		told := func() (words []string) {
			for _, table := range s.Tables(time.Now()) {
				if table.Target != table.Rows[0][0] {
					t.Errorf("%s has the rows of %s", table.Target, table.Rows[0][0])
				}
				words = append(words, table.Collector+" "+table.Target+" "+table.About)
			}
			return words
		}
		if diff := cmp.Diff(all, told()); diff != "" {
			t.Error(diff)
		}
		time.Sleep(59 * time.Second)
		s.Put(failure(bravo)) // changes nothing
		s.Put(run(alpha, 11)) // has none any more
		if diff := cmp.Diff(append(all[:2:2], all[4:]...), told()); diff != "" {
			t.Error(diff)
		}
		time.Sleep(time.Second)
		if left := told(); len(left) > 0 {
			t.Errorf("when their time is over: %v", left)
		}
	})
}
