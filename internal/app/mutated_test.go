package app_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/alerting"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/recorded"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
)

var allMutations = flag.Bool("mutations", false, "run all mutations of upstreams, not one of ten")

// refusal is the answer of a node that does not know a method.
const refusal = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"not available"}}`

// mutatedTransport replaces the answers of a method on some nodes.
type mutatedTransport struct {
	http.RoundTripper
	method string   // empty: none
	nodes  []string // nil: all
	status int
	body   string
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
	if method != m.method || m.nodes != nil && !slices.Contains(m.nodes, strings.TrimSuffix(r.URL.Hostname(), ".sim")) {
		return m.RoundTripper.RoundTrip(r)
	}
	return &http.Response{StatusCode: m.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(m.body))}, nil
}

// If an upstream removes a method, or answers it with something else, then for each family that an alert reads: its samples continue, or an alert says
// that the data is missing, within 15 minutes of the first run that fails. An hour later, this is still so.
func TestMutatedUpstreamsAreTold(t *testing.T) {
	read, err := alerting.AlertsByFamily(alerts.Rules)
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{} // collector by family
	var methods []string
	for _, spec := range collectors.All() {
		for _, f := range spec.Families {
			owner[f.Name] = spec.Name
		}
		if !spec.WithoutNodes() {
			methods = append(methods, spec.Calls...)
		}
	}
	slices.Sort(methods)
	methods = slices.DeleteFunc(slices.Compact(methods), func(m string) bool { return strings.HasPrefix(m, "GET /v1/") })
	kinds := []struct {
		name   string
		status int
		body   string
	}{
		{"method not found", 200, refusal},
		{"HTTP 404", 404, "404 page not found\n"},
		{"a result of another form", 200, `{"jsonrpc":"2.0","id":1,"result":{"renamed":1}}`},
		{"HTTP 403", 403, "<html>Forbidden</html>"},
		{"null", 200, `{"jsonrpc":"2.0","id":1,"result":null}`},
	}
	everywhere := []string{"alpha", "bravo", "foxtrot", "observer"}
	ran, works, told := 0, 0, 0
	for i, method := range methods {
		if !*allMutations && i%10 != 3 {
			continue
		}
		kind, on := kinds[i%len(kinds)], [][]string{everywhere, {"alpha"}}[i%2]
		apptest.Run(t, func(t *testing.T, w *apptest.World) {
			w.Env["NODES"], w.Env["OBSERVERS"] = apptest.URLs("alpha", "bravo", "foxtrot"), "observer=http://observer.sim"
			w.Env["COLLECTORS"] = "+admin"
			m := &mutatedTransport{RoundTripper: w.Transport, nodes: on, status: kind.status, body: kind.body}
			w.Transport = m
			w.Notify(t)
			w.Start(t)
			time.Sleep(15 * time.Minute)
			families := func() map[string]bool {
				found := map[string]bool{}
				for series := range w.Samples(t) {
					name, labels, _ := strings.Cut(series, "{")
					if len(read[name]) == 0 {
						continue
					}
					of := ""
					for _, node := range everywhere {
						if strings.Contains(labels, `node="`+node+`"`) {
							of = node
						}
					}
					found[name+" "+of] = true
				}
				return found
			}
			before := families()
			calm := alertNames(t, w)
			m.method = method
			ran++
			for _, after := range []time.Duration{20 * time.Minute, time.Hour} { // a collector of nodes runs at least every five minutes, apart from a few
				time.Sleep(after)
				var missing []string
				firing := w.Alerts(t)
				now := families()
				for family := range before {
					name, node, _ := strings.Cut(family, " ")
					if now[family] {
						continue
					}
					isTold := slices.ContainsFunc(firing, func(a apptest.Alert) bool {
						target := a.Labels["target"]
						return a.Labels["alertname"] == "AvaxDataTooOld" && a.Labels["collector"] == owner[name] &&
							(node == "" || target == node || strings.HasPrefix(target, node+"/") || !strings.Contains(target, "/"))
					}) || slices.ContainsFunc(firing, func(a apptest.Alert) bool { // an alert about the cause, with another page
						return !slices.Contains(calm, a.Labels["alertname"]) && a.Labels["severity"] != "info"
					})
					if isTold {
						told++
					} else {
						missing = append(missing, family)
					}
				}
				works += len(before) - len(missing)
				if slices.Sort(missing); len(missing) > 0 {
					t.Errorf("%s: %s on %s: after %v, nothing says that these are missing: %q", method, kind.name, strings.Join(on, ", "), after, missing)
				}
			}
		})
	}
	t.Logf("%d cases: %d families continue, %d are told", ran, works, told)
}

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
				_, _ = io.WriteString(w, refusal)
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
