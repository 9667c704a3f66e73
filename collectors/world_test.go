package collectors_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// world is a healthy simulated network with the configuration of an exporter.
type world struct {
	network *simnet.Network
	ups     *collector.Upstreams
	// otherwise, if set, answers a call in place of the network, with HTTP 404 if the text is not JSON. If it returns an empty text, the network
	// answers.
	otherwise *func(node, method string, params []any) string
	// pendingIsEmpty makes the Data service list no pending reward.
	pendingIsEmpty *bool
}

// inWorld runs the test in synthetic time. The nodes alpha and foxtrot are configured.
func inWorld(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(simnet.Options{Seed: 1})
		w := world{network: network, otherwise: new(func(string, string, []any) string), pendingIsEmpty: new(bool)}
		w.ups = upstreams(t, w, network)
		test(t, w)
	})
}

// setNodes replaces the configured nodes.
func (w world) setNodes(t *testing.T, names ...string) {
	t.Helper()
	var pool []*nodes.Node
	for _, name := range names {
		pool = append(pool, nodes.New(node.New(open(t, w, name))))
	}
	w.ups.SetNodes(pool)
}

// refuseOnNodes makes the nodes alpha and foxtrot not offer these methods.
func (w world) refuseOnNodes(methods ...string) {
	for _, name := range []string{"alpha", "foxtrot"} {
		w.network.Node(name).Inject(simnet.Refused(-32601, "the method is not available"), methods...)
	}
}

// RoundTrip implements http.RoundTripper.
func (w world) RoundTrip(r *http.Request) (*http.Response, error) {
	return wiretest.Between(w.network.Transport(), func(c *wiretest.Call) (*http.Response, error) {
		if w.pendingIsEmpty != nil && *w.pendingIsEmpty && strings.HasSuffix(c.URL.Path, "/rewards:listPending") {
			return wiretest.Reply(http.StatusOK, `{"pendingRewards":[]}`)
		}
		if *w.otherwise != nil && c.Text != nil {
			params, _ := c.Params.([]any)
			if answer := (*w.otherwise)(c.Upstream, c.Method, params); answer != "" {
				status := http.StatusOK
				if !strings.HasPrefix(answer, "{") {
					status = http.StatusNotFound
				}
				return wiretest.Reply(status, answer)
			}
		}
		return c.Ask()
	}).RoundTrip(r)
}

// replies makes every node answer a method with this result.
func (w world) replies(method, result string) {
	*w.otherwise = func(_, asked string, _ []any) string {
		if asked != method {
			return ""
		}
		return answered(result)
	}
}

// job binds a collector and returns its job for a target.
func (w world) job(t *testing.T, name, target string) (*collector.Spec, collector.Job) {
	t.Helper()
	spec := specOf(t, name)
	jobs := spec.Bind(w.ups)
	i := slices.IndexFunc(jobs, func(j collector.Job) bool { return j.Target.String() == target })
	if i < 0 {
		t.Fatalf("%s: no job for %s", name, target)
	}
	return spec, jobs[i]
}

// run runs a collector's job for a target once, and returns its samples.
func (w world) run(t *testing.T, collector, target string) (samples string, err error) {
	t.Helper()
	spec, j := w.job(t, collector, target)
	samples, _, err = once(t.Context(), spec, j)
	return samples, err
}

// once runs a job once, and returns its samples and all else that the batch holds.
func once(ctx context.Context, spec *collector.Spec, j collector.Job) (samples string, batch *metric.Batch, err error) {
	batch = metric.NewBatch(spec.Families)
	err = j.Collect(ctx, batch)
	for _, c := range batch.Chunks() {
		samples += c.String()
	}
	return samples, batch, errors.Join(err, batch.Err())
}

// samplesOf runs a job once, and returns its samples. The run must succeed.
func samplesOf(t *testing.T, spec *collector.Spec, j collector.Job) string {
	t.Helper()
	samples, _, err := once(t.Context(), spec, j)
	must.Do(t, err)
	return samples
}

// tables runs a collector's job for a target once and returns its tables. The run must succeed.
func (w world) tables(t *testing.T, collector, target string) []metric.Table {
	t.Helper()
	return w.batch(t, collector, target).Tables()
}

// batch runs a collector's job for a target once and returns the batch. The run must succeed.
func (w world) batch(t *testing.T, collector, target string) *metric.Batch {
	t.Helper()
	spec, j := w.job(t, collector, target)
	_, batch, err := once(t.Context(), spec, j)
	must.Do(t, err)
	return batch
}

// page runs all jobs of a collector once and returns their samples. The runs must succeed.
func (w world) page(t *testing.T, collector string) string {
	t.Helper()
	return collect(t.Context(), t, specOf(t, collector), w.ups)
}

// callCount returns the number of calls of a method to a node.
func (w world) callCount(node, method string) (n int) {
	for _, c := range w.network.Calls() {
		if c.Upstream == node && c.Method == method {
			n++
		}
	}
	return n
}

func specOf(t *testing.T, name string) *collector.Spec {
	t.Helper()
	for _, s := range collectors.All() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no collector %s", name)
	return nil
}

// wantSeries fails the test unless the samples contain the series with this value.
func wantSeries(t *testing.T, page, series, value string) {
	t.Helper()
	if !strings.Contains("\n"+page, "\n"+series+" "+value+"\n") {
		t.Errorf("missing: %s %s\nsamples:\n%s", series, value, page)
	}
}

// valueOf returns the value of a series. It fails the test if the series does not exist.
func valueOf(t *testing.T, page, series string) float64 {
	t.Helper()
	for line := range strings.Lines(page) {
		if rest, there := strings.CutPrefix(line, series+" "); there {
			return must.Get(strconv.ParseFloat(strings.TrimSpace(rest), 64))(t)
		}
	}
	t.Fatalf("missing: %s\nsamples:\n%s", series, page)
	return 0
}

// wantNoSeries fails the test if a sample contains the words.
func wantNoSeries(t *testing.T, page, words string) {
	t.Helper()
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "#") && strings.Contains(line, words) {
			t.Errorf("unexpected %s", line)
		}
	}
}
