package collectors

import (
	"context"
	"maps"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/data"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	payoutExpected = metric.New("avax_payout_expected_avax",
		"Expected reward in AVAX of a staking period that ended within the last 30 days. For a monitored validator it includes its share of its delegators' "+
			"rewards. For a delegation of a monitored address it is the reward after the validator's fee. The label name is the name of the address, and empty for a "+
			"validator. Absent for an auto-renewed validator. If only the Data service lists a delegation, this is its estimate, and absent after a payment.",
		"node_id", "name", "tx_id")
	payoutPaid = metric.New("avax_payout_paid_avax",
		"Reward in AVAX that was paid for this period. 0 if nothing was paid.", "node_id", "name", "tx_id")
	payoutEnd = metric.New("avax_payout_end_timestamp_seconds",
		"End of this period, in Unix seconds.", "node_id", "name", "tx_id")
	payoutUptime = metric.New("avax_payout_uptime_ratio",
		"Uptime of the validator (0 to 1) that was known last before the end of this period. Absent if none was known.", "node_id", "name", "tx_id")
	validatorNextReward = metric.New("avax_validator_next_reward_avax",
		"Reward in AVAX of the validator's own stake for a period that starts now. The period is as long as the current one. For an auto-renewed validator, it is "+
			"as long as the next one.", "node_id")
)

var payouts = &collector.Spec{
	Name: "payouts",
	Help: "Whether staking periods that ended were paid as expected, and the reward of a new period at the present rate.",
	Calls: []string{"platform.getCurrentValidators", "platform.getRewardUTXOs", "platform.getCurrentSupply", "info.upgrades", "info.getNodeID",
		"info.getNetworkID", data.ListRewards.Op()},
	Every:    10 * time.Minute,
	Families: []*metric.Family{payoutExpected, payoutPaid, payoutEnd, payoutUptime, validatorNextReward},
	Bind:     collector.PerNetwork(collectPayouts),
	Cost: func(w collector.Watchlist, _ int) map[string]int {
		return map[string]int{data.ListRewards.Op(): len(w.Delegators)}
	},
}

// payoutsKept is the time after its end for which a period is exported.
const payoutsKept = 30 * 24 * time.Hour

// payout is a staking period, as it was known last before its end.
type payout struct {
	NodeID    string
	End       time.Time
	Expected  wire.NanoAVAX
	Estimated bool     // Expected is the Data service's estimate
	Uptime    *float64 // of the validator
}

// expectPayouts stores the current periods of a delegator, by the transaction that staked. An empty name means the monitored validators.
func expectPayouts(ups *collector.Upstreams, out *metric.Batch, name string, current map[string]payout) {
	all := map[string]payout{}
	maps.Copy(all, payoutsOf(ups, name))
	maps.Copy(all, current)
	maps.DeleteFunc(all, func(_ string, p payout) bool { return time.Since(p.End) > payoutsKept })
	ups.Save(out, "payouts "+name, all)
}

func payoutsOf(ups *collector.Upstreams, name string) map[string]payout {
	return collector.Load[map[string]payout](ups, "payouts "+name)
}

func collectPayouts(ctx context.Context, ups *collector.Upstreams, out *metric.Batch) error {
	names := ups.Watched().DelegatorNames()
	if !ups.IsEmpty() {
		if err := expectRewards(ctx, ups, out); err != nil {
			return err
		}
		names = append(names, "") // without nodes, nobody reports what the validators were paid
	}
	for _, name := range names {
		for tx, p := range payoutsOf(ups, name) {
			if p.End.After(time.Now()) {
				continue
			}
			paid, err := paid(ctx, ups, name, tx, p)
			if err != nil {
				return err
			}
			if !p.Estimated || paid == 0 {
				out.Set(payoutExpected, p.Expected.AVAX(), p.NodeID, name, tx)
			}
			out.Set(payoutPaid, paid.AVAX(), p.NodeID, name, tx)
			out.SetTime(payoutEnd, p.End, p.NodeID, name, tx)
			if p.Uptime != nil {
				out.Set(payoutUptime, *p.Uptime, p.NodeID, name, tx)
			}
		}
	}
	return nil
}

// paid returns the reward that was paid for a period: as a node or an observer reports it, or else as the Data service lists the rewards of
// the delegator.
func paid(ctx context.Context, ups *collector.Upstreams, name, tx string, p payout) (sum wire.NanoAVAX, err error) {
	if !ups.IsEmpty() {
		sum, err := nodes.Agreed(ctx, ups.Pool, "rewards", exactly, func(ctx context.Context, n *nodes.Node) (sum wire.NanoAVAX, err error) {
			outputs, err := nodes.Optional(n.PlatformRewardUTXOs(ctx, tx))
			for _, u := range outputs {
				sum += wire.NanoAVAX(u.Amount)
			}
			return sum, err
		})
		if err == nil || ups.Data == nil || name == "" || !nodes.NotServed(err) {
			return sum, err
		}
	}
	network, err := ups.FindNetwork(ctx)
	if err != nil {
		return 0, err
	}
	for r, err := range ups.Data.Rewards(ctx, network, ups.Watched().Delegator(name).Address) {
		if err != nil {
			return 0, err
		}
		if r.TxHash == tx {
			sum += wire.NanoAVAX(r.Reward.Amount.Uint64())
		}
		if sum > 0 || r.EndTimestamp.Before(p.End.Add(-24*time.Hour)) { // the newest is first
			break
		}
	}
	return sum, nil
}

// expectRewards stores the current periods of the monitored validators, and exports what a new period would earn.
func expectRewards(ctx context.Context, ups *collector.Upstreams, out *metric.Batch) error {
	entries, reporter, err := monitoredEntries(ctx, ups)
	if err != nil {
		return err
	}
	supply, err := currentSupply(scrape.MaxAge(ctx, collector.FullSetEvery), ups)
	if err != nil {
		return err
	}
	helicon, err := heliconTime(ctx, ups)
	if err != nil {
		return err
	}
	current, downtimes := map[string]payout{}, collector.Load[map[string]staking.Downtime](ups, downtimeEntry)
	for _, v := range entries {
		if v.EndTime == nil || v.PotentialReward == nil {
			continue
		}
		length := v.EndTime.Sub(v.StartTime.Time)
		if v.NextPeriod != nil && v.NextPeriod.Duration > 0 {
			length = v.NextPeriod.Duration
		}
		out.Set(validatorNextReward, wire.NanoAVAX(staking.Reward(uint64(v.Weight), uint64(supply.Supply), length, time.Now(), helicon)).AVAX(), v.NodeID)
		if v.TxID == "" || v.NextPeriod != nil { // a node lists the rewards of an auto-renewed validator under another transaction
			continue
		}
		p := payout{NodeID: v.NodeID, End: v.EndTime.Time, Expected: *v.PotentialReward, Uptime: uptimeOf(v, reporter)}
		if v.AccruedDelegateeReward != nil {
			p.Expected += *v.AccruedDelegateeReward
		}
		if d, there := downtimes[v.NodeID]; there && d.At.After(d.Start) {
			up := 1 - d.Used.Seconds()/d.At.Sub(d.Start).Seconds()
			p.Uptime = &up
		}
		current[v.TxID] = p
	}
	expectPayouts(ups, out, "", current)
	return nil
}

// uptimeOf returns the uptime of a validator that another node reports; nil if none does. A node reports 100 % for itself.
func uptimeOf(v node.Validator, reporter string) *float64 {
	if v.Uptime == nil || v.NodeID == reporter {
		return nil
	}
	ratio := v.Uptime.Ratio()
	return &ratio
}
