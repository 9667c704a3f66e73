package faults_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// fault is a fault of a node. Each applies to a separate node of one exporter, all at the same time: it must affect only that node.
type fault struct {
	name    string
	begin   func(*gate)
	end     func(*gate) // nil: remove the behavior
	up      bool        // the node still counts as up
	some    bool        // some of its samples may stay, with correct values
	outcome string      // counted outcome of its calls
	logged  string      // logged about this node
}

func behaving(b behaviour) func(*gate) { return func(g *gate) { g.behaveAs(b) } }

// elsewhere is another host, which must not get a request.
var elsewhere struct {
	url      string
	requests atomic.Int64
}

var faults = []fault{
	{name: "killed", begin: (*gate).shut, end: (*gate).open, outcome: "unreachable", logged: "connection refused|closed before an answer|reset by peer"},
	{name: "hung", begin: behaving(hung), outcome: "timeout", logged: "timeout: no answer"},
	{name: "slow-by-byte", begin: behaving(byByte), outcome: "timeout", logged: "timeout: no answer"},
	{name: "reset-in-mid-body", begin: behaving(breakingOff(true)), outcome: "unreachable", logged: "reset by peer|in the middle of the answer"},
	{name: "closed-in-mid-body", begin: behaving(breakingOff(false)), outcome: "unreachable", logged: "closed in the middle of the answer"},
	{name: "closed-at-once", begin: behaving(raw("", "")), outcome: "unreachable", logged: "closed before an answer"},
	{name: "endless-header", begin: behaving(raw("HTTP/1.1 200 OK\r\nX-Filler: ", "x")), outcome: "unreachable", logged: "response headers exceeded"},
	{
		name:    "endless-body",
		begin:   behaving(raw("HTTP/1.1 200 OK\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"", "x")),
		outcome: "too_large",
		logged:  "larger than the limit of 1 MiB",
	},
	{
		name:    "endless-depth",
		begin:   behaving(raw("HTTP/1.1 200 OK\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":", "[")),
		outcome: "malformed",
		logged:  "malformed",
	},
	{name: "no-http", begin: behaving(raw("SSH-2.0-OpenSSH_9.2\r\n", "")), outcome: "unreachable", logged: "malformed HTTP"},
	{
		name:    "html",
		begin:   behaving(static(200, "text/html", "<!DOCTYPE html><html><body>Sign in</body></html>")),
		outcome: "malformed",
		logged:  "the answer is HTML",
	},
	{name: "empty", begin: behaving(static(200, "application/json", "")), outcome: "malformed", logged: "the answer is empty"},
	{name: "no-content", begin: behaving(static(204, "", "")), outcome: "malformed", logged: "the answer is empty"},
	{name: "null", begin: behaving(static(200, "application/json", `{"jsonrpc":"2.0","id":1,"result":null}`)), outcome: "malformed", logged: "malformed"},
	{name: "server-error", begin: behaving(static(500, "text/plain", "oops")), outcome: "unavailable", logged: "HTTP 500: oops"},
	{name: "wrong-types", begin: behaving(mistyping(1)), up: true, some: true, outcome: "malformed", logged: "malformed: "},
	{name: "duplicates", begin: behaving(changing(doubling)), up: true, some: true, logged: "duplicate NodeID-"},
	{name: "body-x10", begin: behaving(changing(padding)), up: true, some: true},
	{name: "gzip-bomb", begin: behaving(bomb(64)), outcome: "too_large", logged: "larger than the limit of 1 MiB"},
	{name: "gzip-torn", begin: behaving(func(w http.ResponseWriter, _ *http.Request, _ func() answer) {
		answer{200, http.Header{"Content-Encoding": {"gzip"}}, []byte("\x1f\x8b\x08\x00torn")}.send(w)
	}), outcome: "unreachable", logged: "closed in the middle|malformed"},
	{name: "redirect-loop", begin: func(g *gate) { g.behaveAs(redirecting("")) }, outcome: "malformed", logged: "redirects are not followed"},
	{
		name:    "redirect-elsewhere",
		begin:   func(g *gate) { g.behaveAs(redirecting(elsewhere.url)) },
		outcome: "malformed",
		logged:  "redirects to http://127.0.0.1:[0-9]+ are not followed",
	},
}

const (
	period = 10 * time.Second
	canary = "canary-4f1c"
)

// everyPeriod schedules the collectors of this test.
var everyPeriod = func() string {
	names := strings.Split(asking, ",")
	for i, name := range names {
		names[i] = fmt.Sprintf("%s=@every %s", name, period)
	}
	return "AVAX_SCHEDULES=" + strings.Join(names, ";")
}()

// byTheClock matches series that change on their own.
var byTheClock = regexp.MustCompile(`^avax_(chain_he|node_chain_accepted_height|.*uptime|.*balance)`)

const asking = "up,identity,bootstrap,uptime,peers,connected_stake,health,network,network_views,validators,validator_views,heads,l1,l1_views,fee_config"

func TestNodeFaultsAffectOnlyTheirNode(t *testing.T) {
	testworld.Full(t)
	t.Parallel()
	network := simnet.New(simnet.Options{Seed: 1})
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.requests.Add(1) }))
	t.Cleanup(other.Close)
	elsewhere.url = other.URL

	gates := map[string]*gate{}
	nodes := []string{"alpha=" + newGate(t, network.Node("alpha")).url()}
	for _, f := range faults {
		gates[f.name] = newGate(t, network.Node("bravo"))
		nodes = append(nodes, fmt.Sprintf("%s=http://user:%s@%s", f.name, canary, gates[f.name].address))
	}
	e := start(
		t,
		"AVAX_NODES="+strings.Join(nodes, ","),
		"AVAX_CHAINS=C,examplel1="+network.Chain("examplel1").ID,
		"AVAX_COLLECTORS="+asking,
		everyPeriod,
		"AVAX_LOG_LEVEL=DEBUG", // of the jobs of a node, each logs why it failed first: on a busy machine, of some this is a timeout
		"AVAX_HTTP_CONFIG_FILE="+testworld.File(t, `[{upstreams: ["*"], http_config: {http_headers: {X-Api-Key: {values: [`+canary+`]}}}}]`),
	)
	prometheus := testworld.Prometheus(t, testworld.PrometheusConfig{Targets: []string{e.URL}, ScrapeInterval: time.Second})
	e.Ready()

	// Samples that are correct and constant during the test, and all exported series.
	before := e.Until("all are up", func(p page) error {
		for name := range gates {
			if p[`avax_node_up{node="`+name+`"}`] != 1 {
				return errors.New(name + " is not up")
			}
		}
		return nil
	})
	time.Sleep(2 * period) // reveals series that change on their own
	truth := e.Until("a page", func(page) error { return nil })
	changing := map[string]bool{}
	for series, value := range truth {
		if old, there := before[series]; !there || old != value || byTheClock.MatchString(series) {
			changing[series] = true
		}
	}
	idle := figuresOf(truth)
	began := time.Now()

	// The exported samples are correct or absent at any time.
	watched := make(chan error, 1)
	stop := make(chan struct{})
	go func() { watched <- watch(e, truth, changing, stop) }()

	for _, f := range faults {
		f.begin(gates[f.name])
	}
	sick := e.Until("every fault shows", func(p page) error {
		for _, f := range faults {
			up, found := p[`avax_node_up{node="`+f.name+`"}`]
			if !found || !f.some && (up == 1) != f.up {
				return fmt.Errorf("%s: avax_node_up is %v, found %v", f.name, up, found)
			}
			if left := about(p, f.name); !f.some && len(left) > 0 {
				return fmt.Errorf("%s: still exported: %v", f.name, left)
			}
			calls := slices.DeleteFunc(slices.Sorted(maps.Keys(p)), func(series string) bool {
				return !strings.HasPrefix(series, "avax_exporter_upstream_requests_total{") || !strings.Contains(series, `upstream="`+f.name+`"`)
			})
			if f.outcome != "" && !slices.ContainsFunc(calls, func(series string) bool { return strings.Contains(series, `outcome="`+f.outcome+`"`) }) {
				return fmt.Errorf("%s: no call is counted as %s: %v", f.name, f.outcome, calls)
			}
		}
		return nil
	})
	t.Logf("before: %v; with all faults: %v", idle, figuresOf(sick))
	idle.report("faults", "before")
	figuresOf(sick).report("faults", fmt.Sprintf("with %d faults at once", len(faults)))
	for _, f := range faults {
		if f.logged == "" {
			continue
		}
		e.awaitLog(`"target":"` + f.name + `[^"]*".*(` + f.logged + `)|(` + f.logged + `).*"target":"` + f.name + `[/"]`)
	}
	var people string
	testworld.Await(t, "the status page", func() error {
		status, text, err := e.Get("/")
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("it answers %d, %w", status, err)
		}
		for _, f := range faults {
			if f.logged != "" && !f.some && !strings.Contains(text, f.name) {
				return fmt.Errorf("it does not contain %s", f.name)
			}
		}
		people = text
		return nil
	})

	// All faults end.
	for _, f := range faults {
		if f.end != nil {
			f.end(gates[f.name])
		}
		gates[f.name].recover()
	}
	e.Until("all samples are back", func(p page) error {
		for series := range truth {
			if _, back := p[series]; !back && !changing[series] && strings.HasPrefix(series, "avax_") && !strings.HasPrefix(series, "avax_exporter_") {
				return errors.New(series + " is not back")
			}
		}
		return nil
	})
	close(stop)
	if err := <-watched; err != nil {
		t.Error(err)
	}
	healed := e.settled(idle)
	t.Logf("healed: %v", healed)
	healed.report("faults", "after the faults")

	// Check the view of Prometheus.
	window := fmt.Sprintf("[%ds]", int(time.Since(began).Seconds()))
	for expr, want := range map[string]float64{
		`min_over_time(up` + window + `)`:                            1,
		`min_over_time(avax_node_up{node="alpha"}` + window + `)`:    1,
		`min_over_time(avax_node_up{node="hung"}` + window + `)`:     0,
		`avax_node_up{node="hung"}`:                                  1,
		`min_over_time(avax_node_up{node="body-x10"}` + window + `)`: 1,
	} {
		testworld.Await(t, "Prometheus: "+expr, func() error { // it scrapes once per second
			v, err := prometheus.Query(t.Context(), expr)
			if err == nil && (len(v) != 1 || float64(v[0].Value) != want) {
				err = fmt.Errorf("%v, want %v", v, want)
			}
			return err
		})
	}

	// No credential reached another host, the log or a page.
	if n := elsewhere.requests.Load(); n != 0 {
		t.Errorf("%d requests to another host", n)
	}
	for what, text := range map[string]string{"log": e.Log(), "status page": people} {
		if strings.Contains(text, canary) {
			t.Errorf("secret in the %s", what)
		}
	}
}

// about lists the exported series of a node, without those that say since when it is down.
func about(p page, node string) []string {
	var found []string
	for series := range p {
		if strings.Contains(series, `node="`+node+`"`) && !saysDown(series) {
			found = append(found, series)
		}
	}
	slices.Sort(found)
	return found
}

// saysDown reports whether a series says that a node is or was down, since when, or for how long.
func saysDown(series string) bool {
	family, _, _ := strings.Cut(series, "{")
	return slices.Contains([]string{
		"avax_node_up", "avax_node_rejecting", "avax_node_answered_timestamp_seconds", "avax_node_silent_timestamp_seconds", "avax_node_longest_restart_seconds",
	}, family)
}

// watch requests /metrics repeatedly. It must answer with correct samples, or fewer, except for those that change on their own.
func watch(e *exporter, truth page, changing map[string]bool, stop <-chan struct{}) error {
	var errs []error
	pages := 0
	for {
		p, err := e.Scrape()
		if err != nil {
			return err
		}
		pages++
		for series, value := range p {
			right, known := truth[series]
			switch {
			case !strings.HasPrefix(series, "avax_") || strings.HasPrefix(series, "avax_exporter_"):
			case saysDown(series) && !strings.Contains(series, `"alpha"`):
			case !known:
				errs = append(errs, fmt.Errorf("%s %v: was absent before", series, value))
			case value != right && !changing[series]:
				errs = append(errs, fmt.Errorf("%s is %v, was %v", series, value, right))
			}
		}
		if len(errs) > 10 {
			return errors.Join(errs...)
		}
		select {
		case <-stop:
			if pages == 0 {
				errs = append(errs, errors.New("no page was seen"))
			}
			return errors.Join(errs...)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
