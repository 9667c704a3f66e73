package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/ledger"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// lies are values in place of every number, time and text of an answer.
var lies = map[string]struct{ number, at, text string }{
	"negative":        {"-1", "0000-01-01T00:00:00Z", ""},
	"nothing":         {"0", "0001-01-01T00:00:00Z", "0x"},
	"2^63":            {"9223372036854775808", "9999-12-31T23:59:59.999999999+14:00", strings.Repeat("9", 5000)},
	"2^64-1":          {"18446744073709551615", "2262-04-11T23:47:16.854775807Z", "11111111111111111111111111111111LpoYY"},
	"thirty digits":   {"999999999999999999999999999999", "2026-13-45T25:61:61Z", "<b>\u202e\x1b[31m"},
	"a small integer": {"7", "1970-01-01T00:00:00-12:00", "AVAX"},
	"a fraction":      {"0.5", "1600-02-29T23:59:60Z", "0xzz"},
}

// Nodes and services write numbers, times and texts that nothing has, a quarter of the fields at a time: the ledger ends after few calls, with payments or an
// error of short lines. No amount is negative.
func TestLedgerEndsWhateverIsAnswered(t *testing.T) {
	testworld.Full(t)
	for name, lie := range lies {
		for _, liar := range []string{"alpha", "data", "metrics"} {
			for quarter := range 4 {
				t.Run(fmt.Sprint(name, " ", liar, " ", quarter), func(t *testing.T) {
					t.Parallel()
					apptest.Run(t, func(t *testing.T, w *apptest.World) {
						withNode(w)
						w.Env["METRICS_URL"] = "http://metrics.sim"
						w.Env["CHAINS"] = "C,examplel1=" + w.Chain("examplel1").ID
						w.Env["WATCH_ADDRESSES"] = "P-" + simnet.Owner
						time.Sleep(40 * 24 * time.Hour)
						var change func(path string, v any) any
						change = func(path string, v any) any {
							switch v := v.(type) {
							case []any:
								for i := range v {
									v[i] = change(path, v[i])
								}
								return v
							case map[string]any:
								for field := range v {
									v[field] = change(path+"."+field, v[field])
								}
								return v
							case json.Number:
								if len(path)%4 == quarter && json.Valid([]byte(lie.number)) {
									return json.RawMessage(lie.number)
								}
							case string:
								_, noNumber := strconv.ParseFloat(v, 64)
								_, noTime := time.Parse(time.RFC3339, v)
								switch {
								case len(path)%4 != quarter:
								case noNumber == nil:
									return lie.number
								case noTime == nil:
									return lie.at
								default:
									return lie.text
								}
							}
							return v
						}
						var calls atomic.Int64
						lying := wiretest.Between(w.Transport, func(c *wiretest.Call) (*http.Response, error) {
							calls.Add(1)
							if c.Upstream != liar {
								return c.Ask()
							}
							return c.Changed(func(answer map[string]any) {
								for field := range answer {
									if field != "jsonrpc" && field != "id" {
										answer[field] = change(field, answer[field])
									}
								}
							})
						})
						began := time.Now()
						payments, err := readThrough(t, w, lying, ledger.Query{Currency: "usd", Auto: true})
						for _, p := range payments {
							if p.Amount.Sign() < 0 || len(p.Note()) > 2000 {
								t.Errorf("%+v", p)
							}
							_ = p.ValueOf(p.Amount)
						}
						var incomplete *ledger.IncompleteError
						errors.As(err, &incomplete)
						for i := 0; incomplete != nil && i < len(incomplete.Lines); i++ {
							if line := incomplete.Lines[i]; len(line) > 1100 {
								t.Errorf("a line of %d bytes: %.200s", len(line), line)
							}
						}
						if took := time.Since(began); took > time.Hour || calls.Load() > 3000 {
							t.Errorf("%v, %d calls, %d payments, %v", took, calls.Load(), len(payments), err)
						}
					})
				})
			}
		}
	}
}

// A service whose lists never end, with the same page, an empty one or an invented one, does not hold the ledger forever: it says which list it is.
func TestLedgerEndsWithEndlessLists(t *testing.T) {
	for name, items := range map[string]func(item map[string]any, page int64) []any{
		"the same page": func(item map[string]any, _ int64) []any { return []any{item} },
		"an empty page": func(map[string]any, int64) []any { return []any{} },
		"invented items": func(item map[string]any, page int64) []any {
			item["utxoId"] = fmt.Sprint("utxo", page)
			return []any{item}
		},
	} {
		t.Run(name, func(t *testing.T) {
			apptest.Run(t, func(t *testing.T, w *apptest.World) {
				withNode(w)
				time.Sleep(40 * 24 * time.Hour)
				var calls atomic.Int64
				var first map[string]any
				endless := wiretest.Between(w.Transport, func(c *wiretest.Call) (*http.Response, error) {
					page := calls.Add(1)
					if c.Upstream != "data" || !strings.HasSuffix(c.URL.Path, "/rewards") {
						return c.Ask()
					}
					query := c.URL.Query()
					query.Del("pageToken")
					c.URL.RawQuery = query.Encode()
					return c.Changed(func(answer map[string]any) {
						if all, _ := answer["historicalRewards"].([]any); first == nil && len(all) > 0 {
							first = all[0].(map[string]any)
						}
						answer["historicalRewards"], answer["nextPageToken"] = items(maps.Clone(first), page), fmt.Sprint("page", page)
					})
				})
				q := ledger.Query{Selection: ledger.Selection{Nodes: []string{w.NodeID("alpha")}}}
				payments, err := readThrough(t, w, endless, q)
				var incomplete *ledger.IncompleteError
				if !errors.As(err, &incomplete) || !strings.Contains(err.Error(), "rewards") || calls.Load() > 5000 {
					t.Errorf("%d calls, %d payments, %.300v", calls.Load(), len(payments), err)
				}
			})
		})
	}
}
