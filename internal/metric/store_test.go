package metric_test

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/staking"
)

var (
	height = metric.New("avax_test_height", "A height.", "node")
	peers  = metric.New("avax_test_peers", "Peers.", "node")

	alpha = metric.Key{Collector: "test", Target: metric.Target{Node: "alpha"}}
	bravo = metric.Key{Collector: "test", Target: metric.Target{Node: "bravo"}}
)

// run returns a good run of the job with a height, valid for a minute.
func run(k metric.Key, value float64) metric.Run {
	b := metric.NewBatch([]*metric.Family{height, peers})
	b.Set(height, value, k.Target.String())
	b.Set(peers, value+1, k.Target.String())
	return metric.Run{Key: k, At: time.Now(), Took: time.Second, Until: time.Now().Add(time.Minute), Chunks: b.Chunks()}
}

func failure(k metric.Key) metric.Run {
	return metric.Run{Key: k, At: time.Now(), Until: time.Now().Add(time.Minute), Err: errors.New("down")}
}

var aboutJobs = regexp.MustCompile(`(?m)^(# (HELP|TYPE) )?avax_exporter_.*\n`)

var comments = regexp.MustCompile(`(?m)^#.*\n`)

// page returns the samples on /metrics, without those about jobs.
func page(t *testing.T, s *metric.Store) string {
	t.Helper()
	_, text := fetch(t, handler(s, prometheus.NewRegistry()), "*/*", "gzip")
	return aboutJobs.ReplaceAllString(string(text), "")
}

func TestFamilyOfSeveralJobsHasOneHeader(t *testing.T) {
	s := metric.NewStore()
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

// Whatever jobs run, grow, shrink and end: a page has all samples of the last run of each job, in the order of the jobs.
func TestEveryRunReplacesAllSamplesOfItsJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := metric.NewStore()
		h, latest := handler(s, prometheus.NewRegistry()), map[string]string{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			node := rapid.SampledFrom(strings.Split("abcdefgh", "")).Draw(t, "node")
			k := metric.Key{Collector: "test", Target: metric.Target{Node: node}}
			if rapid.IntRange(0, 5).Draw(t, "delete") == 0 {
				s.Delete(k)
				delete(latest, node)
			} else {
				batch, value := metric.NewBatch([]*metric.Family{many}), rapid.Float64().Draw(t, "value")
				for id := range rapid.SampledFrom([]int{0, 1, 200, 300, 600}).Draw(t, "series") {
					batch.Set(many, value, node, fmt.Sprint(id))
				}
				latest[node] = ""
				for _, c := range batch.Chunks() {
					latest[node] += c.String()
				}
				s.Put(metric.Run{Key: k, Until: time.Now().Add(time.Hour), Chunks: batch.Chunks()})
			}
			want := ""
			for _, node := range slices.Sorted(maps.Keys(latest)) {
				want += latest[node]
			}
			_, page := fetch(t, h, "*/*", rapid.SampledFrom([]string{"gzip", ""}).Draw(t, "encoding"))
			if got := comments.ReplaceAllString(aboutJobs.ReplaceAllString(string(page), ""), ""); got != want {
				t.Fatalf("served:\n%s\nwant:\n%s", got, want)
			}
		}
	})
}

func TestStoreExportsTheStateOfJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := metric.NewStore()
		s.Put(run(alpha, 10))
		s.Put(failure(bravo))
		time.Sleep(time.Minute)
		s.Put(failure(alpha))
		_, text := fetch(t, handler(s, prometheus.NewRegistry()), "*/*", "")
		for _, want := range []string{
			`avax_exporter_collector_last_success_timestamp_seconds{collector="test",target="alpha"} 9.466848e+08`,
			`avax_exporter_collector_success{collector="test",target="alpha"} 0`,
			`avax_exporter_collector_success{collector="test",target="bravo"} 0`,
		} {
			if !strings.Contains(string(text), want+"\n") {
				t.Errorf("without %s:\n%s", want, text)
			}
		}
		s.Put(run(alpha, 11))
		s.Delete(bravo)
		if _, text := fetch(t, handler(s, prometheus.NewRegistry()), "*/*", ""); !strings.Contains(string(text), "} 1\n") ||
			strings.Contains(string(text), "last_success") {
			t.Errorf("after a success:\n%s", text)
		}
		if got, want := testutil.ToFloat64(s), 2+1.0; got != want {
			t.Errorf("%v series, want %v", got, want)
		}
		time.Sleep(time.Minute) // the job is late
		if _, text := fetch(t, handler(s, prometheus.NewRegistry()), "*/*", ""); !strings.Contains(string(text), "last_success_timestamp_seconds{") {
			t.Errorf("late job:\n%s", text)
		}
	})
}

// Facts and tables are valid exactly as long as the samples of their run.
func TestFactsAndTablesExpireWithTheirRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := metric.NewStore()
		for _, k := range []metric.Key{bravo, alpha, {Collector: "other"}} {
			r := run(k, 10)
			r.Facts.L1 = &staking.L1{}
			for _, about := range []string{"first", "second"} {
				r.Tables = append(r.Tables, metric.Table{About: about, Columns: []string{"Of"}, Rows: [][]string{{k.Target.String()}}})
			}
			s.Put(r)
		}
		all := []string{"other network first", "other network second", "test alpha first", "test alpha second", "test bravo first", "test bravo second"}
		tables := func() (words []string) {
			for _, table := range metric.Tables(s.Jobs(), time.Now()) {
				words = append(words, table.Collector+" "+table.Rows[0][0]+" "+table.About)
			}
			return words
		}
		if diff := cmp.Diff(all, tables()); diff != "" {
			t.Error(diff)
		}
		time.Sleep(59 * time.Second)
		s.Put(failure(bravo)) // changes nothing
		s.Put(run(alpha, 11)) // without facts and tables
		if diff := cmp.Diff(append(all[:2:2], all[4:]...), tables()); diff != "" {
			t.Error(diff)
		}
		if jobs := s.Jobs(); jobs[1].Good.Facts.L1 != nil || jobs[2].Good.Facts.L1 == nil {
			t.Errorf("facts %v, %v", jobs[1].Good.Facts, jobs[2].Good.Facts)
		}
		time.Sleep(time.Second)
		if left := tables(); len(left) > 0 {
			t.Errorf("after they expired: %v", left)
		}
	})
}

// Each page looks for them, among the 20,000 jobs of a thousand nodes.
func TestLookingForExpiredSamplesAllocatesNothingPerJob(t *testing.T) {
	s := metric.NewStore()
	for n := range 100 {
		s.Put(run(metric.Key{Collector: "test", Target: metric.Target{Node: strconv.Itoa(n)}}, 1))
	}
	found := make(chan prometheus.Metric, 1)
	if allocated := testing.AllocsPerRun(100, func() { s.Collect(found); <-found }); allocated >= 100 {
		t.Errorf("%v allocations", allocated)
	}
}
