package collectors

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	validatorRequirement = metric.New("avax_validator_uptime_requirement_ratio",
		"Uptime (0 to 1) that the validator needs for its reward: 0.9 if its period started at or after the upgrade Helicon, 0.8 otherwise. For an auto-renewed validator, this and all other families about the reward cover the current period.", "node_id")
	validatorDowntimeBudget = metric.New("avax_validator_downtime_budget_seconds",
		"Downtime in seconds that the validator may have in its whole period without loss of the reward: (1 - requirement) times the length of the period.", "node_id").
		By("(1 - avax_validator_uptime_requirement_ratio) * (avax_validator_end_timestamp_seconds - avax_validator_start_timestamp_seconds)")
	validatorDowntimeUsed = metric.New("avax_validator_downtime_used_seconds",
		"Downtime so far in seconds: (1 - weighted uptime) times the elapsed time. Within a period, the value decreases only if an earlier uptime report was wrong. The value may be too high by up to avax_validator_downtime_used_uncertainty_seconds.", "node_id")
	validatorDowntimeUncertainty = metric.New("avax_validator_downtime_used_uncertainty_seconds",
		"Maximum number of seconds by which avax_validator_downtime_used_seconds is too high: at most 1 % of the elapsed time, because peers report uptime in whole percents, rounded down.", "node_id")
	validatorReachable = metric.New("avax_validator_reward_reachable",
		"1 if the validator can still meet its uptime requirement by the end of the period. 0 if its downtime budget is exceeded.", "node_id").
		By("(1 - avax_validator_weighted_uptime_ratio) * (time() - avax_validator_start_timestamp_seconds) <= bool avax_validator_downtime_budget_seconds")
	validatorReachableAt = metric.New("avax_validator_reward_reachable_at",
		"Like avax_validator_reward_reachable, but for the uptime requirement in the label.", "node_id", "requirement")
	validatorWeightedUptime = metric.New("avax_validator_weighted_uptime_ratio",
		"Uptime of the validator: the share of the elapsed period (0 to 1) in which it was up, as reported by other validators and weighted by their stake. If only observers report an uptime, the value is the average of these reports. Absent if no report is known.", "node_id")
	validatorViewsStake = metric.New("avax_validator_views_stake_ratio",
		"Share of all stake (0 to 1) whose report about the validator's uptime is known. The share is low for half a minute after a restart of the validator's node, and if only other configured nodes report an uptime. 0 if only observers report an uptime. Absent if no report is known.", "node_id")
	validatorVotesYes = metric.New("avax_validator_votes_yes_ratio",
		"Share of all stake (0 to 1) that would vote for the validator's reward today, at the uptime requirement in the label. The validator's own stake does not count. Stake whose report about the uptime is not known does not count either.", "node_id", "requirement")
)

var rewardBudget = &Spec{
	Name:     "reward_budget",
	Paged:    true,
	Help:     "Whether the monitored validators will get their reward, and how much downtime they may still have.",
	Calls:    []string{"info.peers", "info.getNodeID", "info.upgrades", "platform.getCurrentValidators"},
	Every:    time.Minute,
	EveryFor: monitoredPeriod,
	Shares:   true,
	Families: []*metric.Family{
		validatorRequirement, validatorDowntimeBudget, validatorDowntimeUsed, validatorDowntimeUncertainty, validatorReachable, validatorReachableAt,
		validatorWeightedUptime, validatorViewsStake, validatorVotesYes,
	},
	Bind: perNetwork(collectRewardBudget),
}

// requirements are the uptime requirements for which votes are counted, each with its value of the label requirement.
var requirements = []struct {
	ratio float64
	label string
}{{staking.BaseRequirement, "0.8"}, {staking.HeliconRequirement, "0.9"}}

func collectRewardBudget(ctx context.Context, ups *Upstreams, out *metric.Batch) error {
	entries, _, err := monitoredEntries(ctx, ups)
	if err != nil {
		return err
	}
	var known []*nodes.Node
	if len(ups.Nodes()) > 0 {
		if known, err = ups.Identified(ctx); err != nil {
			return err
		}
	}
	helicon, err := heliconTime(ctx, ups)
	if err != nil {
		return err
	}
	p := polling{ups: ups, nodes: known, ids: map[*nodes.Node]string{}, helicon: helicon}
	for _, n := range known {
		p.ids[n] = n.KnownID()
	}
	if p.stake, p.all, err = primaryStake(ctx, ups); err != nil {
		return err
	}
	votes := p.votes(ctx, entries)
	now := time.Now()
	before, downtimes := load[map[string]staking.Downtime](ups, downtimeEntry), map[string]staking.Downtime{}
	for _, v := range entries {
		period, requirement := periodOf(v), staking.Requirement(v.StartTime.Time, helicon)
		vote := votes[v.NodeID]
		budget := staking.NewDowntimeBudget(period, now, vote.uptime, requirement)
		out.Set(validatorRequirement, requirement, v.NodeID)
		out.Set(validatorDowntimeBudget, budget.Allowed.Seconds(), v.NodeID)
		if !vote.known {
			if d, there := before[v.NodeID]; there {
				downtimes[v.NodeID] = d
			}
			continue
		}
		var percent time.Duration
		if vote.percents {
			percent = max(now.Sub(period.Start), 0) / 100
		}
		used := before[v.NodeID].Next(period.Start, now, budget.Used, !vote.percents)
		downtimes[v.NodeID] = used
		out.Set(validatorViewsStake, vote.views, v.NodeID)
		out.Set(validatorDowntimeUsed, used.Used.Seconds(), v.NodeID)
		out.Set(validatorDowntimeUncertainty, min(max(used.Used-budget.Used+percent, 0), used.Used).Seconds(), v.NodeID)
		out.SetBool(validatorReachable, budget.Reachable(), v.NodeID)
		out.Set(validatorWeightedUptime, vote.uptime, v.NodeID)
		for i, r := range requirements {
			out.SetBool(validatorReachableAt, staking.NewDowntimeBudget(period, now, vote.uptime, r.ratio).Reachable(), v.NodeID, r.label)
			if vote.views > 0 {
				out.Set(validatorVotesYes, vote.yes[i], v.NodeID, r.label)
			}
		}
	}
	ups.save(out, downtimeEntry, downtimes)
	p.listDissenters(out, votes)
	return nil
}

// downtimeEntry is the key of the stored value that holds the downtime of each validator in its period, by node ID.
const downtimeEntry = "downtime"

func periodOf(v node.Validator) staking.Period {
	p := staking.Period{Start: v.StartTime.Time}
	if v.EndTime != nil {
		p.End = v.EndTime.Time
	}
	return p
}

// heliconTime returns the activation time of Helicon, or nil if no node knows it. If the nodes report different
// times, it returns the earliest, because a node with a later time is out of date. If no node or observer tells the time, it returns
// the time of the network.
func heliconTime(ctx context.Context, ups *Upstreams) (at *time.Time, err error) {
	own, observers := ups.OfNetwork()
	known, err := nodes.Each(scrape.MaxAge(ctx, slowFacts), nodes.Reachable(slices.Concat(own, observers), 0), func(ctx context.Context, n *nodes.Node) (node.Upgrades, error) {
		return n.Upgrades(ctx)
	})
	for _, k := range known {
		if t, scheduled := k.Scheduled()["helicon"]; scheduled && (at == nil || t.Before(*at)) {
			at = &t
		}
	}
	if err != nil {
		if network, unknown := ups.Network(ctx); unknown == nil {
			if t, scheduled := staking.HeliconTimes[network]; scheduled {
				return &t, nil
			}
		}
	}
	return at, err
}

// polling holds what one run needs to count the votes on the monitored validators.
type polling struct {
	ups     *Upstreams
	nodes   []*nodes.Node
	ids     map[*nodes.Node]string // node IDs
	helicon *time.Time             // activation time of Helicon; nil if not known
	stake   map[string]uint64      // in nAVAX, by node ID
	all     uint64                 // sum of stake
}

// vote is the result of the vote on one validator's reward, if its period ended now.
type vote struct {
	of         string // node ID
	own        bool   // the validator is a configured node
	uptime     float64
	percents   bool       // uptime is computed from whole percents, rounded down
	known      bool       // uptime is known
	views      float64    // share of the total stake whose view is known
	yes        [2]float64 // share of yes votes, for each element of requirements
	inFavour   float64    // share of yes votes for the validator's own requirement
	dissenters []staking.View
}

// maxDissenters is the maximum number of dissenters to list for one validator. A dissenter is a peer that observed
// less uptime than the validator's reward requires.
const maxDissenters = 10

// count computes the vote on a validator from the views of its peers.
func (p polling) count(v node.Validator, views []staking.View) vote {
	// Sort: float sums depend on the order, and the order of peers is arbitrary.
	slices.SortFunc(views, func(a, b staking.View) int { return cmp.Compare(a.NodeID, b.NodeID) })
	poll := staking.NewPoll(views, p.all)
	c := vote{of: v.NodeID, views: poll.Known()}
	c.uptime, c.known = poll.Uptime()
	for i, r := range requirements {
		c.yes[i] = poll.Yes(r.ratio)
	}
	requirement := staking.Requirement(v.StartTime.Time, p.helicon)
	c.inFavour, c.dissenters = poll.Yes(requirement), poll.Dissenters(requirement, maxDissenters)
	return c
}

// votes returns the vote on each validator, by node ID. It uses up to three sources:
//  1. If the validator is a configured node, the node reports what its peers observed.
//  2. If the peers in source 1 have less than half of the stake, the other configured nodes report what they observed.
//     This is the case while the node is down or has just started. The source with more stake counts.
//  3. If the first two sources have no view of the validator, the observers report what they observed.
func (p polling) votes(ctx context.Context, entries []node.Validator) map[string]vote {
	byID := make(map[string]node.Validator, len(entries))
	for _, v := range entries {
		byID[v.NodeID] = v
	}
	votes := make(map[string]vote, len(entries))
	// Several nodes may have the same ID: keep the vote with the most stake.
	keep := func(v vote) {
		if was, there := votes[v.of]; !there || v.views > was.views {
			v.own = v.own || was.own
			votes[v.of] = v
		}
	}
	monitored := slices.DeleteFunc(slices.Clone(p.nodes), func(n *nodes.Node) bool { _, there := byID[p.ids[n]]; return !there })
	for _, n := range monitored {
		keep(vote{of: p.ids[n], own: true})
	}
	fromPeers, _ := nodes.Each(ctx, monitored, func(ctx context.Context, n *nodes.Node) (vote, error) { // errors are ignored: votesOfNodes covers a node that is down
		views, err := p.viewsFromPeers(ctx, n)
		v := p.count(byID[p.ids[n]], views)
		v.percents = true
		return v, err
	})
	for _, v := range fromPeers {
		keep(v)
	}
	const half = 0.5
	var unknown []node.Validator
	for _, v := range entries {
		if votes[v.NodeID].views < half {
			unknown = append(unknown, v)
		}
	}
	for _, v := range p.votesOfNodes(ctx, unknown) {
		keep(v)
	}
	unknown = slices.DeleteFunc(unknown, func(v node.Validator) bool { return votes[v.NodeID].known })
	for id, uptime := range p.observedUptimes(ctx, unknown) {
		votes[id] = vote{of: id, own: votes[id].own, uptime: uptime, known: true}
	}
	return votes
}

// observedUptimes returns the average of the uptimes that the observers report for these validators, by node ID. An
// observer has no vote, because its stake is not known.
func (p polling) observedUptimes(ctx context.Context, validators []node.Validator) map[string]float64 {
	if len(validators) == 0 {
		return nil
	}
	_, observers := p.ups.OfNetwork()
	lists, _ := nodes.Each(ctx, observers, func(ctx context.Context, n *nodes.Node) (iter.Seq[node.Validator], error) {
		return p.ups.entries(ctx, n)
	})
	sum, count := map[string]float64{}, map[string]float64{}
	for _, entries := range lists {
		for v := range entries {
			if v.Uptime != nil {
				sum[v.NodeID] += v.Uptime.Ratio()
				count[v.NodeID]++
			}
		}
	}
	uptimes := map[string]float64{}
	for _, v := range validators {
		if n := count[v.NodeID]; n > 0 {
			uptimes[v.NodeID] = sum[v.NodeID] / n
		}
	}
	return uptimes
}

// viewsFromPeers returns the uptimes of a configured node, as its peers observed them. A value of 0 % is ignored: a
// peer has this value until it reports for the first time after it connected.
func (p polling) viewsFromPeers(ctx context.Context, n *nodes.Node) ([]staking.View, error) {
	answer, err := n.Peers(ctx)
	if err != nil {
		return nil, err
	}
	var views []staking.View
	for _, peer := range answer.Peers {
		stake := p.stake[peer.NodeID]
		if stake == 0 || peer.NodeID == p.ids[n] || peer.ObservedUptime == nil || *peer.ObservedUptime == 0 {
			continue
		}
		views = append(views, staking.View{NodeID: peer.NodeID, Stake: stake, Uptime: peer.ObservedUptime.Ratio()})
	}
	return views, nil
}

// votesOfNodes returns the votes on these validators. It computes them from the uptimes that the configured nodes
// observed.
func (p polling) votesOfNodes(ctx context.Context, validators []node.Validator) []vote {
	voters := p.voters()
	if len(validators) == 0 || len(voters) == 0 {
		return nil
	}
	type observation struct {
		by      string
		entries iter.Seq[node.Validator]
	}
	observations, _ := nodes.Each(ctx, voters, func(ctx context.Context, n *nodes.Node) (observation, error) {
		entries, err := p.ups.entries(ctx, n)
		return observation{p.ids[n], entries}, err
	})
	views := map[string][]staking.View{}
	for _, s := range observations {
		for v := range s.entries {
			if v.NodeID != s.by && v.Uptime != nil {
				views[v.NodeID] = append(views[v.NodeID], staking.View{NodeID: s.by, Stake: p.stake[s.by], Uptime: v.Uptime.Ratio()})
			}
		}
	}
	var votes []vote
	for _, v := range validators {
		votes = append(votes, p.count(v, views[v.NodeID]))
	}
	return votes
}

// voters returns the configured nodes that have stake, and therefore a vote. It returns one node for each node ID, and
// at most the maxViews nodes with the most stake.
func (p polling) voters() []*nodes.Node {
	voters := slices.DeleteFunc(slices.Clone(nodes.Reachable(p.nodes, 0)), func(n *nodes.Node) bool { return p.stake[p.ids[n]] == 0 })
	slices.SortStableFunc(voters, func(a, b *nodes.Node) int {
		return cmp.Or(cmp.Compare(p.stake[p.ids[b]], p.stake[p.ids[a]]), cmp.Compare(p.ids[a], p.ids[b]))
	})
	voters = slices.CompactFunc(voters, func(a, b *nodes.Node) bool { return p.ids[a] == p.ids[b] })
	return voters[:min(len(voters), maxViews)]
}

// listDissenters adds a table of the dissenters of each validator. Validators with the fewest yes votes come first.
// With AVAX_VALIDATORS=all, the table has only your own validators.
func (p polling) listDissenters(out *metric.Batch, votes map[string]vote) {
	t := metric.Table{
		About:   fmt.Sprintf("Peers that observed less uptime than the reward of a validator requires: for each validator, the %d peers with the most stake.", maxDissenters),
		Columns: []string{"Validator", "Peer", "Stake of the peer in AVAX", "Observed uptime"},
	}
	shown := make([]vote, 0, len(votes))
	for _, v := range votes {
		if v.own || !p.ups.Watch.Validators.All {
			shown = append(shown, v)
		}
	}
	slices.SortFunc(shown, func(a, b vote) int { return cmp.Or(cmp.Compare(a.inFavour, b.inFavour), cmp.Compare(a.of, b.of)) })
	for _, v := range shown {
		for _, d := range v.dissenters {
			t.Rows = append(t.Rows, []string{
				v.of, d.NodeID, strconv.FormatFloat(wire.NanoAVAX(d.Stake).AVAX(), 'f', -1, 64), strconv.FormatFloat(100*d.Uptime, 'f', 2, 64) + " %",
			})
		}
	}
	if len(t.Rows) > 0 {
		out.Table(t)
	}
}
