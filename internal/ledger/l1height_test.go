package ledger_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // as in the program

	"github.com/avax-exporter/avax-exporter/internal/ledger"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
	"github.com/avax-exporter/avax-exporter/scrape/data"
)

// balance is an L1 validator with its transactions.
type balance struct {
	service
	validation string
	left       uint64
	since      time.Time
	block      int
}

// change pays the fee until a time, and adds an amount in a block; zero only pays.
func (b *balance) change(at time.Time, block int, amount int64) {
	if !b.since.IsZero() {
		b.left -= min(b.left, uint64(at.Unix()-b.since.Unix())*512)
	}
	b.since, b.block = at, block
	if amount == 0 {
		return
	}
	b.left = uint64(int64(b.left) + amount)
	b.transactions = append(b.transactions, map[string]any{
		"txHash": id("", 5_000+len(b.transactions)), "blockTimestamp": at.Unix(), "blockNumber": strconv.Itoa(block), "txType": "IncreaseL1ValidatorBalanceTx",
		"l1ValidatorDetails": []map[string]any{{"validationId": b.validation, "nodeId": id("NodeID-", 1), "subnetId": id("", 2), "weight": 1,
			"remainingBalance": b.left, "balanceChange": amount}},
	})
}

// list ends the history at a block.
func (b *balance) list(height int) {
	b.height = height
	b.validators = []map[string]any{{"validationId": b.validation, "nodeId": id("NodeID-", 1), "subnetId": id("", 2), "weight": 1, "remainingBalance": b.left,
		"remainingBalanceOwner": map[string]any{"addresses": []string{testworld.Wallet("avax", 1)}, "threshold": 1}}}
	b.pending = []map[string]any{}
}

// The costs of an L1 validator are right if the list of transactions is newer than the list of balances, and in whatever order the transactions of
// one second and of one block are listed.
func TestL1CostsAtOneBlockHeight(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(4 * 365 * 24 * time.Hour)
			random := rand.New(rand.NewPCG(seed, 7))
			b := &balance{validation: id("", 9)}
			b.order = func(rows []map[string]any, _ string) {
				random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			}
			at, block, topped, last := time.Now().Add(-90*24*time.Hour), 100, uint64(0), time.Time{}
			for range 8 {
				for n := range 1 + random.IntN(4) { // within one second, some in one block
					amount := int64(1_000_000_000 + random.Int64N(90_000_000_000))
					b.change(at, block, amount)
					topped += uint64(amount)
					if n%2 == 1 {
						block++
					}
				}
				last = at
				block += 10
				at = at.Add(time.Duration(1+random.IntN(9*86400)) * time.Second)
			}
			b.change(last.Add(3*time.Hour), block, 0)
			left := b.left
			b.list(block)
			b.block = block
			b.change(time.Now().Add(-time.Minute), block+5, 77_000_000_000) // after the height of the balances
			b.validators[0]["remainingBalance"] = left
			payments, err := b.read(t, b.env(), ledger.Query{Selection: ledger.Selection{Nodes: []string{id("NodeID-", 1)}}})
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			sums := map[string]uint64{}
			for _, p := range payments {
				sums[p.Kind] += p.Amount.Uint64()
			}
			if sums[ledger.L1TopUp] != topped || sums[ledger.L1Fee] != topped-left {
				t.Errorf("seed %d: %v, want %d added and %d paid", seed, sums, topped, topped-left)
			}
		})
	}
}

// If the balance of one L1 validator does not follow from its transactions, its line says so, and everything else is printed.
func TestOneUnclearL1ValidatorLeavesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(4 * 365 * 24 * time.Hour)
		b := &balance{validation: id("", 9)}
		b.change(time.Now().Add(-30*24*time.Hour), 100, 50_000_000_000)
		b.change(time.Now().Add(-time.Minute), 900, 0)
		b.left += 99_000_000_000 // a transaction that is not listed
		b.list(900)
		b.rewards = []map[string]any{row(1, data.RewardValidator, id("NodeID-", 1), []string{testworld.Wallet("avax", 1)}, time.Now().Add(-time.Hour), 5)}
		payments, err := b.read(t, b.env(), ledger.Query{Selection: ledger.Selection{Nodes: []string{id("NodeID-", 1)}}})
		var incomplete *ledger.IncompleteError
		if !errors.As(err, &incomplete) || len(incomplete.Lines) != 1 || !strings.Contains(incomplete.Lines[0], b.validation) {
			t.Errorf("%v", err)
		}
		var kinds []string
		for _, p := range payments {
			kinds = append(kinds, p.Kind)
		}
		if !slices.Contains(kinds, ledger.L1TopUp) || !slices.Contains(kinds, data.RewardValidator) {
			t.Errorf("lines: %v", kinds)
		}
	})
}

// Months that have ended keep what the first run after their end computed, although the fee per second changed and the ledger estimates. All months add
// up to the whole fee at any time.
func TestClosedMonthsNeverChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(4 * 365 * 24 * time.Hour)
		b, dir := &balance{validation: id("", 9)}, t.TempDir()
		began := time.Now()
		b.change(began, 100, 900_000_000_000)
		first := map[string]string{}
		for day := range 200 {
			time.Sleep(24*time.Hour + 13*time.Second)
			paid := uint64(512+137*(day%7)) * 86413 // another fee each day
			b.left -= paid
			b.list(200 + day)
			if day%5 > 0 {
				continue
			}
			payments := must.Get(b.read(t, b.env(), ledger.Query{Selection: ledger.Selection{Nodes: []string{id("NodeID-", 1)}}, Dir: dir}))(t)
			sum := uint64(0)
			for _, p := range payments {
				if p.Kind != ledger.L1Fee {
					continue
				}
				sum += p.Amount.Uint64()
				month := p.Time.Format("2006-01")
				if month == time.Now().Format("2006-01") {
					continue
				}
				if first[month] == "" {
					first[month] = p.Amount.String()
				}
				if first[month] != p.Amount.String() {
					t.Fatalf("day %d: %s was %s and is %v", day, month, first[month], p.Amount)
				}
			}
			if want := 900_000_000_000 - b.left; sum != want {
				t.Errorf("day %d: all months %d, want %d", day, sum, want)
			}
		}
		if len(first) < 6 {
			t.Errorf("months: %v", first)
		}
	})
}

// After an incomplete ledger, the next run reads the lists again and finds what the service has repaired. Nothing stays on the disk.
func TestIncompleteLedgerIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(4 * 365 * 24 * time.Hour)
		s, owner, dir := &service{}, testworld.Wallet("avax", 7), t.TempDir()
		q := ledger.Query{Selection: ledger.Selection{Addresses: []string{owner}}, Dir: dir}
		if _, err := s.read(t, s.env(), q); err == nil {
			t.Fatal("a service that lists nothing makes no complete ledger")
		}
		s.rewards = []map[string]any{row(1, data.RewardDelegator, id("NodeID-", 1), []string{owner}, time.Now().Add(-time.Hour), 5)}
		time.Sleep(time.Minute)
		payments, err := s.read(t, s.env(), q)
		if left := must.Get(os.ReadDir(dir))(t); err != nil || len(payments) != 1 || len(left) > 0 {
			t.Errorf("%d payments, %v, %d files left", len(payments), err, len(left))
		}
	})
}

// What was paid up to a time and what was paid from then on add up to the whole, at any time and in any zone.
func TestPartsOfTheLedgerAddUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(4 * 365 * 24 * time.Hour)
		berlin := must.Get(time.LoadLocation("Europe/Berlin"))(t)
		random := rand.New(rand.NewPCG(1, 2))
		b := &balance{validation: id("", 9)}
		began := time.Now().Add(-150 * 24 * time.Hour)
		b.change(began, 100, 900_000_000_000)
		b.left -= 6_700_000_123 // the fee changed
		b.list(900)
		b.rewards = []map[string]any{row(1, data.RewardValidator, id("NodeID-", 1), []string{testworld.Wallet("avax", 1)}, began.Add(40*24*time.Hour), 7)}
		sum := func(from, to time.Time, zone *time.Location) (total uint64) {
			payments, err := b.read(t, b.env(), ledger.Query{Selection: ledger.Selection{Nodes: []string{id("NodeID-", 1)}}, From: from, To: to, Location: zone})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range payments {
				total += p.Amount.Uint64()
			}
			return total
		}
		whole := sum(time.Time{}, time.Time{}, time.UTC)
		if want := uint64(900_000_000_000 + 6_700_000_123 + 7); whole != want {
			t.Errorf("the whole is %d, want %d", whole, want)
		}
		for range 30 {
			at := began.Add(time.Duration(random.IntN(150*86400)) * time.Second)
			for _, zone := range []*time.Location{time.UTC, berlin} {
				if before, after := sum(time.Time{}, at, zone), sum(at, time.Time{}, zone); before+after != whole {
					t.Errorf("%v in %v: %d and %d, want %d", at, zone, before, after, whole)
				}
			}
		}
	})
}
