package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/ledger"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/internal/testworld/wiretest"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// withNode configures the Data service, and the node alpha.
func withNode(w *apptest.World) {
	w.WithData()
	w.Env["NODES"] = apptest.URLs("alpha")
}

// read reads the ledger as a new process does.
func read(t *testing.T, w *apptest.World, q ledger.Query) []ledger.Payment {
	t.Helper()
	return must.Get(readThrough(t, w, w.Transport, q))(t)
}

func readThrough(t *testing.T, w *apptest.World, transport http.RoundTripper, q ledger.Query) ([]ledger.Payment, error) {
	t.Helper()
	cfg := must.Get(w.Env.Parse())(t)
	cfg.Transport = transport
	ups := must.Get(app.Upstreams(cfg))(t)
	return ledger.Read(t.Context(), ups, q)
}

// damaging makes the stake of one reward malformed.
func damaging(network http.RoundTripper) http.RoundTripper {
	return wiretest.Between(network, func(c *wiretest.Call) (*http.Response, error) {
		if !strings.HasSuffix(c.URL.Path, "/rewards") {
			return c.Ask()
		}
		return c.Rewritten(func(text []byte) []byte {
			var page struct{ HistoricalRewards []struct{ UTXOID string } }
			if json.Unmarshal(text, &page) != nil || len(page.HistoricalRewards) == 0 {
				return text
			}
			least := slices.MinFunc(page.HistoricalRewards, func(a, b struct{ UTXOID string }) int { return strings.Compare(a.UTXOID, b.UTXOID) })
			at := bytes.Index(text, []byte(`"utxoId":"`+least.UTXOID+`"`))
			from := bytes.LastIndex(text[:at], []byte(`"amountStaked":"`)) + len(`"amountStaked":"`)
			return slices.Concat(text[:from], []byte("x"), text[from:])
		})
	})
}

// A malformed reward is named, and all other rewards are there.
func TestMalformedRewardLeavesTheOtherRewards(t *testing.T) {
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		withNode(w)
		q := ledger.Query{Selection: ledger.Selection{Nodes: []string{w.NodeID("alpha")}}, To: time.Now()}
		all := read(t, w, q)
		if len(all) == 0 {
			t.Fatal("no rewards")
		}
		rest, err := readThrough(t, w, damaging(w.Transport), q)
		var incomplete *ledger.IncompleteError
		if !errors.As(err, &incomplete) || len(incomplete.Lines) == 0 || !strings.Contains(incomplete.Lines[0], "one item: utxoId ") {
			t.Errorf("error: %v", err)
		}
		if len(rest) != len(all)-1 {
			t.Errorf("%d payments of %d", len(rest), len(all))
		}
	})
}

func jsonOf(t *testing.T, payments []ledger.Payment) string {
	t.Helper()
	text := must.Get(json.Marshal(payments))(t)
	return string(text)
}

// A ledger without a selection has the costs of the L1s that the nodes track. A node that was never a validator, and a subnet without L1 validators,
// make it no less complete.
func TestLedgerOfTheConfigurationIsComplete(t *testing.T) {
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.WithData()
		w.Env["NODES"], w.Env["CHAINS"] = apptest.URLs("alpha", "bravo"), "C,examplepoa="+w.Chain("examplepoa").ID+",auto"
		time.Sleep(40 * 24 * time.Hour)
		noValidator := wiretest.Between(w.Transport, func(c *wiretest.Call) (*http.Response, error) {
			if !strings.HasPrefix(c.URL.Host, "bravo") {
				return c.Ask()
			}
			return c.Rewritten(func(text []byte) []byte {
				return bytes.ReplaceAll(text, []byte(w.NodeID("bravo")), []byte(id("NodeID-", 99)))
			})
		})
		fees := map[string]bool{}
		for _, p := range must.Get(readThrough(t, w, noValidator, ledger.Query{Currency: "usd", Auto: true}))(t) {
			if p.Kind == ledger.L1Fee {
				fees[p.Node] = true
			}
		}
		if len(fees) < 3 {
			t.Errorf("fees of %d L1 validators, want those of all", len(fees))
		}
	})
}

// The ledger of a year equals what was paid, to the nAVAX, by node and by address. The service lists some payments with a wrong amount
// and corrects them later. A payment of the last day has no price yet, and says so.
func TestLedgerEqualsWhatWasPaid(t *testing.T) {
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		withNode(w)
		year := time.Now()
		want, paid := new(big.Int), 0
		pay := func(amount uint64) {
			w.PayReward("foxtrot", data.RewardDelegator, amount)
			want.Add(want, new(big.Int).SetUint64(amount))
			paid++
		}
		rewards := func(q ledger.Query) []ledger.Payment {
			q.From, q.To, q.Currency = year, time.Now(), "usd"
			return slices.DeleteFunc(read(t, w, q), ledger.Payment.IsCost)
		}
		for day := range 365 {
			pay(1_000_000_007 + uint64(day)*9_007_199_254_741) // a float64 cannot hold the sum
			time.Sleep(24 * time.Hour)
		}
		time.Sleep(48 * time.Hour)
		pay(3)
		time.Sleep(time.Minute)
		byNode := rewards(ledger.Query{Selection: ledger.Selection{Nodes: []string{w.NodeID("foxtrot")}}})
		got := new(big.Int)
		for i, p := range byNode {
			got.Add(got, p.Amount)
			if i > 0 && p.Time.Before(byNode[i-1].Time) {
				t.Errorf("%v after %v", p.Time, byNode[i-1].Time)
			}
			if last := i == len(byNode)-1; (p.Price == nil) != last || (p.ValueHundredth == nil) != last || strings.Contains(p.Note(), "no price yet") != last {
				t.Errorf("payment %d: note %q, value %v", i, p.Note(), p.ValueHundredth)
			}
			if p.Addresses[0] != simnet.Owner {
				t.Errorf("paid to %v", p.Addresses)
			}
		}
		if got.Cmp(want) != 0 || len(byNode) != paid {
			t.Errorf("%d payments of %v nAVAX, want %d of %v", len(byNode), got, paid, want)
		}
		ofNode := slices.DeleteFunc(rewards(ledger.Query{Selection: ledger.Selection{Addresses: []string{"P-" + simnet.Owner}}}),
			func(p ledger.Payment) bool { return p.Node != w.NodeID("foxtrot") })
		for i := range byNode { // whose they are depends on the selection
			byNode[i].Owner, byNode[i].Own = ledger.OwnerSelf, byNode[i].Amount
		}
		if x, y := jsonOf(t, ofNode), jsonOf(t, byNode); x != y {
			t.Errorf("%d payments by address, %d by node", len(ofNode), len(byNode))
		}
	})
}

// An auto-renewed validator stakes a part of each reward again. The ledger shows this part, and counts it when the validator leaves and
// gets it.
func TestLedgerShowsRestakedRewards(t *testing.T) {
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		withNode(w)
		began := time.Now()
		time.Sleep(40 * 24 * time.Hour)
		w.SetNextPeriod("golf", 0)
		time.Sleep(14 * 24 * time.Hour)
		payments := read(t, w, ledger.Query{Selection: ledger.Selection{Nodes: []string{w.NodeID("golf")}}, From: began, To: time.Now()})
		sums, last := map[string]uint64{}, uint64(0)
		for _, p := range payments {
			if sums[p.Kind] += p.Amount.Uint64(); p.Kind == data.RewardValidator {
				last = p.Amount.Uint64()
			}
		}
		if restaked := sums[ledger.Restaked]; restaked == 0 || last < restaked {
			t.Errorf("restaked %d nAVAX, and paid %d at the end", restaked, last)
		}
	})
}
