package ledger_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/ledger"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/simnet"
)

// avax is one AVAX in nAVAX.
const avax = 1_000_000_000

// lines sums the lines of a ledger by kind and validator, and counts the estimated lines by month.
type lines struct {
	sums      map[string]uint64 // by kind, validator, and month or empty
	estimated map[string]bool   // by validator and month
}

func sumsOf(payments []ledger.Payment) lines {
	l := lines{map[string]uint64{}, map[string]bool{}}
	for _, p := range payments {
		l.sums[p.Kind+" "+p.Node] += p.Amount.Uint64()
		l.sums[p.Kind+" "+p.Node+p.Time.Format(" 2006-01")] += p.Amount.Uint64()
		if p.Note() != "no price: the Data service has prices of rewards only" && p.IsCost() {
			l.estimated[p.Node+p.Time.Format(" 2006-01")] = true
		}
	}
	return l
}

// The fees of L1 validators equal what the network charged, to the nAVAX, for each validator and month: over top-ups, a balance that is
// used up, a refund, a new validator and a removed one. While the fee changes between two transactions, the sum is exact, and the months
// that share it say that they are estimated.
func TestLedgerEqualsTheFeesOfL1Validators(t *testing.T) { ledgerEqualsTheFees(t, "") }

// With the Metrics service, no month is estimated.
func TestLedgerEqualsTheFeesOfEachDay(t *testing.T) { ledgerEqualsTheFees(t, "http://metrics.sim") }

func ledgerEqualsTheFees(t *testing.T, metrics string) {
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		withNode(w)
		w.Env["METRICS_URL"] = metrics
		subnet := w.Chain("examplel1").SubnetID
		names := []string{"alpha", "bravo", "foxtrot", "charlie", "echo", "hotel"}
		began := time.Now().Add(-40 * 24 * time.Hour) // when the L1 was created
		day := func(days int) { time.Sleep(time.Duration(days)*24*time.Hour + 7*time.Second) }
		validation := map[string]string{}
		day(20)
		w.AddL1Validator("examplel1", "hotel", 10, 3*avax+1)
		for _, name := range names {
			validation[name] = w.ValidationID("examplel1", name)
		}
		day(13) // echo has used up its balance, and charlie
		w.TopUp("examplel1", "charlie", avax/3)
		day(40)
		w.TopUp("examplel1", "alpha", 7*avax+3)
		w.TopUp("examplel1", "bravo", 11*avax)
		day(9)
		w.SetBalance("examplel1", "foxtrot", 0)
		w.RemoveValidator("examplel1", "hotel")
		day(50)
		w.SetFeePrice(700)
		day(30)
		w.TopUp("examplel1", "alpha", 1)
		day(100)
		to := time.Now()
		ledgerOf := func(q ledger.Query) lines {
			t.Helper()
			payments := read(t, w, q)
			for i := range payments {
				if i > 0 && payments[i].Time.Before(payments[i-1].Time) {
					t.Errorf("%v after %v", payments[i].Time, payments[i-1].Time)
				}
			}
			return sumsOf(payments)
		}
		all := ledgerOf(ledger.Query{Selection: ledger.Selection{Subnets: []string{subnet}}, To: to.Add(time.Hour)})
		for _, name := range names {
			id := w.NodeID(name)
			truth := w.L1Fees(validation[name], began, to)
			// The service's newest balance is some seconds old.
			if got := all.sums["L1_FEE "+id]; got > truth || truth-got > 700*15 {
				t.Errorf("%s paid %d nAVAX, the ledger has %d", name, truth, got)
			}
			month := time.Date(began.Year(), began.Month(), 1, 0, 0, 0, 0, time.UTC)
			for ; month.AddDate(0, 1, 0).Before(to); month = month.AddDate(0, 1, 0) {
				key := id + month.Format(" 2006-01")
				truth, got := w.L1Fees(validation[name], month, month.AddDate(0, 1, 0)), all.sums["L1_FEE "+key]
				if got != truth && !all.estimated[key] {
					t.Errorf("%s %s: paid %d nAVAX, the ledger has %d", name, month.Format("2006-01"), truth, got)
				}
			}
		}
		if n := len(all.estimated); (n == 0) != (metrics != "") || n > 20 {
			t.Errorf("%d estimated months: %v", n, all.estimated)
		}
		for name, want := range map[string]uint64{"hotel": 3*avax + 1, "foxtrot": 2*avax + 40*86400*512} {
			id := w.NodeID(name)
			if got := all.sums["L1_FEE "+id] + all.sums["L1_REFUND "+id]; got != want || all.sums["L1_TOP_UP "+id] != want {
				t.Errorf("%s: topped up %d, fees and refunds %d, want %d", name, all.sums["L1_TOP_UP "+id], got, want)
			}
		}
		// A part of the time, one validator, and what an address paid.
		from, until := began.Add(50*24*time.Hour), began.Add(60*24*time.Hour)
		part := ledgerOf(ledger.Query{Selection: ledger.Selection{Nodes: []string{w.NodeID("bravo")}}, From: from, To: until})
		if got, want := part.sums["L1_FEE "+w.NodeID("bravo")], uint64(10*86400*512); got != want {
			t.Errorf("10 days cost %d nAVAX, want %d", got, want)
		}
		paid := ledgerOf(ledger.Query{Selection: ledger.Selection{Addresses: []string{"P-" + simnet.Owner}}, To: to})
		for _, name := range names {
			id := w.NodeID(name)
			if paid.sums["L1_TOP_UP "+id] != all.sums["L1_TOP_UP "+id] || paid.sums["L1_FEE "+id] != 0 {
				t.Errorf("%s: the address paid %d, want %d", name, paid.sums["L1_TOP_UP "+id], all.sums["L1_TOP_UP "+id])
			}
		}
		if new(big.Int).SetUint64(all.sums["L1_TOP_UP "+w.NodeID("alpha")]).Cmp(big.NewInt(17*avax+4+40*86400*512)) != 0 {
			t.Errorf("alpha was topped up by %d", all.sums["L1_TOP_UP "+w.NodeID("alpha")])
		}
	})
}
