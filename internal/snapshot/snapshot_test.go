package snapshot_test

import (
	"errors"
	"fmt"
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
	"github.com/avax-exporter/avax-exporter/internal/staking"
)

var (
	height = metric.New("avax_test_height", "A height.", "node")
	peers  = metric.New("avax_test_peers", "Peers.", "node")
	events = metric.NewCounter("avax_test_events_total", "Events.", "node")

	alpha = snapshot.Key{Collector: "test", Target: metric.Target{Node: "alpha"}}
	bravo = snapshot.Key{Collector: "test", Target: metric.Target{Node: "bravo"}}
)

// run returns a good run of the job with a height, valid for a minute.
func run(k snapshot.Key, value float64) snapshot.Run {
	b := metric.NewBatch([]*metric.Family{height, peers})
	b.Set(height, value, k.Target.String())
	b.Set(peers, value+1, k.Target.String())
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

func TestFamilyOfSeveralJobsHasOneHeader(t *testing.T) {
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

func TestFailedRunKeepsThePreviousSamples(t *testing.T) {
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
			t.Error("job still counts as successful")
		}
	})
}

// A run above its limit fails, but its samples within the limit are served. They expire like the samples of any other run.
func TestRunAboveTheLimitServesSamplesWithinIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := snapshot.New()
		s.Put(run(alpha, 10))
		began := s.Jobs()[0].Good.At
		time.Sleep(10 * time.Second)
		partial := run(alpha, 12)
		partial.Chunks, partial.Err = partial.Chunks[:1], metric.ErrTooMany
		s.Put(partial)
		want := "# HELP avax_test_height A height.\n# TYPE avax_test_height gauge\navax_test_height{node=\"alpha\"} 12\n"
		if diff := cmp.Diff(want, page(t, s)); diff != "" {
			t.Error(diff)
		}
		if j := s.Jobs()[0]; !j.Good.At.Equal(began) || j.Last.Err == nil {
			t.Errorf("counts as successful: %+v", j)
		}
		if n := s.SeriesBeside(bravo); n != 1 {
			t.Errorf("%d other series than bravo's", n)
		}
		if n := s.SeriesBeside(alpha); n != 0 {
			t.Errorf("%d other series than alpha's", n)
		}
		time.Sleep(time.Minute)
		if got := page(t, s); got != "" {
			t.Errorf("served after it expired:\n%s", got)
		}
		if n := s.SeriesBeside(bravo); n != 0 {
			t.Errorf("%d series of an unknown job", n)
		}
		s.Put(run(alpha, 13))
		s.Delete(alpha)
		if n := s.SeriesBeside(bravo); n != 0 {
			t.Errorf("%d series of a deleted job", n)
		}
	})
}

func TestSamplesExpire(t *testing.T) {
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
	})
}

func TestRunReplacesAllSamplesOfItsJob(t *testing.T) {
	s := snapshot.New()
	s.Put(run(alpha, 10))
	next := run(alpha, 12)
	next.Chunks = next.Chunks[:1] // no peers in this run
	s.Put(next)
	want := `# HELP avax_test_height A height.
# TYPE avax_test_height gauge
avax_test_height{node="alpha"} 12
`
	if diff := cmp.Diff(want, page(t, s)); diff != "" {
		t.Error(diff)
	}
}

func TestDeleteRemovesTheSamplesOfAJob(t *testing.T) {
	s := snapshot.New()
	s.Put(run(alpha, 10))
	s.Delete(alpha)
	if got := page(t, s); got != "" {
		t.Errorf("served after Delete:\n%s", got)
	}
}

// Families without a change are not compressed again. A page that began before a change is not used after it.
func TestPageReflectsEveryChange(t *testing.T) {
	s := snapshot.New()
	for i := range 5 {
		s.Put(run(alpha, float64(i)))
		s.Put(run(bravo, float64(i)))
		before := page(t, s)
		s.Put(run(bravo, 100))
		after := page(t, s)
		if before == after || !strings.Contains(after, `avax_test_height{node="bravo"} 100`) || !strings.Contains(after, fmt.Sprintf(`avax_test_height{node="alpha"} %d`, i)) {
			t.Errorf("after a change:\n%s", after)
		}
	}
}

// The text page and the protobuf answer have the same content.
func TestGatherEqualsThePage(t *testing.T) {
	s := snapshot.New()
	s.Put(run(alpha, 10))
	s.Put(run(bravo, 20))
	b := metric.NewBatch([]*metric.Family{events})
	b.Set(events, 3, "alpha")
	s.Put(snapshot.Run{Key: snapshot.Key{Collector: "events", Target: metric.Target{Node: "alpha"}}, Until: time.Now().Add(time.Minute), Chunks: b.Chunks()})
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
	var whole strings.Builder
	if _, err := s.Page(time.Now(), expfmt.TypeTextPlain).WriteTo(&whole); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole.String(), text.String()); diff != "" {
		t.Error(diff)
	}
}

func TestStoreExportsTheHealthOfJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := snapshot.New()
		s.Put(run(alpha, 10))
		s.Put(failure(bravo))
		time.Sleep(time.Second)
		s.Put(failure(alpha))

		want := `# HELP avax_exporter_collector_last_success_timestamp_seconds Start of the collector's last successful run for this target, in Unix seconds. Absent before the first success.
# TYPE avax_exporter_collector_last_success_timestamp_seconds gauge
avax_exporter_collector_last_success_timestamp_seconds{collector="test",target="alpha"} 9.466848e+08
# HELP avax_exporter_collector_success 1 if the collector's last run for this target succeeded, 0 if it failed. Absent until the first run has ended.
# TYPE avax_exporter_collector_success gauge
avax_exporter_collector_success{collector="test",target="alpha"} 0
avax_exporter_collector_success{collector="test",target="bravo"} 0
# HELP avax_exporter_series Number of series that the collector serves now, for all its targets together.
# TYPE avax_exporter_series gauge
avax_exporter_series{collector="test"} 2
`
		r := prometheus.NewPedanticRegistry()
		r.MustRegister(s)
		if err := testutil.GatherAndCompare(prometheus.Gatherers{s, r}, strings.NewReader(want), "avax_exporter_collector_last_success_timestamp_seconds",
			"avax_exporter_collector_success", "avax_exporter_series"); err != nil {
			t.Error(err)
		}
	})
}

// Facts are valid exactly as long as the samples of their run.
func TestFactsExpireWithTheirRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := snapshot.New()
		facts := func() *staking.L1 { return s.Jobs()[0].Good.Facts.L1 }
		one, two := &staking.L1{}, &staking.L1{}
		first := run(alpha, 10)
		first.Facts.L1 = one
		s.Put(first)
		s.Put(failure(alpha))
		if got := facts(); got != one {
			t.Errorf("after a failed run: %v", got)
		}
		partial := run(alpha, 11)
		partial.Facts.L1, partial.Err = two, metric.ErrTooMany
		partial.Tables = []metric.Table{{About: "second"}}
		s.Put(partial)
		if tables := snapshot.Tables(s.Jobs(), time.Now()); facts() != two || len(tables) != 1 || tables[0].Key != alpha {
			t.Errorf("run above its limit: %v, %v", facts(), tables)
		}
		s.Put(run(alpha, 12)) // without facts
		if got := facts(); got != nil {
			t.Errorf("%v of an earlier run", got)
		}
	})
}

func TestTablesExpireWithTheirRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := snapshot.New()
		for _, k := range []snapshot.Key{bravo, alpha, {Collector: "other", Target: metric.Target{}}} {
			r := run(k, 10)
			for _, about := range []string{"first", "second"} {
				r.Tables = append(r.Tables, metric.Table{About: about, Columns: []string{"Of"}, Rows: [][]string{{k.Target.String()}}})
			}
			s.Put(r)
		}
		all := []string{"other network first", "other network second", "test alpha first", "test alpha second", "test bravo first", "test bravo second"}
		exported := func() (words []string) {
			for _, table := range snapshot.Tables(s.Jobs(), time.Now()) {
				if table.Target.String() != table.Rows[0][0] {
					t.Errorf("%s has the rows of %s", table.Target, table.Rows[0][0])
				}
				words = append(words, table.Collector+" "+table.Target.String()+" "+table.About)
			}
			return words
		}
		if diff := cmp.Diff(all, exported()); diff != "" {
			t.Error(diff)
		}
		time.Sleep(59 * time.Second)
		s.Put(failure(bravo)) // changes nothing
		s.Put(run(alpha, 11)) // without tables
		if diff := cmp.Diff(append(all[:2:2], all[4:]...), exported()); diff != "" {
			t.Error(diff)
		}
		time.Sleep(time.Second)
		if left := exported(); len(left) > 0 {
			t.Errorf("after they expired: %v", left)
		}
	})
}
