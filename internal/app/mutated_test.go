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
	"github.com/avax-exporter/avax-exporter/internal/recorded"
	"github.com/avax-exporter/avax-exporter/internal/section"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
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
	method := "GET " + r.URL.Path
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var call struct{ Method string }
		if json.Unmarshal(body, &call) == nil {
			method = call.Method
		}
	}
	if !m.replaces(method, strings.TrimSuffix(r.URL.Hostname(), ".sim")) {
		return m.RoundTripper.RoundTrip(r)
	}
	return &http.Response{StatusCode: m.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(m.body))}, nil
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
		if len(read[name]) == 0 {
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
// that the data is missing, within 15 minutes of the first run that fails. An hour later, this is still so. Each method is removed in each way from one
// of three nodes, from all, and from an observer.
func TestMutatedUpstreamsAreTold(t *testing.T) {
	read, err := alerting.AlertsByFamily(alerts.Rules)
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}     // collector by family
	callers := map[string][]string{} // collectors by method
	for _, spec := range collectors.All() {
		for _, f := range spec.Families {
			owner[f.Name] = spec.Name
		}
		for _, method := range spec.Calls {
			if !spec.WithoutNodes() && !strings.HasPrefix(method, "GET /v1/") {
				callers[method] = append(callers[method], spec.Name)
			}
		}
	}
	callers["info.isBootstrapped"] = slices.Sorted(maps.Values(owner)) // it decides what a 404 of a chain means
	var calm []string                                                  // alerts without a mutation
	// toldOf returns what an operator learns of a family during a mutation.
	toldOf := func(f watchedFamily, fromTheStart bool, kind refusal, on, group []string, now map[watchedFamily]bool, firing []apptest.Alert) string {
		of := func(a apptest.Alert) bool { // an alert about the node
			target, _, _ := strings.Cut(a.Labels["target"], "/")
			return f.node == "" || target == f.node || a.Labels["node"] == f.node || a.Labels["upstream"] == f.node
		}
		tooOld := func(on []string, by ...string) bool {
			return slices.ContainsFunc(firing, func(a apptest.Alert) bool {
				_, chain, _ := strings.Cut(a.Labels["target"], "/")
				return a.Labels["alertname"] == "AvaxDataTooOld" && slices.Contains(by, a.Labels["collector"]) && (chain == "" || f.chain == "" || chain == f.chain) &&
					(of(a) || slices.Contains(on, strings.Split(a.Labels["target"], "/")[0]) || !slices.Contains(everywhere, strings.Split(a.Labels["target"], "/")[0]))
			})
		}
		var method string // that is mutated and that the family needs
		for _, m := range group {
			if slices.Contains(callers[m], owner[f.name]) {
				method = m
			}
		}
		refused := kind.name != "null" && kind.name != "a result of another form"
		// A node does not run every chain, and may have no health API.
		lacking := method == "GET /ext/health" || slices.ContainsFunc(node.Methods(), func(m *scrape.Method) bool {
			return m.Name == method && (m.Lacking != "" || kind.name == "HTTP 404" && node.OfChain(m))
		})
		switch {
		case now[f]:
			return continues
		case tooOld(nil, owner[f.name]):
			return gap
		case tooOld(on, callers[method]...): // such as the collector of identities, for what compares nodes
			return gapOfAnother
		case slices.ContainsFunc(firing, func(a apptest.Alert) bool {
			return f.node == "" && a.Labels["alertname"] == "AvaxUpstreamForbidden" && slices.Contains(on, a.Labels["upstream"]) || f.node != "" && a.Labels["alertname"] != "AvaxDataTooOld" && of(a) && a.Labels["severity"] != "info" && !slices.Contains(calm, a.Labels["alertname"])
		}):
			return otherAlert
		case f.node == "observer":
			return onlyObserver
		case fromTheStart && refused && lacking:
			return neverOffered
		}
		return untold
	}
	prepare := func(t *testing.T, w *apptest.World, m *mutatedTransport) {
		w.Env["NODES"], w.Env["OBSERVERS"] = apptest.URLs("alpha", "bravo", "foxtrot"), "observer=http://observer.sim"
		w.Env["COLLECTORS"] = "+admin"
		m.RoundTripper = w.Transport
		w.Transport = m
		w.Notify(t)
		w.Env["ALERTING_INTERVAL"] = "1m"
		w.Start(t)
	}
	var want map[watchedFamily]bool
	right := &mutatedTransport{calls: map[call]bool{}}
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		prepare(t, w, right)
		time.Sleep(15 * time.Minute)
		want, calm = watchedFamilies(t, w, read), alertNames(t, w)
	})
	places := [][]string{{"alpha"}, everywhere, {"observer"}}
	var mu sync.Mutex
	counts := map[string]map[string]int{} // by refusal and result
	i := 0
	for p, on := range places {
		called := maps.Clone(callers)
		maps.DeleteFunc(called, func(method string, _ []string) bool {
			return !slices.ContainsFunc(on, func(name string) bool { return right.calls[call{method, name}] })
		})
		for g, group := range separated(called) {
			for k, kind := range refusals {
				fromTheStart := (g+k+p)%2 == 0
				when := map[bool]string{true: "from the start", false: "later"}[fromTheStart]
				if i++; !*allMutations && i%10 != 3 {
					continue
				}
				t.Run(fmt.Sprintf("%s on %s %s %d", kind.name, strings.Join(on, " "), when, g), func(t *testing.T) {
					t.Parallel()
					apptest.Run(t, func(t *testing.T, w *apptest.World) {
						m := &mutatedTransport{refusal: kind, methods: group, nodes: on, calls: map[call]bool{}, on: fromTheStart}
						prepare(t, w, m)
						if !fromTheStart {
							time.Sleep(15 * time.Minute)
							m.start()
						}
						ran := map[string]int{}
						for _, after := range []time.Duration{20 * time.Minute, 40 * time.Minute} { // a collector of nodes runs at least every five minutes, apart from a few
							time.Sleep(after)
							now, firing := watchedFamilies(t, w, read), w.Alerts(t)
							var missing []string
							for f := range want {
								result := toldOf(f, fromTheStart, kind, on, group, now, firing)
								ran[result]++
								if result == untold {
									missing = append(missing, strings.Join([]string{f.name, f.node, f.chain}, " "))
								}
							}
							if slices.Sort(missing); len(missing) > 0 {
								t.Errorf("%q: after %v, nothing says that these are missing: %q", group, after, missing)
							}
						}
						replaced := map[string]bool{}
						for c := range m.calls {
							replaced[c.method] = true
						}
						mu.Lock()
						defer mu.Unlock()
						if counts[kind.name] == nil {
							counts[kind.name] = map[string]int{}
						}
						counts[kind.name]["cases"] += len(replaced)
						for result, n := range ran {
							counts[kind.name][result] += n
						}
					})
				})
			}
		}
	}
	t.Cleanup(func() {
		columns := []string{"cases", continues, gap, gapOfAnother, otherAlert, onlyObserver, neverOffered, untold}
		text := "| instead of the answer | " + strings.Join(columns, " | ") + " |\n|" + strings.Repeat("---|", len(columns)+1) + "\n"
		for _, kind := range refusals {
			text += "| " + kind.name + " |"
			for _, column := range columns {
				text += fmt.Sprintf(" %d |", counts[kind.name][column])
			}
			text += "\n"
		}
		t.Log("\n" + text)
		if *update && *allMutations {
			if err := section.Write("../../docs/reliability.md", "told", "\n"+text+"\n"); err != nil {
				t.Error(err)
			}
		}
	})
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
	answers, err := recorded.Load("healthy")
	if err != nil {
		t.Fatal(err)
	}
	created := map[string]struct{ ID, Name, SubnetID, VMID string }{} // by transaction, also those of the genesis
	for _, a := range answers {
		if a.Name == "platform.getBlockchains" {
			var list struct {
				Result struct {
					Blockchains []struct{ ID, Name, SubnetID, VMID string }
				}
			}
			if err := json.Unmarshal([]byte(a.Response), &list); err != nil {
				t.Fatal(err)
			}
			for _, b := range list.Result.Blockchains {
				created[b.ID] = b
			}
		}
	}
	for _, refused := range []bool{false, true} {
		node, err := recorded.NewNode("healthy")
		if err != nil {
			t.Fatal(err)
		}
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
