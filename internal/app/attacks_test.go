package app_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// numbers returns a lie about every number and time: this number, and this time.
func numbers(number, at string) func(any) any {
	return func(v any) any {
		switch v := v.(type) {
		case json.Number:
			if json.Valid([]byte(number)) {
				return json.RawMessage(number)
			}
			return number
		case string:
			if _, err := time.Parse(time.RFC3339, v); err == nil {
				return at
			}
			if _, err := strconv.ParseFloat(v, 64); err == nil {
				return number
			}
			if strings.HasPrefix(v, "0x") && len(v) <= 18 {
				return number
			}
		}
		return v
	}
}

// texts returns a lie about every text that is no number and no time.
func texts(text string) func(any) any {
	return func(v any) any {
		old, is := v.(string)
		_, noNumber := strconv.ParseFloat(old, 64)
		if _, noTime := time.Parse(time.RFC3339, old); is && noNumber != nil && noTime != nil && !strings.HasPrefix(old, "0x") {
			return text
		}
		return v
	}
}

// claiming changes the node ID of liars. Their EVM chains answer with this status.
func claiming(network http.RoundTripper, liars []string, id string, status int) http.RoundTripper {
	return wiretest.Between(network, func(c *wiretest.Call) (*http.Response, error) {
		switch {
		case !slices.Contains(liars, c.Upstream):
		case c.Method == "info.getNodeID":
			return c.Changed(func(answer map[string]any) {
				if result, is := answer["result"].(map[string]any); is {
					result["nodeID"] = id
				}
			})
		case strings.HasPrefix(c.URL.Path, "/ext/bc/") && c.URL.Path != "/ext/bc/P" && c.URL.Path != "/ext/bc/X":
			return wiretest.Reply(status, "")
		}
		return c.Ask()
	})
}

// One of three nodes, two of five, or an observer tell a story that fits together, or write numbers and times that no node has: about the network, about
// themselves and about others.
func TestStrangeLiesDecideNothing(t *testing.T) {
	testworld.Full(t)
	all := []string{"alpha", "bravo", "charlie", "echo", "foxtrot"}
	soon := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	everywhere := func(result map[string]any, change func(m map[string]any)) {
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case []any:
				for _, one := range v {
					walk(one)
				}
			case map[string]any:
				change(v)
				for _, one := range v {
					walk(one)
				}
			}
		}
		walk(result)
	}
	field := func(method, name string, value func(old any) any) lie {
		return lie{method, func(result map[string]any, _ string) {
			everywhere(result, func(m map[string]any) {
				if old, is := m[name]; is {
					m[name] = value(old)
				}
			})
		}}
	}
	is := func(v any) func(any) any { return func(any) any { return v } }
	type attack struct {
		name  string
		lies  func(w *apptest.World) []lie
		say   func(any) any // about every fourth field, from this one on
		from  int
		other func(w *apptest.World, liars []string) http.RoundTripper
		pages []string // about others than the liars, which are true
	}
	attacks := []attack{
		{name: "upgrade times: long ago, soon", lies: func(*apptest.World) []lie {
			return []lie{{"info.upgrades", func(result map[string]any, _ string) {
				for name, v := range result {
					if text, is := v.(string); is {
						if _, err := time.Parse(time.RFC3339, text); err == nil {
							result[name] = soon(30 * time.Minute)
						}
					}
				}
				result["inventedTime"] = soon(10 * time.Minute)
			}}}
		}},
		{name: "network ID", lies: func(*apptest.World) []lie { return []lie{field("info.getNetworkID", "networkID", is("1"))} }},
		{name: "versions", lies: func(*apptest.World) []lie {
			return []lie{field("info.getNodeVersion", "version", is("avalanchego/99.99.99")), field("info.getNodeVersion", "rpcProtocolVersion", is("999")),
				field("info.peers", "version", is("avalanchego/99.99.99"))}
		}},
		{name: "timestamps behind", lies: func(*apptest.World) []lie {
			return []lie{field("eth_getBlockByNumber", "timestamp", is("0x5f5e1000")), field("platform.getTimestamp", "timestamp", is("2021-01-01T00:00:00Z")),
				field("platform.getBlock", "time", is(1600000000))}
		}},
		{name: "timestamps ahead", lies: func(*apptest.World) []lie {
			return []lie{field("eth_getBlockByNumber", "timestamp", is(fmt.Sprintf("%#x", time.Now().Add(time.Hour).Unix()))),
				field("platform.getTimestamp", "timestamp", is(soon(time.Hour))), field("platform.getBlock", "time", is(time.Now().Add(time.Hour).Unix()))}
		}},
		{name: "min stake and fees", lies: func(*apptest.World) []lie {
			return []lie{field("platform.getMinStake", "minValidatorStake", is("18446744073709551615")), field("platform.getMinStake", "minDelegatorStake", is("0")),
				field("platform.getValidatorFeeState", "price", is("0")), field("platform.getFeeState", "price", is("0")),
				field("platform.getValidatorFeeConfig", "minPrice", is("18446744073709551615"))}
		}},
		{name: "validators end, vanish, change weight", lies: func(*apptest.World) []lie {
			return []lie{field("platform.getCurrentValidators", "endTime", is(fmt.Sprint(time.Now().Add(time.Hour).Unix()))),
				field("platform.getCurrentValidators", "weight", is("1")), field("platform.getCurrentValidators", "stakeAmount", is("1"))}
		}},
		{name: "nobody is connected", lies: func(*apptest.World) []lie {
			return []lie{field("platform.getCurrentValidators", "connected", is(false)), field("platform.getCurrentValidators", "uptime", is("0.0000")),
				field("validators.getCurrentValidators", "isConnected", is(false)), field("validators.getCurrentValidators", "uptimePercentage", is(0)),
				field("info.peers", "observedUptime", is("1"))}
		}},
		{name: "everybody is connected", lies: func(*apptest.World) []lie {
			return []lie{field("platform.getCurrentValidators", "connected", is(true)), field("platform.getCurrentValidators", "uptime", is("100.0000")),
				field("validators.getCurrentValidators", "isConnected", is(true)), field("validators.getCurrentValidators", "isActive", is(true)),
				field("info.peers", "observedUptime", is("100"))}
		}},
		{name: "another genesis", lies: func(w *apptest.World) []lie {
			return []lie{field("eth_getBlockByNumber", "hash", is("0x"+strings.Repeat("ab", 32))),
				field("eth_getBlockByNumber", "parentHash", is("0x"+strings.Repeat("cd", 32))),
				{"platform.getBlockchains", func(result map[string]any, _ string) { result["blockchains"] = []any{} }},
				field("platform.getCurrentValidators", "nodeID", func(any) any { return w.NewNodeID(7) }),
				field("platform.getSubnet", "controlKeys", is([]any{}))}
		}},
		{name: "another story each minute", other: func(w *apptest.World, liars []string) http.RoundTripper {
			network := w.Transport
			return wiretest.Between(network, func(c *wiretest.Call) (*http.Response, error) {
				random := rand.New(rand.NewPCG(uint64(time.Now().Unix()/60), 3))
				return lying(network, liars, falsehoods(random, w.NewNodeID(random.IntN(50)))).RoundTrip(c.Request)
			})
		}},
		{name: "invented L1s", other: func(w *apptest.World, liars []string) http.RoundTripper {
			w.Env["CHAINS"] = "C,auto"
			var on atomic.Bool
			on.Store(true)
			for _, liar := range liars {
				w.Transport = inventing(w, liar, 50, &on)
			}
			return w.Transport
		}},
		{name: "the node ID of another", lies: func(w *apptest.World) []lie {
			id := w.Network.NodeID("charlie")
			return []lie{field("info.getNodeID", "nodeID", is(id))}
		}, pages: []string{"AvaxNodeIdentityChanged charlie"}}, // only one of two nodes with one ID may run
		{name: "the node ID of another, whose chains do not answer", other: func(w *apptest.World, liars []string) http.RoundTripper {
			return claiming(w.Transport, liars, w.Network.NodeID("charlie"), http.StatusServiceUnavailable)
		}, pages: []string{"AvaxNodeIdentityChanged charlie"}},
		{name: "the node ID of another, without its chains", other: func(w *apptest.World, liars []string) http.RoundTripper {
			return claiming(w.Transport, liars, w.Network.NodeID("charlie"), http.StatusNotFound)
		}, pages: []string{"AvaxNodeIdentityChanged charlie"}},
		{name: "answers after 4 s", other: func(w *apptest.World, liars []string) http.RoundTripper {
			began := time.Now()
			return wiretest.Between(w.Transport, func(c *wiretest.Call) (*http.Response, error) {
				if slices.Contains(liars, c.Upstream) && time.Since(began) > 2*time.Minute {
					select {
					case <-time.After(4 * time.Second):
					case <-c.Context().Done():
						return nil, c.Context().Err()
					}
				}
				return c.Ask()
			})
		}},
		{name: "too many requests, for ten years", other: func(w *apptest.World, liars []string) http.RoundTripper {
			return wiretest.Between(w.Transport, func(c *wiretest.Call) (*http.Response, error) {
				if !slices.Contains(liars, c.Upstream) {
					return c.Ask()
				}
				r, err := wiretest.Reply(http.StatusTooManyRequests, "")
				r.Header = http.Header{"Retry-After": {"315360000"}}
				return r, err
			})
		}},
		{name: "lists are empty", other: func(w *apptest.World, liars []string) http.RoundTripper {
			return wiretest.Between(w.Transport, func(c *wiretest.Call) (*http.Response, error) {
				if !slices.Contains(liars, c.Upstream) {
					return c.Ask()
				}
				return c.Changed(func(answer map[string]any) {
					everywhere(answer, func(m map[string]any) {
						for name, v := range m {
							if _, is := v.([]any); is {
								m[name] = []any{}
							}
						}
					})
				})
			})
		}},
		{name: "texts are empty", say: texts("")},
		{name: "texts are long, and markup", say: texts(strings.Repeat("<b>*a*</b>\u202e\x1b[31m", 500)), from: 1},
		{name: "the BLS key of another", lies: func(*apptest.World) []lie {
			key := "0x" + strings.Repeat("8a", 48)
			return []lie{field("info.getNodeID", "publicKey", is(key)), field("platform.getCurrentValidators", "publicKey", is(key)),
				field("platform.getValidatorsAt", "publicKey", is(key)), field("validators.getCurrentValidators", "publicKey", is(key))}
		}},
		{name: "bootstrapping, unhealthy, uptime 0", lies: func(*apptest.World) []lie {
			return []lie{field("info.isBootstrapped", "isBootstrapped", is(false)), field("info.uptime", "rewardingStakePercentage", is("0")),
				field("info.uptime", "weightedAveragePercentage", is("0"))}
		}},
		{name: "one chain less, one subnet for all", lies: func(w *apptest.World) []lie {
			return []lie{{"platform.getBlockchains", func(result map[string]any, _ string) {
				if list, _ := result["blockchains"].([]any); len(list) > 0 {
					result["blockchains"] = list[:len(list)-1]
				}
			}}, field("platform.getBlockchains", "subnetID", is(w.NewID(9)))}
		}},
		{name: "epochs and proposers", lies: func(*apptest.World) []lie {
			return []lie{field("proposervm.getCurrentEpoch", "number", is("999999")), field("proposervm.getCurrentEpoch", "pChainHeight", is("0")),
				field("proposervm.getCurrentEpoch", "startTime", is("0")), field("proposervm.getProposedHeight", "height", is("99999999"))}
		}},
		{name: "quorum: weight 0 and active", lies: func(*apptest.World) []lie {
			return []lie{field("validators.getCurrentValidators", "weight", is(0)), field("platform.getL1Validator", "weight", is("0")),
				field("platform.getL1Validator", "balance", is("0")),
				field("platform.getCurrentValidators", "balance", is("0")), field("validators.getCurrentValidators", "isActive", is(false))}
		}},
		{name: "weights whose sum has more than 64 bits", lies: func(*apptest.World) []lie {
			return []lie{field("validators.getCurrentValidators", "weight", is(json.Number("9223372036854775809"))),
				field("platform.getCurrentValidators", "weight", is("9223372036854775809")), field("platform.getValidatorsAt", "weight", is("9223372036854775809"))}
		}},
		{name: "each validator of an L1 twice, with another weight", lies: func(*apptest.World) []lie {
			twice := func(result map[string]any, _ string) {
				all, _ := result["validators"].([]any)
				for _, v := range slices.Clone(all) {
					second := maps.Clone(v.(map[string]any))
					second["weight"], second["isActive"], second["isConnected"] = json.Number("1000000"), true, false
					all = append(all, second)
				}
				result["validators"] = all
			}
			return []lie{{"validators.getCurrentValidators", twice}, {"platform.getCurrentValidators", twice}}
		}},
		{name: "thousands of peers, with one ID and with others", lies: func(w *apptest.World) []lie {
			return []lie{{"info.peers", func(result map[string]any, _ string) {
				all, _ := result["peers"].([]any)
				for i := range 5000 * min(1, len(all)) {
					peer := maps.Clone(all[0].(map[string]any))
					peer["nodeID"], peer["version"] = w.NewNodeID(i/2), fmt.Sprint("avalanchego/1.", i, ".0")
					peer["observedUptime"], peer["trackedSubnets"] = "18446744073709551615", []any{w.NewID(i)}
					all = append(all, peer)
				}
				result["peers"], result["numPeers"] = all, "-1"
			}}}
		}},
		{name: "heads in turn ahead, at 0, and at the same block for ever", lies: func(*apptest.World) []lie {
			began := time.Now()
			head := func(old any) any {
				switch time.Since(began) / time.Minute % 3 {
				case 0:
					return later(old, 500)
				case 1:
					return "0x0"
				}
				return "0x10"
			}
			decimal := func(old any) any {
				n, err := strconv.ParseUint(head(fmt.Sprint("0x", old)).(string)[2:], 16, 64)
				if err != nil {
					return old
				}
				return fmt.Sprint(n)
			}
			return []lie{field("eth_getBlockByNumber", "number", head), field("platform.getHeight", "height", decimal), field("avm.getHeight", "height", decimal)}
		}},
		{name: "answers to users, which the collector rpc compares", other: func(w *apptest.World, liars []string) http.RoundTripper {
			w.Env["COLLECTORS"] = "+rpc,+icm_chains"
			return wiretest.Between(w.Transport, func(c *wiretest.Call) (*http.Response, error) {
				if !slices.Contains(liars, c.Upstream) || !slices.Contains([]string{"eth_getBalance", "eth_getLogs", "eth_getBlockReceipts"}, c.Method) {
					return c.Ask()
				}
				return c.Changed(func(answer map[string]any) {
					switch v := answer["result"].(type) {
					case string:
						answer["result"] = "0x" + strings.Repeat("f", 64)
					case []any:
						answer["result"] = slices.Repeat(v, 3)
					}
				})
			})
		}, pages: []string{"AvaxRPCBudgetBurn C", "AvaxRPCBudgetBurn examplel1"}}, // users of the chain do get these answers
		{name: "clocks: health checks of the next year, that last for a century", other: func(w *apptest.World, liars []string) http.RoundTripper {
			return wiretest.Between(w.Transport, func(c *wiretest.Call) (*http.Response, error) {
				if !slices.Contains(liars, c.Upstream) {
					return c.Ask()
				}
				r, err := c.Changed(func(answer map[string]any) {
					everywhere(answer, func(m map[string]any) {
						for _, name := range []string{"timestamp", "timeOfFirstFailure"} {
							if text, is := m[name].(string); is && strings.Contains(text, "T") {
								m[name] = soon(365 * day)
							}
						}
						if m["duration"] != nil {
							m["duration"] = json.Number("3155760000000000000")
						}
						if m["contiguousFailures"] != nil {
							m["contiguousFailures"] = json.Number("9223372036854775807")
						}
					})
				})
				if err == nil {
					if r.Header == nil {
						r.Header = http.Header{}
					}
					r.Header.Set("Date", time.Now().Add(-365*day).UTC().Format(http.TimeFormat))
				}
				return r, err
			})
		}},
		{name: "-1", say: numbers("-1", "0000-01-01T00:00:00Z")},
		{name: "1e400", say: numbers("1e400", "9999-12-31T23:59:59Z")},
		{name: "0", say: numbers("0", "0001-01-01T00:00:00Z")},
		{name: "2^63", say: numbers("9223372036854775808", "9999-12-31T23:59:59.999999999+14:00")},
		{name: "2^40", say: numbers("1099511627776", "2038-01-19T03:14:07Z")},
		{name: "a fraction", say: numbers("0.5", "1970-01-01T00:00:00-12:00")},
		{name: "2^64-1, of other fields", say: numbers("18446744073709551615", "+292277026596-12-04T15:30:07Z"), from: 1},
		{name: "0xff…, of other fields", say: numbers("0xffffffffffffffff", "1600-02-29T23:59:60Z"), from: 2},
		{name: "30 digits, of other fields", say: numbers("999999999999999999999999999999", "2026-13-45T25:61:61Z"), from: 3},
	}
	for _, c := range []liarRow{
		{"two of five", 5, all, all[:2]},
		{"one of three", 4, all[:3], all[:1]},
		{"an observer", 11, all[:3], []string{"observer"}},
	} {
		truth, _ := c.truth(t)
		for _, a := range attacks {
			t.Run(c.name+"/"+a.name, func(t *testing.T) {
				t.Parallel()
				got := c.lived(t, func(w *apptest.World) http.RoundTripper {
					switch {
					case a.other != nil:
						return a.other(w, c.liars)
					case a.lies != nil:
						return lying(w.Transport, c.liars, a.lies(w))
					}
					return &fieldLies{RoundTripper: w.Transport, liars: c.liars, invented: w.NewNodeID(1), say: a.say, chosen: func(method, path string) bool {
						return (len(method)+len(path))%4 == (1+a.from)%4 // so that each answer has some good fields
					}}
				})
				for _, page := range a.pages {
					delete(got.pages, page)
				}
				got.unlike(t, truth, c.liars)
			})
		}
	}
}

// The services write numbers and times that nothing has, one quarter of the fields at a time: no collector panics, no sample is infinite or no number, each
// node stays up, and no alert pages.
func TestStrangeNumbersOfServicesStayTheirs(t *testing.T) {
	testworld.Full(t)
	for name, say := range map[string]func(any) any{
		"-1":        numbers("-1", "0000-01-01T00:00:00Z"),
		"30 digits": numbers("999999999999999999999999999999", "2026-13-45T25:61:61Z"),
		"texts":     texts(strings.Repeat("<b>*a*</b>\u202e\x1b[31m", 500)),
	} {
		for quarter := range 4 {
			t.Run(fmt.Sprint(name, " ", quarter), func(t *testing.T) {
				t.Parallel()
				apptest.Run(t, func(t *testing.T, w *apptest.World) {
					w.Notify(t)
					w.WithData()
					w.Env["WATCH_ADDRESSES"] = "P-" + simnet.Owner + "," + simnet.Account
					lies := &fieldLies{RoundTripper: w.Transport, liars: []string{"data", "metrics"}, say: say, chosen: func(method, path string) bool {
						return (len(method)+len(path))%4 == quarter
					}}
					w.Transport = lies
					w.StartNow(t)
					for range 12 {
						time.Sleep(5 * time.Minute)
						for series, v := range w.Samples(t) {
							if math.IsInf(v, 0) && !strings.Contains(series, `_bucket{`) || math.IsNaN(v) && strings.HasPrefix(series, "avax_") {
								t.Errorf("%s %v", series, v)
							}
						}
					}
					s := w.Samples(t)
					for _, node := range []string{"alpha", "bravo"} {
						if s[`avax_node_up{node="`+node+`"}`] != 1 {
							t.Errorf("%s is down", node)
						}
					}
					if s["avax_exporter_collector_panics_total"] != 0 {
						t.Errorf("a collector panics:\n%s", w.Log.String())
					}
					for _, a := range w.Alerts(t) {
						if a.Labels["severity"] == "page" {
							t.Errorf("page: %v %v", a.Labels, a.Annotations)
						}
					}
				})
			})
		}
	}
}
