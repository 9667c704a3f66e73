package app_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

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

// lived runs an exporter for half an hour in a network that a seed determines.
func lived(t *testing.T, seed uint64, own []string, liarsOf func(*apptest.World) http.RoundTripper) (o observed) {
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
		for minute := range 25 {
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
					o.pages[a.Labels["alertname"]+" "+a.Labels["node"]+a.Labels["chain"]] = true
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

// One of three or two of five nodes report invented facts. The answer to /safe-to-stop is never yes where it is not without the lies, and no
// alert pages about a node that does not lie.
func TestLiarsDecideNothing(t *testing.T) {
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
			truth := lived(t, seed, own, func(w *apptest.World) http.RoundTripper { return w.Transport })
			var told []string
			got := lived(t, seed, own, func(w *apptest.World) http.RoundTripper {
				lies := falsehoods(random, w.NewNodeID(1))
				for _, lie := range lies {
					told = append(told, lie.method)
				}
				return lying(w.Transport, liars, lies)
			})
			t.Logf("of %v, %v lie about %v", own, liars, told)
			for at, verdict := range got.verdicts {
				if strings.HasPrefix(verdict, "200") && !strings.HasPrefix(truth.verdicts[at], "200") {
					t.Errorf("%s: %s, but the truth is %s", at, verdict, truth.verdicts[at])
				}
			}
			for at, answer := range got.serving {
				if about := strings.Fields(at); !slices.Contains(liars, about[2]) && strings.HasPrefix(answer, "200") != strings.HasPrefix(truth.serving[at], "200") {
					t.Errorf("%s: %s, but the truth is %s", at, answer, truth.serving[at])
				}
			}
			for page := range got.pages {
				if about := strings.Fields(page); !truth.pages[page] &&
					!(len(about) > 1 && slices.ContainsFunc(liars, func(n string) bool { return strings.HasPrefix(about[1], n) })) {
					t.Errorf("false page: %s", page)
				}
			}
			for node := range got.blamed {
				if !slices.Contains(liars, node) {
					t.Errorf("%s does not lie, but counts as contradicted", node)
				}
			}
		})
	}
}
