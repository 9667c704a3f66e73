package app_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/schedule"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/simnet"
)

var (
	modelSeed  = flag.Uint64("model.seed", 1, "the first seed of the model test")
	modelSeeds = flag.Uint64("model.seeds", 20, "how many seeds the model test tries; 1 with -short")
	modelSteps = flag.Int("model.steps", 350, "steps of the model test for each seed; 150 with -short")
	modelFor   = flag.Duration("model.for", 0, "run the model test with one seed after the other for that long")
)

// TestSamplesAreTrueOrAbsentUnderRandomFaults applies random faults to nodes and random changes to the network, step by
// step. After each step, every exported sample must equal what the network would have answered at some time within the
// sample's last three periods. After a quiet time of that length, all samples must be exported.
//
// A failure prints its seed: go test ./internal/app -run UnderRandomFaults -model.seed=N -model.seeds=1. A single seed uses one
// processor, because the order of goroutines is random with several.
func TestSamplesAreTrueOrAbsentUnderRandomFaults(t *testing.T) {
	if testing.Short() {
		*modelSeeds, *modelSteps = 1, 150
	}
	if *modelSeeds == 1 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	if *modelFor == 0 {
		for seed := *modelSeed; seed < *modelSeed+*modelSeeds; seed++ {
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				if *modelSeeds > 1 {
					t.Parallel()
				}
				tryOut(t, seed)
			})
		}
		return
	}
	began, seed, compared := time.Now(), *modelSeed, 0
	for ; time.Since(began) < *modelFor && !t.Failed(); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { compared += tryOut(t, seed) })
	}
	if t.Failed() {
		return
	}
	tried := int(seed - *modelSeed)
	text := fmt.Sprintf("\nMeasured on %s: %d random seeds, starting at %d, with %d steps in %v. The test compared %d samples; none was wrong.\n\n",
		time.Now().Format(time.DateOnly), tried, *modelSeed, tried**modelSteps, modelFor.Round(time.Second), compared)
	testworld.Measured(t, "../../docs/reliability.md", "model", text)
}

// tryOut runs the test with one seed. It returns the number of compared samples.
func tryOut(t *testing.T, seed uint64) (compared int) {
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		m := newRandomTest(t, w, seed)
		for step := range *modelSteps {
			did := m.step()
			if wrong := m.check(); len(wrong) > 0 {
				t.Fatalf("seed %d, step %d, after %s:\n%s", seed, step, strings.Join(did, "; "), strings.Join(wrong, "\n"))
			}
		}
		m.calm()
		if missing := m.missing(); len(missing) > 0 {
			t.Errorf("seed %d: missing after recovery:\n%s", seed, strings.Join(missing, "\n"))
		}
		compared = m.compared
	})
	return compared
}

// randomTest is an exporter, its network, and the history of true values.
type randomTest struct {
	t       *testing.T
	chance  *rand.Rand
	network *simnet.Network
	faults  *faulty
	world   *apptest.World
	config  *config.Config

	mu    sync.Mutex
	clock time.Time // of the network, which advances only between steps

	did   []string
	truth map[string][]fact // by series, in order of time
	now   map[string]bool   // currently true series
	away  map[string]bool   // stopped nodes

	compared int // number of samples
}

// fact is a value that a series had for a while.
type fact struct {
	value    string
	from, to time.Time // to is zero while it is current
}

var modelNodes = []string{"alpha", "bravo"}

// phased is a schedule with the same phase in each process, so that a seed is reproducible.
type phased struct{ period, phase time.Duration }

// Next implements cron.Schedule.
func (b phased) Next(t time.Time) time.Time {
	since := time.Duration(t.UnixNano()) - b.phase
	return t.Add(b.period - (since%b.period+b.period)%b.period)
}

// quick speeds up slow collectors, so that a thousand steps are many periods of each.
func quick(every time.Duration) schedule.Timetable {
	period := min(every, time.Minute)
	return func(target metric.Target) cron.Schedule {
		return phased{period, time.Duration(chanceOf(target.Group().String())%16) * period / 16}
	}
}

func newRandomTest(t *testing.T, w *apptest.World, seed uint64) *randomTest {
	t.Helper()
	m := &randomTest{t: t, chance: rand.New(rand.NewPCG(seed, 7)), world: w, clock: time.Now(), truth: map[string][]fact{}, now: map[string]bool{},
		away: map[string]bool{}}
	m.network = simnet.New(simnet.Options{Seed: 1, Now: func() time.Time {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.clock
	}})
	w.Use(m.network, modelNodes...)
	m.faults = &faulty{network: m.network.Transport(), over: map[string]fault{}, hit: map[string]time.Time{}}
	w.Transport = m.faults
	delete(w.Env, "METRICS_URL")
	w.Env["VALIDATORS"] = w.NodeID("alpha") + "," + w.NodeID("bravo")
	// connected_stake and network_views use stakes that may be five minutes old, which no observer can reproduce. The others change at any
	// time, and have property tests of their own.
	w.Env["COLLECTORS"] = "-connected_stake,-network_views,-reward_budget,-l1_runway,-safe_to_stop"
	w.Configure = func(c *config.Config) {
		m.config = c
		for _, spec := range c.Collectors {
			c.Schedules[spec.Name] = quick(spec.Period(c.Upstreams.Watch.Validators))
		}
		m.observe()
	}
	w.Start(t)
	return m
}

// observer calls these nodes, in this order, without faults.
func (m *randomTest) observer(names ...string) *collector.Upstreams {
	open := func(name string) *scrape.Upstream {
		return must.Get(scrape.New(scrape.Options{Name: name, URL: "http://" + name + ".sim", Transport: m.network.Transport(), Rate: 1e6, Burst: 1e6}))(m.t)
	}
	var called []*nodes.Node
	for _, name := range names {
		called = append(called, nodes.New(node.New(open(name))))
	}
	return &collector.Upstreams{Pool: nodes.NewPool(called, m.config.Chains.List), Watch: m.config.Upstreams.Watch}
}

// observe records what is true now: the samples that an observer of any nodes gets.
func (m *randomTest) observe() {
	ctx, cancel := context.WithTimeout(m.t.Context(), 100*time.Millisecond)
	defer cancel()
	at := time.Now()
	found := map[string]map[string]bool{}
	for i, names := range [][]string{{"alpha", "bravo"}, {"bravo", "alpha"}, {"alpha"}, {"bravo"}} {
		ups := m.observer(names...)
		for _, spec := range m.config.Collectors {
			for _, job := range spec.Bind(ups) {
				if i > 0 && slices.Contains(modelNodes, job.Target.Node) {
					continue // already called
				}
				batch := metric.NewBatch(spec.Families)
				if err := job.Collect(ctx, batch); err != nil && !errors.Is(err, metric.ErrNotOffered) {
					continue
				}
				for _, chunk := range batch.Chunks() {
					for series, value := range linesOf(chunk.String()) {
						if found[series] == nil {
							found[series] = map[string]bool{}
						}
						found[series][value] = true
					}
				}
			}
		}
	}
	clear(m.now)
	for series, values := range found {
		m.now[series] = true
		for value := range values {
			if !slices.ContainsFunc(m.truth[series], func(f fact) bool { return f.to.IsZero() && f.value == value }) {
				m.truth[series] = append(m.truth[series], fact{value: value, from: at})
			}
		}
	}
	for series, facts := range m.truth {
		for i, f := range facts {
			if f.to.IsZero() && !found[series][f.value] {
				facts[i].to = at
			}
		}
		// No sample is valid for longer.
		m.truth[series] = slices.DeleteFunc(facts, func(f fact) bool { return !f.to.IsZero() && at.Sub(f.to) > time.Hour })
	}
}

func linesOf(text string) func(func(series, value string) bool) {
	return func(yield func(series, value string) bool) {
		for line := range strings.Lines(text) {
			i := strings.LastIndexByte(line, ' ')
			if !yield(line[:i], strings.TrimSpace(line[i:])) {
				return
			}
		}
	}
}

// step applies a random action, and lets some time pass.
func (m *randomTest) step() (did []string) {
	note := func(format string, args ...any) { m.did = append(m.did, fmt.Sprintf(format, args...)) }
	name := modelNodes[m.chance.IntN(len(modelNodes))]
	switch n := m.chance.IntN(100); {
	case n < 25:
		f := randomFaults[m.chance.IntN(len(randomFaults))]
		note("%s suffers %s", name, f.name)
		m.faults.set(name, f)
	case n < 50:
		note("%s recovers", name)
		m.faults.set(name, fault{})
	case n < 60:
		d := time.Duration(1+m.chance.IntN(60)) * time.Second
		note("%v pass", d)
		m.change(func() {}, d)
	case n < 75:
		c := changes[m.chance.IntN(len(changes))]
		note("%s", c.what)
		m.change(func() { c.do(m, name) }, time.Second)
	default:
		note("nothing")
	}
	slept := time.Duration(500+m.chance.IntN(5000)) * time.Millisecond
	time.Sleep(slept)
	synctest.Wait()
	m.change(func() {}, slept) // a node whose health checks stand still is not healthy
	if len(m.did) > 12 {
		m.did = m.did[len(m.did)-12:]
	}
	return m.did
}

// change changes the network, and then advances its clock.
func (m *randomTest) change(do func(), passes time.Duration) {
	do()
	m.mu.Lock()
	m.clock = m.clock.Add(passes)
	m.mu.Unlock()
	m.observe()
}

// changes are the possible changes of the network.
var changes = []struct {
	what string
	do   func(m *randomTest, name string)
}{
	{"a node stops or starts", func(m *randomTest, name string) {
		if m.away[name] {
			m.network.Node(name).Start()
		} else {
			m.network.Node(name).Stop()
		}
		m.away[name] = !m.away[name]
	}},
	{"a node bootstraps C", func(m *randomTest, name string) { m.network.Node(name).SetChain("C", simnet.Bootstrapping) }},
	{"a node runs C", func(m *randomTest, name string) { m.network.Node(name).SetChain("C", simnet.Running) }},
	{"a node falls behind", func(m *randomTest, name string) { m.network.Node(name).FallBehind("C") }},
	{"a node catches up", func(m *randomTest, name string) { m.network.Node(name).CatchUp("C") }},
	{"an uptime is observed", func(m *randomTest, name string) {
		m.network.Node(name).SetObservedUptime(float64(50 + m.chance.IntN(50)))
	}},
	{"a peer leaves", func(m *randomTest, _ string) { m.network.Disconnect("charlie") }},
	{"a peer comes", func(m *randomTest, _ string) { m.network.Reconnect("charlie") }},
	{"a balance changes", func(m *randomTest, _ string) { m.network.SetBalance("examplel1", "echo", uint64(m.chance.IntN(1e9))) }},
	{"a weight changes", func(m *randomTest, _ string) { m.network.SetWeight("examplel1", "echo", uint64(1+m.chance.IntN(500))) }},
	{"a version changes", func(m *randomTest, name string) {
		m.network.SetVersion(name, fmt.Sprintf("1.%d.0", 13+m.chance.IntN(4)))
	}},
	{"the fees change", func(m *randomTest, _ string) {
		fees := m.network.FeeConfig("examplel1")
		fees.MinBaseFee = uint64(1 + m.chance.IntN(100))
		m.network.SetFeeConfig("examplel1", fees)
	}},
	{"an address holds more outputs", func(m *randomTest, _ string) { m.network.SetUTXOs(m.chance.IntN(10)) }},
	{"the fee price changes", func(m *randomTest, _ string) { m.network.SetFeePrice(uint64(512 + m.chance.IntN(512))) }},
}

// olderAnswers has the maximum age of the answers that a collector uses beyond those of its run.
var olderAnswers = map[string]time.Duration{
	"network":      2 * time.Minute, // the validator sets of subnets
	"chain_info":   24 * time.Hour,  // IDs never change: they are remembered while no node answers
	"l1_proposers": 3 * time.Minute, // the epoch
}

// check returns the exported samples that are not true.
func (m *randomTest) check() (wrong []string) {
	now := time.Now()
	for _, job := range m.world.Store().Jobs() {
		spec := m.config.Collectors[slices.IndexFunc(m.config.Collectors, func(s *collector.Spec) bool { return s.Name == job.Last.Collector })]
		longest := 3*min(spec.Period(m.config.Upstreams.Watch.Validators), time.Minute) + olderAnswers[spec.Name]
		for _, chunk := range job.Fresh(now) {
			switch chunk.Family.Name {
			case "avax_node_probe_duration_seconds", "avax_node_answered_timestamp_seconds", "avax_node_silent_timestamp_seconds",
				"avax_node_longest_restart_seconds", "avax_node_rejecting":
				continue // they depend on the fault
			case "avax_node_up", "avax_l1_connected_weight":
				continue // they depend on which nodes answer, see TestSafeToStopIsNeverOutdated
			case "avax_node_contradicted":
				continue // about the last 15 minutes: with two nodes, the empty answer of one contradicts the other
			case "avax_l1_proposers_left_ratio":
				continue // the weights may be three minutes older than the connections
			case "avax_node_subnet_peers":
				continue // the exporter remembers the subnet of a chain; a new observer cannot learn it while no node answers
			}
			for series, value := range linesOf(chunk.String()) {
				m.compared++
				if chunk.Family.Name == "avax_chain_fork_detected" && value == "0" &&
					m.existed(strings.Replace(series, chunk.Family.Name, "avax_chain_height", 1), now.Add(-longest)) {
					continue // the compared blocks may be answers of different times, at which never two nodes answered at once
				}
				if chunk.Family.Name == "avax_l1_validator_connected" && value == "0" && m.suffered(series, now.Add(-longest)) {
					continue // the node's chain does not answer, but the observer does not suffer the fault
				}
				if !m.wasTrue(series, value, now.Add(-longest)) {
					wrong = append(wrong, fmt.Sprintf("%s %s was not true within %v; of %s/%s, run at %v; true: %s", series, value, longest, job.Good.Collector,
						job.Good.Target, now.Sub(job.Good.At), m.history(series)))
				}
			}
		}
	}
	return wrong
}

// suffered reports whether the series is about a validator whose node suffered a fault since then.
func (m *randomTest) suffered(series string, since time.Time) bool {
	return slices.ContainsFunc(modelNodes, func(name string) bool {
		return strings.Contains(series, `node_id="`+m.network.NodeID(name)+`"`) && m.faults.last(name).After(since)
	})
}

func (m *randomTest) history(series string) string {
	var b strings.Builder
	facts := m.truth[series]
	for _, f := range facts[max(0, len(facts)-6):] {
		until := "now"
		if !f.to.IsZero() {
			until = time.Since(f.to).String() + " ago"
		}
		fmt.Fprintf(&b, " %s from %v ago until %s;", f.value, time.Since(f.from), until)
	}
	return b.String()
}

// wasTrue reports whether the series had that value at some time since then.
func (m *randomTest) wasTrue(series, value string, since time.Time) bool {
	return slices.ContainsFunc(m.truth[series], func(f fact) bool { return f.value == value && (f.to.IsZero() || !f.to.Before(since)) })
}

// existed reports whether the series had any value at some time since then.
func (m *randomTest) existed(series string, since time.Time) bool {
	return slices.ContainsFunc(m.truth[series], func(f fact) bool { return f.to.IsZero() || !f.to.Before(since) })
}

// calm ends all faults, and waits for new runs of everything.
func (m *randomTest) calm() {
	for _, name := range modelNodes {
		m.faults.set(name, fault{})
		m.network.Node(name).SetChain("C", simnet.Running)
		if m.away[name] {
			m.network.Node(name).Start()
		}
	}
	m.change(func() {}, time.Hour)
	time.Sleep(10 * time.Minute)
}

// missing returns the true samples that are not exported.
func (m *randomTest) missing() (missing []string) {
	page := m.world.Samples(m.t)
	for series := range m.now {
		if _, served := page[series]; !served {
			missing = append(missing, series)
		}
	}
	for _, name := range modelNodes {
		if page[`avax_node_up{node="`+name+`"}`] != 1 {
			missing = append(missing, name+" is not up")
		}
	}
	slices.Sort(missing)
	return missing
}

// faulty is the transport between the exporter and the network.
type faulty struct {
	network http.RoundTripper

	mu   sync.Mutex
	over map[string]fault     // by node
	hit  map[string]time.Time // the last call that a fault changed, by node
}

// last returns when a fault changed a call of the node for the last time.
func (w *faulty) last(name string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hit[name]
}

func (w *faulty) set(name string, f fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over[name] = f
}

// fault answers in place of a node, or changes its answer.
type fault struct {
	name string
	some bool // affects every second call
	do   func(r *http.Request, ask func() (*http.Response, error)) (*http.Response, error)
}

// RoundTrip implements http.RoundTripper.
func (w *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	name, _, _ := strings.Cut(r.URL.Hostname(), ".")
	w.mu.Lock()
	f := w.over[name]
	w.mu.Unlock()
	spared := f.some && chanceOf(r.URL.Path, time.Now(), r.ContentLength)%2 == 0
	ask := func() (*http.Response, error) { return w.network.RoundTrip(r) }
	if f.do == nil || spared {
		return ask()
	}
	w.mu.Lock()
	w.hit[name] = time.Now()
	w.mu.Unlock()
	return f.do(r, ask)
}

// chanceOf depends only on the seed, not on the order of goroutines.
func chanceOf(what ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, what...)
	return h.Sum64() >> 7
}

func failing(err error) func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	return func(*http.Request, func() (*http.Response, error)) (*http.Response, error) { return nil, err }
}

func answering(status int, body string, header ...string) func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	return func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
}

func waiting(r *http.Request, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

// late sends a request at once, and returns the answer after d. tardy sends the request after d.
func late(d time.Duration) func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	return func(r *http.Request, ask func() (*http.Response, error)) (*http.Response, error) {
		response, err := ask()
		if err := waiting(r, d); err != nil {
			return nil, err
		}
		return response, err
	}
}

func tardy(d time.Duration) func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
	return func(r *http.Request, ask func() (*http.Response, error)) (*http.Response, error) {
		if err := waiting(r, d); err != nil {
			return nil, err
		}
		return ask()
	}
}

// shortened truncates the answer.
func shortened(_ *http.Request, ask func() (*http.Response, error)) (*http.Response, error) {
	response, err := ask()
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)*2/3]), broken{}))
	return response, err
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

var randomFaults = func() []fault {
	kinds := []fault{
		{name: "refused connections", do: failing(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})},
		{name: "resets", do: failing(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET})},
		{name: "no name", do: failing(&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", IsNotFound: true}})},
		{name: "no descriptors", do: failing(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.EMFILE})},
		{name: "hanging", do: tardy(time.Hour)},
		{name: "slowness", do: tardy(800 * time.Millisecond)},
		{name: "late answers", do: late(2 * time.Second)},
		{name: "very late answers", do: late(9 * time.Second)},
		{name: "broken answers", do: shortened},
		{name: "web pages", do: answering(200, "<html>")},
		{name: "empty answers", do: answering(200, "")},
		{name: "null answers", do: answering(200, `{"jsonrpc":"2.0","id":1,"result":null}`)},
		{name: "lists", do: answering(200, `{"jsonrpc":"2.0","id":1,"result":[]}`)},
		{name: "empty objects", do: answering(200, `{"jsonrpc":"2.0","id":1,"result":{}}`)},
		{name: "errors", do: answering(200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}`)},
		{name: "403", do: answering(403, "invalid host specified")},
		{name: "404", do: answering(404, "404 page not found")},
		{name: "429", do: answering(429, "", "Retry-After", "7")},
		{name: "503", do: answering(503, "<html>")},
		{name: "redirects", do: answering(302, "", "Location", "http://elsewhere.invalid/")},
	}
	for _, f := range kinds {
		f.name, f.some = "some "+f.name, true
		kinds = append(kinds, f)
	}
	return kinds
}()
