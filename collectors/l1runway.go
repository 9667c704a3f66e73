package collectors

import (
	"context"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

var (
	l1ValidatorBurn = metric.New("avax_l1_validator_burn_avax_per_day",
		"Fee in AVAX per day that is deducted from the validator's balance. For an inactive validator: the fee that it would pay. The price is the price that the "+
			"node reports. If the node reports none, the exporter measures the decrease of balances. On Mainnet and Fuji, the fee is at least 512 nAVAX per second. "+
			"Absent if the price is not known, and for a legacy validator.",
		"chain", "node_id", "validation_id")
	l1ValidatorRunway = metric.New("avax_l1_validator_runway_seconds",
		"Time in seconds until the validator's balance is used up at the current fee. 0 for an inactive validator. Absent for a legacy validator.",
		"chain", "node_id", "validation_id").
		WithFormula("avax_l1_validator_balance_avax / avax_l1_validator_burn_avax_per_day * 86400")
	l1QuorumLoss = metric.New("avax_l1_quorum_loss_seconds",
		"Time in seconds until the active weight falls below the share of all weight in the label quorum, because balances are used up. All weight includes "+
			"inactive weight. 0 if the active weight is below this share now. Absent if the active weight will never fall below this share.", "chain", "quorum")
	l1TopUp = metric.New("avax_l1_top_up_avax",
		"Smallest sum in AVAX to add to balances so that every validator stays active for this number of days from now.", "chain", "days")
)

var l1Runway = &collector.Spec{
	Name:     "l1_runway",
	Critical: true,
	Help:     "How long the balances of L1 validators last, and when the quorum is lost.",
	Calls: []string{
		"platform.getCurrentValidators", "platform.getTimestamp", "platform.getValidatorFeeState", "platform.getBlockchains", "platform.getTx",
	},
	Every:    collector.FullSetEvery,
	Families: []*metric.Family{l1ValidatorBurn, l1ValidatorRunway, l1QuorumLoss, l1TopUp},
	Bind:     collector.PerBegin(collector.SubnetChains, func() collector.Collect { return burnMeters{staking.Meters{}}.collect }),
}

// burnMeters are used if the nodes do not report the fee.
type burnMeters struct{ staking.Meters }

func (m burnMeters) collect(ctx context.Context, ups *collector.Upstreams, on collector.Subject, out *metric.Batch) error {
	c := on.Chain
	b, err := ups.Blockchain(ctx, c)
	if err != nil || b.SubnetID == node.PrimaryNetworkID {
		return err
	}
	found, err := agreedTimedSet(ctx, ups, b.SubnetID)
	if err != nil {
		return err
	}
	l1Set := &staking.L1{At: found.at, Set: make([]staking.Validator, len(found.set))}
	for i, v := range found.set {
		if l1Set.Set[i], err = l1Validator(c, v); err != nil {
			return err
		}
	}
	if err := m.price(ctx, ups, l1Set, !found.uncertain); err != nil {
		return err
	}
	now, pays := time.Now(), false
	for _, v := range l1Set.Set {
		if v.Legacy {
			continue
		}
		pays = true
		if !l1Set.Unpriced {
			out.Set(l1ValidatorBurn, v.Burn*(24*time.Hour).Seconds()/1e9, c.Name, v.NodeID, v.ID)
		}
		if !v.Active() {
			out.Set(l1ValidatorRunway, 0, c.Name, v.NodeID, v.ID)
		} else if lasts, ends := staking.Runway(v.Balance, v.Burn); ends {
			out.Set(l1ValidatorRunway, l1Set.Left(lasts, now), c.Name, v.NodeID, v.ID)
		}
	}
	for _, q := range staking.Quorums {
		if after, lost := staking.QuorumLoss(l1Set.Set, q.Share); lost {
			out.Set(l1QuorumLoss, l1Set.Left(after, now), c.Name, q.Label)
		}
	}
	if pays && !l1Set.Unpriced {
		_, sum := l1Set.TopUps(staking.TopUpDays, now)
		out.Set(l1TopUp, float64(sum)/1e9, c.Name, strconv.Itoa(staking.TopUpDays))
	}
	out.Facts.L1 = l1Set
	return nil
}

// maxApart is how far the times of the P-Chain may differ that nodes report at once.
const maxApart = 2 * time.Minute

// timedSet is the validator set of an L1 at one time of the P-Chain.
type timedSet struct {
	set []node.Validator
	at  time.Time
	// uncertain is true if the P-Chain's time changed during the request for the set. The set may then be newer than the
	// time in at.
	uncertain bool
}

// agreedTimedSet requests the set and its time. The nodes must agree.
func agreedTimedSet(ctx context.Context, ups *collector.Upstreams, subnetID string) (timedSet, error) {
	same := func(a, b timedSet) bool { return a.at.Sub(b.at).Abs() <= maxApart && sameValidators(a.set, b.set) }
	return nodes.Agreed(ctx, ups.Pool, nodes.FactValidators, same, func(ctx context.Context, n *nodes.Node) (timedSet, error) {
		return timedSetOf(ctx, n, subnetID)
	})
}

// timedSetOf requests the time, the set, and the time again from one node, without shared answers. It repeats these
// requests until both times are equal, at most three times.
func timedSetOf(ctx context.Context, n *nodes.Node, subnetID string) (m timedSet, err error) {
	ctx = scrape.MaxAge(ctx, 0)
	const attempts = 3
	next, err := n.PlatformTimestamp(ctx)
	for i := 0; i < attempts && err == nil && !m.at.Equal(next); i++ {
		m.at = next
		if m.set, err = n.PlatformCurrentValidators(ctx, subnetID); err == nil {
			next, err = n.PlatformTimestamp(ctx)
		}
	}
	m.uncertain = !m.at.Equal(next)
	return m, err
}

// price sets the burn rate of each validator of the set: the fee that a node reports, else the measured burn rate.
func (m burnMeters) price(ctx context.Context, ups *collector.Upstreams, l1Set *staking.L1, certain bool) error {
	fees, err := validatorFee(ctx, ups)
	if err == nil {
		clear(m.Meters)
		for i := range l1Set.Set {
			if v := &l1Set.Set[i]; !v.Legacy {
				v.Burn = float64(fees.Price)
			}
		}
		return nil
	}
	if !nodes.NotServed(err) {
		return err
	}
	network, err := ups.Network(ctx)
	if err != nil {
		return err
	}
	var floor float64
	if network == mainnetID || network == fujiID {
		floor = staking.MainnetFloor
	}
	m.Measure(l1Set, certain, floor)
	return nil
}

// Network IDs of the networks with a minimum fee.
const (
	mainnetID = 1
	fujiID    = 5
)
