package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// lie changes the result of a method. about is the subnet of the request, if it names one.
type lie struct {
	method string
	change func(result map[string]any, about string)
}

// lying changes the answers of some nodes: each is well-formed, and false.
func lying(network http.RoundTripper, liars []string, lies []lie) http.RoundTripper {
	return wiretest.Between(network, func(c *wiretest.Call) (*http.Response, error) {
		told := slices.DeleteFunc(slices.Clone(lies), func(l lie) bool { return l.method != c.Method })
		if len(told) == 0 || !slices.Contains(liars, c.Upstream) {
			return c.Ask()
		}
		about := ""
		if params, is := c.Params.(map[string]any); is {
			about, _ = params["subnetID"].(string)
		}
		return c.Changed(func(answer map[string]any) {
			if result, is := answer["result"].(map[string]any); is {
				for _, l := range told {
					l.change(result, about)
				}
			}
		})
	})
}

// eachItem changes every item of a list.
func eachItem(result map[string]any, list string, change func(item map[string]any)) {
	all, _ := result[list].([]any)
	for _, item := range all {
		change(item.(map[string]any))
	}
}

// later adds blocks to a height.
func later(height any, blocks int) any {
	text, _ := height.(string)
	n, err := strconv.ParseUint(text, 0, 64)
	switch {
	case err != nil:
		return height
	case strings.HasPrefix(text, "0x"):
		return fmt.Sprintf("%#x", n+uint64(blocks))
	}
	return fmt.Sprint(n + uint64(blocks))
}

// falsehoods are the lies of which each liar tells some.
func falsehoods(random *rand.Rand, invented string) (all []lie) {
	factor := random.IntN(100) + 2
	ahead := []int{1, 1_000_000}[random.IntN(2)]
	for _, l := range []lie{
		// The validator that only the liar lists as a peer has nine times the stake of all others.
		{"platform.getCurrentValidators", func(result map[string]any, about string) {
			validators, _ := result["validators"].([]any)
			if about != "" && about != "11111111111111111111111111111111LpoYY" || len(validators) == 0 {
				return
			}
			invention := map[string]any{}
			for k, v := range validators[0].(map[string]any) {
				invention[k] = v
			}
			invention["nodeID"], invention["weight"], invention["txID"], invention["connected"] = invented, "90000000000000000", "2kNizzX6MmKnhkQGQ8pQmTqqWyXcs5Vjxq1SPgX3KRTGqKTF6b", true
			result["validators"] = append(validators, invention)
		}},
		{"info.peers", func(result map[string]any, _ string) {
			peers, _ := result["peers"].([]any)
			if len(peers) == 0 {
				return
			}
			invention := map[string]any{}
			for k, v := range peers[0].(map[string]any) {
				invention[k] = v
			}
			invention["nodeID"] = invented
			result["peers"] = append(peers, invention)
		}},
		{"info.peers", func(result map[string]any, _ string) { result["peers"], result["numPeers"] = []any{}, "0" }},
		{"platform.getCurrentValidators", func(result map[string]any, _ string) {
			eachItem(result, "validators", func(v map[string]any) { v["weight"] = fmt.Sprint(v["weight"], "0") })
		}},
		{"platform.getCurrentValidators", func(result map[string]any, _ string) {
			if validators, _ := result["validators"].([]any); len(validators) > 1 {
				result["validators"] = validators[:len(validators)/2]
			}
		}},
		{"platform.getCurrentValidators", func(result map[string]any, _ string) {
			eachItem(result, "validators", func(v map[string]any) {
				if v["balance"] != nil {
					v["balance"] = "1000"
				}
			})
		}},
		{"validators.getCurrentValidators", func(result map[string]any, _ string) {
			eachItem(result, "validators", func(v map[string]any) { v["isConnected"], v["isActive"] = true, true })
		}},
		{"validators.getCurrentValidators", func(result map[string]any, _ string) { result["validators"] = []any{} }},
		{"platform.getCurrentSupply", func(result map[string]any, _ string) { result["supply"] = fmt.Sprint(factor, "000000000000") }},
		{"platform.getValidatorFeeState", func(result map[string]any, _ string) { result["price"] = fmt.Sprint(factor, "000000") }},
		{"platform.getBlockchains", func(result map[string]any, _ string) {
			eachItem(result, "blockchains", func(b map[string]any) { b["subnetID"] = "11111111111111111111111111111111LpoYY" })
		}},
		{"platform.getValidatorsAt", func(result map[string]any, _ string) { result["validators"] = map[string]any{} }},
		{"platform.getRewardUTXOs", func(result map[string]any, _ string) { result["utxos"], result["numFetched"] = []any{}, "0" }},
		{"platform.getSubnet", func(result map[string]any, _ string) { result["threshold"] = "7" }},
		{"platform.getHeight", func(result map[string]any, _ string) { result["height"] = later(result["height"], ahead) }},
		{"platform.getTimestamp", func(result map[string]any, _ string) {
			result["timestamp"] = time.Now().Add(20 * 24 * time.Hour).Format(time.RFC3339)
		}},
		{"avm.getHeight", func(result map[string]any, _ string) { result["height"] = later(result["height"], ahead) }},
		{"eth_getBlockByNumber", func(result map[string]any, _ string) { result["number"] = later(result["number"], ahead) }},
		{"eth_getBlockByNumber", func(result map[string]any, _ string) {
			result["timestamp"] = fmt.Sprintf("%#x", time.Now().Add(20*24*time.Hour).Unix())
		}},
		{"eth_feeConfig", func(result map[string]any, _ string) { result["lastChangedAt"] = factor }},
	} {
		if random.IntN(2) == 0 {
			all = append(all, l)
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// observed is what an exporter said during half an hour.
type observed struct {
	verdicts map[string]string // by minute and node
	serving  map[string]string // by minute, chain and node
	pages    map[string]bool   // alert and subject
	blamed   map[string]bool   // nodes that others contradict
}

// lived runs an exporter for five minutes and these minutes in a network that a seed determines.
func lived(t *testing.T, seed uint64, own []string, minutes int, liarsOf func(*apptest.World) http.RoundTripper) (o observed) {
	o = observed{map[string]string{}, map[string]string{}, map[string]bool{}, map[string]bool{}}
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		random := rand.New(rand.NewPCG(seed, 1))
		w.Notify(t)
		w.Use(simnet.New(simnet.Options{Seed: seed}), own...)
		w.Transport = liarsOf(w)
		w.Start(t)
		time.Sleep(3 * time.Minute)
		for _, name := range []string{"golf", "hotel", "delta", "echo"} {
			if random.IntN(3) == 0 && !slices.Contains(own, name) {
				w.Disconnect(name)
			}
		}
		time.Sleep(2 * time.Minute)
		for minute := range minutes {
			time.Sleep(time.Minute)
			for _, node := range own {
				status, reason := mayStop(t, w, node)
				o.verdicts[fmt.Sprint(minute, " ", node)] = fmt.Sprint(status, " ", reason)
				for _, chain := range []string{"P", "C"} {
					status, reason := w.Get(t, "/serving?node="+node+"&chain="+chain)
					o.serving[fmt.Sprint(minute, " ", chain, " ", node)] = fmt.Sprint(status, " ", reason)
				}
			}
			for _, a := range w.Alerts(t) {
				if a.Labels["severity"] == "page" {
					about := a.Labels["node"] + a.Labels["chain"]
					for _, n := range w.Nodes() {
						if about == "" && n.ID() == a.Labels["node_id"] {
							about = n.Name()
						}
					}
					o.pages[a.Labels["alertname"]+" "+about] = true
				}
			}
		}
		for series, v := range w.Samples(t) {
			if rest, is := strings.CutPrefix(series, `avax_node_contradicted{node="`); is && v == 1 {
				node, _, _ := strings.Cut(rest, `"`)
				o.blamed[node] = true
			}
		}
	})
	return o
}

// unlike compares what an exporter says with what it says in the same network without the lies. The answer to /safe-to-stop is never yes where it is not
// without the lies. No answer of /serving changes, no alert pages and nobody is contradicted about a node that does not lie.
func (o observed) unlike(t *testing.T, truth observed, liars []string) {
	t.Helper()
	for at, verdict := range o.verdicts {
		if strings.HasPrefix(verdict, "200") && !strings.HasPrefix(truth.verdicts[at], "200") {
			t.Errorf("%s: %s, but the truth is %s", at, verdict, truth.verdicts[at])
		}
	}
	for at, answer := range o.serving {
		if about := strings.Fields(at); !slices.Contains(liars, about[2]) && strings.HasPrefix(answer, "200") != strings.HasPrefix(truth.serving[at], "200") {
			t.Errorf("%s: %s, but the truth is %s", at, answer, truth.serving[at])
		}
	}
	for page := range o.pages {
		if about := strings.Fields(page); !truth.pages[page] &&
			!(len(about) > 1 && slices.ContainsFunc(liars, func(n string) bool { return strings.HasPrefix(about[1], n) })) {
			t.Errorf("false page: %s", page)
		}
	}
	for node := range o.blamed {
		if !slices.Contains(liars, node) {
			t.Errorf("%s does not lie, but counts as contradicted", node)
		}
	}
}

// One of three or two of five nodes report invented facts.
func TestLiarsDecideNothing(t *testing.T) {
	testworld.Story(t)
	all := []string{"alpha", "bravo", "charlie", "echo", "foxtrot"}
	seeds := 40
	if testing.Short() {
		seeds = 4
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 2))
			own, number := all, 2
			if seed%2 == 0 {
				own, number = slices.Clone(all), 1
				random.Shuffle(len(own), func(i, j int) { own[i], own[j] = own[j], own[i] })
				own = own[:3]
			}
			liars := own[:number] // first in the list
			if seed%4 >= 2 {
				liars = own[len(own)-number:]
			}
			truth := lived(t, seed, own, 25, func(w *apptest.World) http.RoundTripper { return w.Transport })
			var told []string
			got := lived(t, seed, own, 25, func(w *apptest.World) http.RoundTripper {
				lies := falsehoods(random, w.NewNodeID(1))
				for _, lie := range lies {
					told = append(told, lie.method)
				}
				return lying(w.Transport, liars, lies)
			})
			t.Logf("of %v, %v lie about %v", own, liars, told)
			got.unlike(t, truth, liars)
		})
	}
}

// fieldLies tells a lie about some fields of the answers of liars. Without a choice it learns the fields.
type fieldLies struct {
	http.RoundTripper
	liars    []string
	invented string // a node ID
	chosen   func(method, path string) bool
	say      func(v any) any // in place of falsehood; nil: a plausible value

	mu     sync.Mutex
	fields map[string]map[string]bool // by method
}

func (f *fieldLies) RoundTrip(r *http.Request) (*http.Response, error) {
	return wiretest.Between(f.RoundTripper, func(c *wiretest.Call) (*http.Response, error) {
		if !slices.Contains(f.liars, c.Upstream) {
			return c.Ask()
		}
		return c.Changed(func(answer map[string]any) {
			for name := range answer {
				if name != "jsonrpc" && name != "id" && name != "error" {
					answer[name] = f.lie(c.Method, name, answer[name])
				}
			}
		})
	}).RoundTrip(r)
}

// lie returns a value with lies about the chosen fields. Items of lists are one field, and so are members of objects whose keys are data, such as IDs.
func (f *fieldLies) lie(method, path string, v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = f.lie(method, path+".*", v[i])
		}
		return v
	case map[string]any:
		for name := range v {
			part := name
			if len(name) > 24 {
				part = "*"
			}
			v[name] = f.lie(method, path+"."+part, v[name])
		}
		return v
	case nil:
		return v
	}
	if f.chosen == nil {
		if method == "info.isBootstrapped" {
			return v // a node that says no does not run the chain, and the chain lacks it
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.fields[method] == nil {
			f.fields[method] = map[string]bool{}
		}
		f.fields[method][path] = true
		return v
	}
	if !f.chosen(method, path) {
		return v
	}
	if f.say != nil {
		return f.say(v)
	}
	return f.falsehood(v)
}

// falsehood returns another plausible value of the same form.
func (f *fieldLies) falsehood(v any) any {
	switch v := v.(type) {
	case bool:
		return !v
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n + 1_000_000
		}
		return v + "1"
	case string:
		at, err := time.Parse(time.RFC3339, v)
		switch n, isNumber := strconv.ParseUint(v, 10, 64); {
		case err == nil:
			return at.Add(20 * 24 * time.Hour).Format(time.RFC3339)
		case isNumber == nil:
			return fmt.Sprint(n + 1_000_000)
		case strings.HasPrefix(v, "0x") && len(v) <= 18:
			return later(v, 1_000_000)
		case strings.HasPrefix(v, "0x"):
			return v[:len(v)-2] + "ff"
		case strings.HasPrefix(v, "NodeID-"):
			return f.invented
		case len(v) > 40:
			return "2kNizzX6MmKnhkQGQ8pQmTqqWyXcs5Vjxq1SPgX3KRTGqKTF6b"
		}
		return v + "1"
	}
	return v
}

// liarRow is a network, in which nothing pages, and who lies in it.
type liarRow struct {
	name       string
	seed       uint64
	own, liars []string
}

func (c liarRow) lived(t *testing.T, through func(w *apptest.World) http.RoundTripper) observed {
	t.Helper()
	return lived(t, c.seed, c.own, 12, func(w *apptest.World) http.RoundTripper {
		w.Env["OBSERVERS"] = "observer=http://observer.sim"
		return through(w)
	})
}

// truth returns what the exporter reports without lies, and the fields of the answers of those who will lie.
func (c liarRow) truth(t *testing.T) (told observed, fields map[string]map[string]bool) {
	t.Helper()
	learned := &fieldLies{liars: c.liars, fields: map[string]map[string]bool{}}
	told = c.lived(t, func(w *apptest.World) http.RoundTripper {
		learned.RoundTripper = w.Transport
		return learned
	})
	if len(told.pages) > 0 {
		t.Fatalf("without lies: %v", told.pages)
	}
	return told, learned.fields
}

// One of three nodes, two of five, or an observer lies about each field of each method.
func TestLiesAboutOneFieldDecideNothing(t *testing.T) {
	testworld.Story(t)
	all := []string{"alpha", "bravo", "charlie", "echo", "foxtrot"}
	told := 0
	for row, c := range []liarRow{
		{"one of three", 4, all[:3], all[:1]},
		{"two of five", 5, all, all[3:]},
		{"an observer", 11, all[:3], []string{"observer"}},
	} {
		truth, learned := c.truth(t)
		for _, fields := range learned {
			told += len(fields)
		}
		const runs = 16 // each lies about one field of most methods
		for run := range runs {
			if testing.Short() && run != row+1 {
				continue
			}
			t.Run(fmt.Sprint(c.name, " ", run), func(t *testing.T) {
				t.Parallel()
				var lies []string
				for _, method := range slices.Sorted(maps.Keys(learned)) {
					for i, field := range slices.Sorted(maps.Keys(learned[method])) {
						if i%runs == run {
							lies = append(lies, method+" "+field)
						}
					}
				}
				got := c.lived(t, func(w *apptest.World) http.RoundTripper {
					return &fieldLies{RoundTripper: w.Transport, liars: c.liars, invented: w.NewNodeID(1), chosen: func(method, path string) bool {
						return slices.Contains(lies, method+" "+path)
					}}
				})
				if got.unlike(t, truth, c.liars); t.Failed() {
					t.Logf("lies: %q", lies)
				}
			})
		}
	}
	t.Logf("%d fields of answers in three rows", told)
}
