package staking_test

import (
	"maps"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/staking"
)

// chain simulates a validator's balance on the P-Chain: in seconds, at the time of the last block.
type chain struct {
	rate    uint64
	time    int
	balance uint64
}

func (c *chain) block(seconds int, topUp uint64) {
	c.time += seconds
	c.balance -= min(c.rate*uint64(seconds), c.balance)
	c.balance += topUp
}

func (c *chain) reading() staking.Reading {
	return staking.Reading{At: at(c.time), Balance: c.balance}
}

func drawChain(t *rapid.T) *chain {
	return &chain{
		rate:    rapid.Uint64Range(1, 1e6).Draw(t, "rate"),
		balance: rapid.Uint64Range(0, 1e11).Draw(t, "balance"),
	}
}

func same(a, b float64) bool { return math.Abs(a-b) <= 1e-9*b }

// Blocks have any interval and top-ups any size. With a top-up the balance may rise, stay equal or still fall, also after it was 0.
func TestTopUpsDoNotCountAsBurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawChain(t)
		var m staking.Meter
		for range rapid.IntRange(0, 60).Draw(t, "blocks") {
			seconds := rapid.IntRange(1, 600).Draw(t, "seconds")
			topUp := uint64(0)
			if rapid.Bool().Draw(t, "topped up") {
				topUp = rapid.Uint64Range(0, 2*c.rate*uint64(seconds)).Draw(t, "by")
			}
			c.block(seconds, topUp)
			m.Add(c.reading())
			if burn, known := m.Burn(); known && (burn <= 0 || burn > float64(c.rate)*(1+1e-9)) || !known && burn != 0 {
				t.Fatalf("measured %v %v, rate %d", burn, known, c.rate)
			}
		}
		// After 16 blocks without a top-up, the earlier falls are forgotten.
		c.balance = 1e12
		m.Add(c.reading())
		for range 17 {
			c.block(rapid.IntRange(1, 600).Draw(t, "seconds"), 0)
			m.Add(c.reading())
		}
		if burn, known := m.Burn(); !known || !same(burn, float64(c.rate)) {
			t.Fatalf("measured %v %v at the end, rate %d", burn, known, c.rate)
		}
	})
}

func TestBurnIsExactWithVisibleTopUps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawChain(t)
		var m staking.Meter
		m.Add(c.reading())
		clean := false
		for range rapid.IntRange(1, 60).Draw(t, "blocks") {
			seconds := rapid.IntRange(1, 600).Draw(t, "seconds")
			topUp := uint64(0)
			if rapid.Bool().Draw(t, "topped up") {
				topUp = c.rate*uint64(seconds) + rapid.Uint64Range(1, 1e10).Draw(t, "beyond the burn")
			}
			before := c.balance
			c.block(seconds, topUp)
			clean = clean || c.balance > 0 && c.balance < before
			m.Add(c.reading())
			if burn, known := m.Burn(); known != clean || known && !same(burn, float64(c.rate)) {
				t.Fatalf("measured %v %v, rate %d, after a fall: %v", burn, known, c.rate, clean)
			}
		}
	})
}

func TestBurnIsExactWithFewHiddenTopUps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawChain(t)
		c.balance += 1e12
		var m staking.Meter
		m.Add(c.reading())
		seconds := rapid.IntRange(1, 600).Draw(t, "seconds")
		for i := range 60 {
			topUp := uint64(0)
			if i%2 == 1 {
				topUp = rapid.Uint64Range(0, c.rate*uint64(seconds)-1).Draw(t, "less than the burn")
			}
			c.block(seconds, topUp)
			m.Add(c.reading())
			if burn, known := m.Burn(); !known || !same(burn, float64(c.rate)) {
				t.Fatalf("measured %v %v, rate %d, after %d blocks", burn, known, c.rate, i+1)
			}
		}
	})
}

func TestRepeatedReadingsAreIgnored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawChain(t)
		c.balance += 1e12
		var once, often staking.Meter
		var seen []staking.Reading
		for range rapid.IntRange(1, 30).Draw(t, "blocks") {
			seconds := rapid.IntRange(1, 600).Draw(t, "seconds")
			before := c.reading()
			c.block(seconds, rapid.SampledFrom([]uint64{0, 0, 0, 1e9}).Draw(t, "top-up"))
			// A client may read an old balance with a new time, or from a node that lags behind.
			if len(seen) > 0 && rapid.Bool().Draw(t, "torn") {
				often.Add(staking.Reading{At: at(c.time), Balance: before.Balance})
			}
			seen = append(seen, c.reading())
			once.Add(c.reading())
			often.Add(c.reading())
			for range rapid.IntRange(0, 3).Draw(t, "repeated") {
				often.Add(seen[rapid.IntRange(0, len(seen)-1).Draw(t, "as of block")])
				often.Add(staking.Reading{At: at(c.time), Balance: rapid.Uint64().Draw(t, "another balance at the same time")})
			}
			a, knownA := once.Burn()
			b, knownB := often.Burn()
			if a != b || knownA != knownB {
				t.Fatalf("measured %v %v, with repeated readings %v %v", a, knownA, b, knownB)
			}
		}
	})
}

func TestBurnFollowsTheFee(t *testing.T) {
	c := &chain{rate: 512, balance: 1e15}
	var m staking.Meter
	for i := range 40 {
		if i == 20 {
			c.rate = 1024
		}
		c.block(60, 0)
		m.Add(c.reading())
	}
	if burn, _ := m.Burn(); !same(burn, 1024) {
		t.Errorf("measured %v twenty blocks after the fee doubled", burn)
	}
}

func TestMeterIsBounded(t *testing.T) {
	c := &chain{rate: 512, balance: 1e18}
	var m staking.Meter
	add := func() {
		c.block(60, 0)
		m.Add(c.reading())
	}
	for range 100 {
		add()
	}
	if grown := testing.AllocsPerRun(1000, add); grown != 0 {
		t.Errorf("%v allocations per reading", grown)
	}
}

func TestBurnIsUnknownBeforeTheFirstFall(t *testing.T) {
	var m staking.Meter
	for i, balance := range []uint64{0, 0, 500, 500, 900} {
		m.Add(staking.Reading{At: day0.Add(time.Duration(i) * time.Minute), Balance: balance})
		if burn, known := m.Burn(); burn != 0 || known {
			t.Errorf("%v %v after reading %d", burn, known, i)
		}
	}
}

func TestMetersMeasureTheSet(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	meters := staking.Meters{}
	measure := func(after time.Duration, certain bool, balances map[string]uint64) map[string]float64 {
		set := &staking.L1{At: start.Add(after)}
		for id, balance := range balances {
			set.Set = append(set.Set, staking.Validator{ID: id, Balance: balance})
		}
		meters.Measure(set, certain, 0)
		burns := map[string]float64{}
		for _, v := range set.Set {
			burns[v.ID] = v.Burn
		}
		if set.Unpriced != (burns["a"] == 0) {
			t.Errorf("after %s: unpriced %v, burns %v", after, set.Unpriced, burns)
		}
		return burns
	}
	for _, c := range []struct {
		after    time.Duration
		certain  bool
		balances map[string]uint64
		want     map[string]float64
	}{
		{0, true, map[string]uint64{"a": 1000}, map[string]float64{"a": 0}},
		{10 * time.Second, false, map[string]uint64{"a": 500}, map[string]float64{"a": 0}}, // the balance may be newer than the time
		{20 * time.Second, true, map[string]uint64{"a": 900, "new": 700}, map[string]float64{"a": 5, "new": 5}},
		{30 * time.Second, true, map[string]uint64{"other": 700}, map[string]float64{"other": 0}},
		{40 * time.Second, true, map[string]uint64{"a": 100}, map[string]float64{"a": 0}}, // its earlier measurements are gone
	} {
		if got := measure(c.after, c.certain, c.balances); !maps.Equal(got, c.want) {
			t.Errorf("after %s: burns %v, want %v", c.after, got, c.want)
		}
	}
}
