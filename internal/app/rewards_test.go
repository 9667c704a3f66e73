package app_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/app"
	"github.com/avax-exporter/avax-exporter/internal/simnet"
	"github.com/avax-exporter/avax-exporter/internal/testworld/apptest"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// The ledger of a year equals what was paid, to the nAVAX. A payment of the last day has no price yet, and says so.
func TestLedgerEqualsWhatWasPaid(t *testing.T) {
	apptest.Run(t, func(t *testing.T, w *apptest.World) {
		w.Env["DATA_URL"], w.Env["NETWORK"] = "http://data.sim", "mainnet"
		cfg, err := w.Env.Parse()
		if err != nil {
			t.Fatal(err)
		}
		cfg.Transport = w.Transport
		year := time.Now()
		want, paid := new(big.Int), 0
		pay := func(amount uint64) {
			w.PayReward("foxtrot", data.RewardDelegator, amount)
			want.Add(want, new(big.Int).SetUint64(amount))
			paid++
		}
		for day := range 365 {
			pay(1_000_000_007 + uint64(day)*9_007_199_254_741) // a float64 cannot hold the sum
			time.Sleep(24 * time.Hour)
		}
		time.Sleep(48 * time.Hour)
		pay(3)
		time.Sleep(time.Minute)
		payments, err := app.Rewards(t.Context(), cfg, app.RewardQuery{Nodes: []string{w.NodeID("foxtrot")}, From: year, To: time.Now(), Currency: "usd"})
		if err != nil {
			t.Fatal(err)
		}
		got := new(big.Int)
		for i, p := range payments {
			got.Add(got, p.Amount)
			if i > 0 && p.Time.Before(payments[i-1].Time) {
				t.Errorf("%v after %v", p.Time, payments[i-1].Time)
			}
			if last := i == len(payments)-1; (p.Note() != "") != last || (p.Hundredths == nil) != last {
				t.Errorf("payment %d: note %q, value %v", i, p.Note(), p.Hundredths)
			}
			if p.Addresses[0] != simnet.Owner {
				t.Errorf("paid to %v", p.Addresses)
			}
		}
		if got.Cmp(want) != 0 || len(payments) != paid {
			t.Errorf("%d payments of %v nAVAX, want %d of %v", len(payments), got, paid, want)
		}
	})
}
