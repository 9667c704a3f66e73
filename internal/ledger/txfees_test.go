package ledger_test

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/ledger"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

// transaction is a transaction of the P-Chain. It consumes an output of each payer.
func transaction(n int, kind string, at time.Time, fee, locked uint64, payers ...string) map[string]any {
	avax := func(amount uint64) map[string]any {
		return map[string]any{"assetId": "a", "name": "Avalanche", "symbol": "AVAX", "denomination": 9, "type": "secp256k1", "amount": strconv.FormatUint(amount, 10)}
	}
	spent := uint64(7_000_000_000) + fee + locked
	var consumed []map[string]any
	for i, owner := range payers {
		part := spent / uint64(len(payers))
		if i == 0 {
			part += spent % uint64(len(payers))
		}
		consumed = append(consumed, map[string]any{"addresses": []string{owner}, "asset": avax(part)})
	}
	return map[string]any{
		"txHash": id("", 9_000_000+n), "txType": kind, "blockTimestamp": at.Unix(), "blockNumber": strconv.Itoa(1000 + n), "consumedUtxos": consumed,
		"emittedUtxos": []map[string]any{{"addresses": []string{testworld.Wallet("avax", 201)}, "asset": avax(7_000_000_000)}},
		"amountBurned": []map[string]any{avax(fee)}, "amountL1ValidatorBalanceBurned": []map[string]any{avax(locked)},
	}
}

// The fees of two years are those of the transactions that own addresses paid, to the nAVAX, whether or not the service counts what a transaction
// added to the balances of L1 validators as burned. A transaction that only pays to an own address has no line.
func TestFeesOfOwnTransactions(t *testing.T) {
	for _, together := range []bool{false, true} { // how amountBurned is meant
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(4 * 365 * 24 * time.Hour)
			random := rand.New(rand.NewPCG(5, 9))
			own, second, stranger := testworld.Wallet("avax", 1), testworld.Wallet("avax", 2), testworld.Wallet("avax", 3)
			s, want, shared := &service{}, map[string]uint64{}, 0
			kinds := []string{"ExportTx", "ImportTx", "AddPermissionlessDelegatorTx", "RegisterL1ValidatorTx", "IncreaseL1ValidatorBalanceTx"}
			for n := range 500 {
				at := time.Now().Add(-time.Duration(1+random.IntN(730*86400)) * time.Second)
				kind, fee, locked := kinds[n%len(kinds)], 1+random.Uint64N(1_000_000), uint64(0)
				if strings.Contains(kind, "L1") {
					locked = 1_000_000_000 + random.Uint64N(1_000_000_000)
				}
				payers := [][]string{{own}, {own, second}, {stranger}, {own, stranger}}[random.IntN(4)]
				tx := transaction(n, kind, at, fee, locked, payers...)
				if together && locked > 0 {
					tx["amountBurned"].([]map[string]any)[0]["amount"] = strconv.FormatUint(fee+locked, 10)
				}
				s.transactions = append(s.transactions, tx)
				switch {
				case !slices.Contains(payers, stranger):
					want[at.UTC().Format("2006-01")] += fee
				case slices.Contains(payers, own):
					shared++
				}
			}
			payments := must.Get(s.read(t, s.env(), ledger.Query{Selection: ledger.Selection{Addresses: []string{own, second}}}))(t)
			got := map[string]*big.Int{}
			for _, p := range payments {
				month := p.Time.Format("2006-01")
				switch {
				case p.Kind != ledger.TxFee || p.Owner == ledger.OwnerOthers:
					t.Errorf("line: %+v", p)
				case p.Owner == ledger.OwnerShared:
					if shared--; p.Own.Sign() != 0 || !strings.Contains(p.Note(), "addresses of others paid too") {
						t.Errorf("shared: %v of %v: %s", p.Own, p.Amount, p.Note())
					}
				case got[month] == nil:
					got[month] = new(big.Int).Set(p.Own)
				default:
					got[month].Add(got[month], p.Own)
				}
			}
			if len(got) != len(want) || shared != 0 {
				t.Errorf("%d months, want %d; %d shared lines are missing", len(got), len(want), shared)
			}
			for month, fee := range want {
				if got[month] == nil || got[month].Uint64() != fee {
					t.Errorf("together %v: %s: %v, want %d", together, month, got[month], fee)
				}
			}
		})
	}
}

// A fee that the answer does not tell is never guessed: it is a line "incomplete". An answer without amounts has no fee.
func TestUnclearFeesAreNotGuessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(4 * 365 * 24 * time.Hour)
		own := testworld.Wallet("avax", 1)
		unclear := transaction(1, "RegisterL1ValidatorTx", time.Now().Add(-time.Hour), 1_000, 1_000_000_000, own)
		unclear["emittedUtxos"] = []map[string]any{}
		silent := transaction(2, "ExportTx", time.Now().Add(-2*time.Hour), 1_000, 0, own)
		delete(silent, "amountBurned")
		s := &service{transactions: []map[string]any{unclear, silent, transaction(3, "ExportTx", time.Now().Add(-3*time.Hour), 77, 0, own)}}
		payments, err := s.read(t, s.env(), ledger.Query{Selection: ledger.Selection{Addresses: []string{own}}})
		var incomplete *ledger.IncompleteError
		if !errors.As(err, &incomplete) || len(incomplete.Lines) != 1 || !strings.Contains(incomplete.Lines[0], unclear["txHash"].(string)) {
			t.Errorf("%v", err)
		}
		if len(payments) != 1 || payments[0].Amount.Uint64() != 77 {
			t.Errorf("%+v", payments)
		}
	})
}
