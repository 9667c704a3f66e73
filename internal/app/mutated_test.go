package app_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/testworld/recorded"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var allMutations = flag.Bool("mutations", false, "run all mutations of upstreams, not one of ten")

// methodNotFound is the answer of a node that does not know a method.
const methodNotFound = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"not available"}}`

// mutatedTransport replaces the answers of some methods on some nodes.
type mutatedTransport struct {
	http.RoundTripper
	refusal
	methods []string
	nodes   []string // nil: all

	mu    sync.Mutex
	on    bool
	calls map[call]bool // with on: those that were replaced
}

type call struct{ method, node string }

// refusal is an answer of a node that does not offer a method, or no longer in the same form.
type refusal struct {
	name   string
	status int
	body   string
}

// refusals are what an upstream answers instead.
var refusals = []refusal{
	{"method not found", 200, methodNotFound},
	{"HTTP 404", 404, "404 page not found\n"},
	{"a result of another form", 200, `{"jsonrpc":"2.0","id":1,"result":{"renamed":1}}`},
	{"HTTP 403", 403, "<html>Forbidden</html>"},
	{"null", 200, `{"jsonrpc":"2.0","id":1,"result":null}`},
}

func (m *mutatedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return wiretest.Between(m.RoundTripper, func(c *wiretest.Call) (*http.Response, error) {
		if !m.replaces(c.Method, c.Upstream) {
			return c.Ask()
		}
		return wiretest.Reply(m.status, m.body)
	}).RoundTrip(r)
}

func (m *mutatedTransport) replaces(method, node string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	replaced := m.on && slices.Contains(m.methods, method) && (m.nodes == nil || slices.Contains(m.nodes, node))
	if replaced || !m.on {
		m.calls[call{method, node}] = true
	}
	return replaced
}

func (m *mutatedTransport) start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.on, m.calls = true, map[call]bool{}
}

// watchedFamily is a family that an alert reads, of one node and chain. They are empty if the family does not have these labels.
type watchedFamily struct{ name, node, chain string }

// watchedFamilies returns the families that the exporter has now.
func watchedFamilies(t *testing.T, w *apptest.World, read map[string][]string) map[watchedFamily]bool {
	found := map[watchedFamily]bool{}
	for series := range w.Samples(t) {
		name, labels, _ := strings.Cut(series, "{")
		// Availability is counted by the exporter itself: what nobody could watch is not counted, and the alerts of the samples say why.
		if len(read[name]) == 0 || strings.HasPrefix(name, "avax_availability_") {
			continue
		}
		f := watchedFamily{name: name}
		for _, name := range everywhere {
			if strings.Contains(labels, `node="`+name+`"`) {
				f.node = name
			}
		}
		if _, rest, is := strings.Cut(labels, `chain="`); is {
			f.chain, _, _ = strings.Cut(rest, `"`)
		}
		found[f] = true
	}
	return found
}

var everywhere = []string{"alpha", "bravo", "foxtrot", "observer"}

// separated puts methods into as few groups as possible, so that no collector calls two methods of a group. So a missing family has one cause.
func separated(callers map[string][]string) (groups [][]string) {
	methods := slices.SortedFunc(maps.Keys(callers), func(a, b string) int {
		return cmp.Or(len(callers[b])-len(callers[a]), strings.Compare(a, b))
	})
	for _, method := range methods {
		shares := func(other string) bool {
			return slices.ContainsFunc(callers[other], func(c string) bool { return slices.Contains(callers[method], c) })
		}
		i := slices.IndexFunc(groups, func(group []string) bool { return !slices.ContainsFunc(group, shares) })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], method)
	}
	return groups
}

// If an upstream removes a method, or answers it with something else, then for each family that an alert reads: its samples continue, or an alert says
// that the data is missing, within 15 minutes of the first run that fails. After 40 minutes, this is still so. Each method is removed in each way from
// one of three nodes, from all, and from an observer.
func TestMutatedUpstreamsAreTold(t *testing.T) {
	x := newMutations(t)
	places := [][]string{{"alpha"}, everywhere, {"observer"}}
	i := 0
	for p, on := range places {
		for g, group := range separated(x.calledOn(on)) {
			for k, kind := range refusals {
				m := mutation{kind: kind, on: on, methods: group, fromTheStart: (g+k+p)%2 == 0}
				if i++; !*allMutations && i%40 != 3 {
					continue
				}
				when := map[bool]string{true: "from the start", false: "later"}[m.fromTheStart]
				t.Run(fmt.Sprintf("%s on %s %s %d", kind.name, strings.Join(on, " "), when, g), func(t *testing.T) {
					t.Parallel()
					apptest.Run(t, func(t *testing.T, w *apptest.World) { x.run(t, w, m) })
				})
			}
		}
	}
	t.Cleanup(func() {
		text := x.table()
		if *allMutations {
			testworld.Measured(t, "../../docs/reliability.md", "told", "\n"+text+"\n")
		}
	})
}

// mutation is a way in which some upstreams do not answer some methods.
type mutation struct {
	kind         refusal
	on, methods  []string
	fromTheStart bool
}

// mutations is what is known of the exporter without a mutation, and what an operator learns with them.
type mutations struct {
	read    map[string][]string    // alerts by family
	owner   map[string]string      // collector by family
	callers map[string][]string    // collectors by method
	calls   map[call]bool          // without a mutation
	want    map[watchedFamily]bool // without a mutation
	calm    []string               // alerts without a mutation

	mu     sync.Mutex
	counts map[string]map[string]int // by refusal and result
}

func newMutations(t *testing.T) *mutations {
	read := must.Get(alerting.AlertsByFamily(alerts.Rules))(t)
	delete(read, "avax_chain_agreed_height") // each scrape computes it from avax_chain_height, which is watched itself
	x := &mutations{read: read, owner: map[string]string{}, callers: map[string][]string{}, counts: map[string]map[string]int{}}
	for _, spec := range collectors.All() {
		for _, f := range spec.Families {
			x.owner[f.Name] = spec.Name
		}
		for _, method := range spec.Calls {
			if !spec.WithoutNodes() && !strings.HasPrefix(method, "GET /v1/") {
				x.callers[method] = append(x.callers[method], spec.Name)
			}
		}
	}
	x.callers["info.isBootstrapped"] = slices.Sorted(maps.Values(x.owner)) // it decides what a 404 of a chain means
	right := &mutatedTransport{calls: map[call]bool{}}
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		startMutated(t, w, right)
		time.Sleep(15 * time.Minute)
		x.want, x.calm = watchedFamilies(t, w, read), alertNames(t, w)
	})
	x.calls = right.calls
	return x
}

// startMutated starts an exporter that asks three nodes and an observer through a transport.
func startMutated(t *testing.T, w *apptest.World, m *mutatedTransport) {
	w.Env["NODES"], w.Env["OBSERVERS"] = apptest.URLs("alpha", "bravo", "foxtrot"), "observer=http://observer.sim"
	w.Env["COLLECTORS"] = "+admin"
	m.RoundTripper = w.Transport
	w.Transport = m
	w.Notify(t)
	w.Env["ALERTING_INTERVAL"] = "1m"
	w.Start(t)
}

// calledOn returns the collectors by method that is called on some of the upstreams.
func (x *mutations) calledOn(on []string) map[string][]string {
	called := maps.Clone(x.callers)
	maps.DeleteFunc(called, func(method string, _ []string) bool {
		return !slices.ContainsFunc(on, func(name string) bool { return x.calls[call{method, name}] })
	})
	return called
}

// run counts what an operator learns of each family during a mutation.
func (x *mutations) run(t *testing.T, w *apptest.World, m mutation) {
	transport := &mutatedTransport{refusal: m.kind, methods: m.methods, nodes: m.on, calls: map[call]bool{}, on: m.fromTheStart}
	startMutated(t, w, transport)
	if !m.fromTheStart {
		time.Sleep(15 * time.Minute)
		transport.start()
	}
	ran := map[string]int{}
	for began := time.Now(); time.Since(began) < 40*time.Minute; {
		time.Sleep(20 * time.Minute) // a collector of nodes runs at least every five minutes, apart from a few
		now, firing := watchedFamilies(t, w, x.read), w.Alerts(t)
		var missing []string
		for f := range x.want {
			result := x.told(f, m, now, firing)
			ran[result]++
			if result == untold {
				missing = append(missing, strings.Join([]string{f.name, f.node, f.chain}, " "))
			}
		}
		if slices.Sort(missing); len(missing) > 0 {
			t.Errorf("%q: after %v, nothing says that these are missing: %q", m.methods, time.Since(began), missing)
		}
	}
	replaced := map[string]bool{}
	for c := range transport.calls {
		replaced[c.method] = true
	}
	ran["cases"] = len(replaced)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.counts[m.kind.name] == nil {
		x.counts[m.kind.name] = map[string]int{}
	}
	for result, n := range ran {
		x.counts[m.kind.name][result] += n
	}
}

// told returns what an operator learns of a family during a mutation.
func (x *mutations) told(f watchedFamily, m mutation, now map[watchedFamily]bool, firing []apptest.Alert) string {
	of := func(a apptest.Alert) bool { // an alert about the node
		target, _, _ := strings.Cut(a.Labels["target"], "/")
		return f.node == "" || target == f.node || a.Labels["node"] == f.node || a.Labels["upstream"] == f.node
	}
	tooOld := func(on []string, by ...string) bool {
		return slices.ContainsFunc(firing, func(a apptest.Alert) bool {
			target, chain, _ := strings.Cut(a.Labels["target"], "/")
			return a.Labels["alertname"] == "AvaxDataTooOld" && slices.Contains(by, a.Labels["collector"]) && (chain == "" || f.chain == "" || chain == f.chain) &&
				(of(a) || slices.Contains(on, target) || !slices.Contains(everywhere, target))
		})
	}
	var method string // that is mutated and that the family needs
	for _, one := range m.methods {
		if slices.Contains(x.callers[one], x.owner[f.name]) {
			method = one
		}
	}
	refused := m.kind.name != "null" && m.kind.name != "a result of another form"
	// A node does not run every chain, and may have no health API.
	lacking := method == "GET /ext/health" || slices.ContainsFunc(node.Methods(), func(of *scrape.Method) bool {
		return of.Name == method && (of.Lacking != "" || m.kind.name == "HTTP 404" && node.OfChain(of))
	})
	other := func(a apptest.Alert) bool {
		if f.node == "" {
			return a.Labels["alertname"] == "AvaxUpstreamForbidden" && slices.Contains(m.on, a.Labels["upstream"])
		}
		return a.Labels["alertname"] != "AvaxDataTooOld" && of(a) && a.Labels["severity"] != "info" && !slices.Contains(x.calm, a.Labels["alertname"])
	}
	switch {
	case now[f]:
		return continues
	case tooOld(nil, x.owner[f.name]):
		return gap
	case tooOld(m.on, x.callers[method]...): // such as the collector of identities, for what compares nodes
		return gapOfAnother
	case slices.ContainsFunc(firing, other):
		return otherAlert
	case f.node == "observer":
		return onlyObserver
	case m.fromTheStart && refused && lacking:
		return neverOffered
	}
	return untold
}

// table returns the counts by refusal.
func (x *mutations) table() string {
	columns := []string{"cases", continues, gap, gapOfAnother, otherAlert, onlyObserver, neverOffered, untold}
	text := "| instead of the answer | " + strings.Join(columns, " | ") + " |\n|" + strings.Repeat("---|", len(columns)+1) + "\n"
	for _, kind := range refusals {
		text += "| " + kind.name + " |"
		for _, column := range columns {
			text += fmt.Sprintf(" %d |", x.counts[kind.name][column])
		}
		text += "\n"
	}
	return text
}

// What an operator learns of a family.
const (
	continues    = "its samples continue"
	gap          = "AvaxDataTooOld names it"
	gapOfAnother = "AvaxDataTooOld names a collector with the same method"
	otherAlert   = "another alert about the node"
	onlyObserver = "only of an observer"
	neverOffered = "never offered"
	untold       = "nothing says it"
)

// onlyInBlockchains is what only the deprecated platform.getBlockchains tells. No alert reads it.
const onlyInBlockchains = "avax_network_blockchains"

// Without the deprecated platform.getBlockchains, from the start and on all nodes and the observer, the demo has the same families.
func TestDemoWithoutBlockchainsHasTheSameFamilies(t *testing.T) {
	t.Parallel()
	var with, without []string
	for method, into := range map[string]*[]string{"": &with, "platform.getBlockchains": &without} {
		inDemoWithout(t, method, time.Minute, func(t *testing.T, w *apptest.World) {
			time.Sleep(10 * time.Minute)
			*into = familiesOf(w.Samples(t))
		})
	}
	sameFamilies(t, with, without)
}

// So has a recorded node. No recording has platform.getTx of a transaction that created a chain: its form is that of the node's source.
func TestRecordedNodeWithoutBlockchainsHasTheSameFamilies(t *testing.T) {
	var with, without []string
	answers := must.Get(recorded.Load("healthy"))(t)
	created := map[string]struct{ ID, Name, SubnetID, VMID string }{} // by transaction, also those of the genesis
	for _, a := range answers {
		if a.Name == "platform.getBlockchains" {
			var list struct {
				Result struct {
					Blockchains []struct{ ID, Name, SubnetID, VMID string }
				}
			}
			must.Do(t, json.Unmarshal([]byte(a.Response), &list))
			for _, b := range list.Result.Blockchains {
				created[b.ID] = b
			}
		}
	}
	for _, refused := range []bool{false, true} {
		node := must.Get(recorded.NewNode("healthy"))(t)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			var call struct {
				Method string
				Params struct{ TxID string }
			}
			_ = json.Unmarshal(body, &call)
			switch b, made := created[call.Params.TxID]; {
			case refused && call.Method == "platform.getBlockchains":
				_, _ = io.WriteString(w, methodNotFound)
			case refused && call.Method == "platform.getTx" && made:
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"tx":{"unsignedTx":{"subnetID":%q,"chainName":%q,"vmID":%q,"fxIDs":[],`+
					`"genesisData":"","subnetAuthorization":{}},"id":%q},"encoding":"json"}}`, b.SubnetID, b.Name, b.VMID, b.ID)
			case refused && call.Method == "platform.getTx":
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"couldn't decode argument: not an ID"}}`)
			default:
				node.ServeHTTP(w, r)
			}
		}))
		t.Cleanup(server.Close)
		env := config.Environment{"NODES": "local=" + server.URL, "WATCH_ADDRESSES": recordedAddress + "," + recordedAccount,
			"CHAINS": "C,examplel1=" + recorded.L1Chain + ",examplepoa=" + recorded.PoAChain}
		_, page := start(t, env).get(t, "/metrics")
		if families := familiesOf(samples(t, page)); refused {
			without = families
		} else {
			with = families
		}
	}
	sameFamilies(t, with, without)
}

// familiesOf returns the families about nodes and networks.
func familiesOf(page testworld.Samples) (all []string) {
	for series := range page {
		if name, _, _ := strings.Cut(series, "{"); !strings.HasPrefix(name, "avax_exporter_") {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func sameFamilies(t *testing.T, with, without []string) {
	t.Helper()
	missing := slices.DeleteFunc(slices.Clone(with), func(f string) bool { return f == onlyInBlockchains || slices.Contains(without, f) })
	if len(missing) > 0 || len(with) < 80 {
		t.Errorf("of %d families, %d are missing: %q", len(with), len(missing), missing)
	}
	t.Logf("%d families with the method, %d without", len(with), len(without))
}
