package collectors

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/collector"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
	"github.com/avax-exporter/avax-exporter/internal/staking"
	"github.com/avax-exporter/avax-exporter/scrape/node"
	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

var (
	validatorRequirement = metric.New("avax_validator_uptime_requirement_ratio",
		"Uptime (0 to 1) that the validator needs for its reward: 0.9 if its period started at or after the upgrade Helicon, 0.8 otherwise. For an auto-renewed "+
			"validator, this and all other families about the reward cover the current period.", "node_id")
	validatorDowntimeBudget = metric.New("avax_validator_downtime_budget_seconds",
		"Downtime in seconds that the validator may have in its whole period without loss of the reward: (1 - requirement) times the length of the period.",
		"node_id").
		WithFormula("(1 - avax_validator_uptime_requirement_ratio) * (avax_validator_end_timestamp_seconds - avax_validator_start_timestamp_seconds)")
	validatorDowntimeUsed = metric.New("avax_validator_downtime_used_seconds",
		"Downtime so far in seconds: (1 - weighted uptime) times the elapsed time. Within a period, the value decreases only if an earlier uptime report was "+
			"wrong. The value may be too high by up to avax_validator_downtime_used_uncertainty_seconds.", "node_id")
	validatorDowntimeUncertainty = metric.New("avax_validator_downtime_used_uncertainty_seconds",
		"Maximum number of seconds by which avax_validator_downtime_used_seconds is too high: at most 1 % of the elapsed time, because peers report uptime in "+
			"whole percents, rounded down.", "node_id")
	validatorReachable = metric.New("avax_validator_reward_reachable",
		"1 if the validator can still meet its uptime requirement by the end of the period. 0 if its downtime budget is exceeded.", "node_id").
		WithFormula("(1 - avax_validator_weighted_uptime_ratio) * (time() - avax_validator_start_timestamp_seconds) <= bool avax_validator_downtime_budget_seconds")
	validatorReachableAt = metric.New("avax_validator_reward_reachable_at",
		"Like avax_validator_reward_reachable, but for the uptime requirement in the label.", "node_id", "requirement")
	validatorWeightedUptime = metric.New("avax_validator_weighted_uptime_ratio",
		"Uptime of the validator: the share of the elapsed period (0 to 1) in which it was up, as reported by other validators and weighted by their stake. If "+
			"only observers report an uptime, the value is the average of these reports. Absent if no report is known.", "node_id")
	validatorViewsStake = metric.New("avax_validator_views_stake_ratio",
		"Share of all stake (0 to 1) whose report about the validator's uptime is known. The share is low for half a minute after a restart of the validator's "+
			"node, and if only other configured nodes report an uptime. 0 if only observers report an uptime. Absent if no report is known.", "node_id")
	validatorVotesYes = metric.New("avax_validator_votes_yes_ratio",
		"Share of all stake (0 to 1) that would vote for the validator's reward today, at the uptime requirement in the label. The validator's own stake does not "+
			"count. Stake whose report about the uptime is not known does not count either.", "node_id", "requirement")
)

var rewardBudget = &collector.Spec{
	Name:          "reward_budget",
	Critical:      true,
	Help:          "Whether the monitored validators will get their reward, and how much downtime they may still have.",
	Calls:         []string{"info.peers", "info.getNodeID", "info.upgrades", "platform.getCurrentValidators"},
	Every:         time.Minute,
	RareIfAll:     true,
	ReusesAnswers: true,
	Families: []*metric.Family{
		validatorRequirement, validatorDowntimeBudget, validatorDowntimeUsed, validatorDowntimeUncertainty, validatorReachable, validatorReachableAt,
		validatorWeightedUptime, validatorViewsStake, validatorVotesYes,
	},
	Bind: collector.Per(collector.Network, collectRewardBudget),
}

// requirements are the uptime requirements for which votes are counted, each with its value of the label requirement.
var requirements = []struct {
	ratio float64
	label string
}{{staking.BaseRequirement, "0.8"}, {staking.HeliconRequirement, "0.9"}}

func collectRewardBudget(ctx context.Context, ups *collector.Upstreams, _ collector.Subject, out *metric.Batch) error {
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
	p := polling{ups: ups, nodes: known, ids: map[*nodes.Node]string{}}
	for _, n := range known {
		p.ids[n] = n.KnownID()
	}
	if p.stake, p.all, err = primaryStake(ctx, ups); err != nil {
		return err
	}
	votes := p.votes(ctx, entries)
	now := time.Now()
	var shown []dissent
	before, downtimes := collector.Load[map[string]staking.Downtime](ups, downtimeEntry), map[string]staking.Downtime{}
	for _, v := range entries {
		period, requirement := periodOf(v), staking.Requirement(v.StartTime.Time, helicon)
		vote := votes[v.NodeID]
		uptime, known := vote.uptime()
		budget := staking.NewDowntimeBudget(period, now, uptime, requirement)
		out.Set(validatorRequirement, requirement, v.NodeID)
		out.Set(validatorDowntimeBudget, budget.Allowed.Seconds(), v.NodeID)
		if !known {
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
		out.Set(validatorViewsStake, vote.Known(), v.NodeID)
		out.Set(validatorDowntimeUsed, used.Used.Seconds(), v.NodeID)
		out.Set(validatorDowntimeUncertainty, min(max(used.Used-budget.Used+percent, 0), used.Used).Seconds(), v.NodeID)
		out.SetBool(validatorReachable, budget.Reachable(), v.NodeID)
		out.Set(validatorWeightedUptime, uptime, v.NodeID)
		for _, r := range requirements {
			out.SetBool(validatorReachableAt, staking.NewDowntimeBudget(period, now, uptime, r.ratio).Reachable(), v.NodeID, r.label)
			if vote.Known() > 0 {
				out.Set(validatorVotesYes, vote.Yes(r.ratio), v.NodeID, r.label)
			}
		}
		if vote.own || !ups.Watched().Validators.All {
			shown = append(shown, dissent{v.NodeID, vote.Yes(requirement), vote.Dissenters(requirement, maxDissenters)})
		}
	}
	ups.Save(out, downtimeEntry, downtimes)
	listDissenters(out, shown)
	return nil
}

// downtimeEntry is the key of the stored value that holds the downtime of each validator in its period, by node ID.
const downtimeEntry = "downtime"

// polling holds what one run needs to count the votes on the monitored validators.
type polling struct {
	ups   *collector.Upstreams
	nodes []*nodes.Node
	ids   map[*nodes.Node]string // node IDs
	stake map[string]uint64      // in nAVAX, by node ID
	all   uint64                 // sum of stake
}

// vote is the vote on one validator's reward, if its period ended now.
type vote struct {
	staking.Poll
	own      bool     // the validator is a configured node
	percents bool     // the uptimes in Poll are whole percents, rounded down
	observed *float64 // uptime as observers report it; nil: Poll tells the uptime
}

func (v vote) uptime() (ratio float64, known bool) {
	if v.observed != nil {
		return *v.observed, true
	}
	return v.Uptime()
}

// votes returns the vote on each validator, by node ID. It uses up to three sources:
//  1. If the validator is a configured node, the node reports what its peers observed.
//  2. If the peers in source 1 have less than half of the stake, the other configured nodes report what they observed.
//     This is the case while the node is down or has just started. The source with more stake counts.
//  3. If the first two sources have no view of the validator, the observers report what they observed.
func (p polling) votes(ctx context.Context, entries []node.Validator) map[string]vote {
	votes := make(map[string]vote, len(entries))
	for _, v := range entries {
		votes[v.NodeID] = vote{}
	}
	// Several nodes may have the same ID: keep the vote with the most stake.
	keep := func(id string, views []staking.View, percents bool) {
		if poll := staking.NewPoll(views, p.all); poll.Known() > votes[id].Known() {
			votes[id] = vote{Poll: poll, own: votes[id].own, percents: percents}
		}
	}
	monitored := slices.DeleteFunc(slices.Clone(p.nodes), func(n *nodes.Node) bool { _, there := votes[p.ids[n]]; return !there })
	for _, n := range monitored {
		votes[p.ids[n]] = vote{own: true}
	}
	type observation struct {
		of    string
		views []staking.View
	}
	// errors are ignored: viewsOfNodes covers a node that is down
	fromPeers, _ := nodes.Each(ctx, monitored, nodes.BasisUptime, func(ctx context.Context, n *nodes.Node) (observation, error) {
		views, err := p.viewsFromPeers(ctx, n)
		return observation{p.ids[n], views}, err
	})
	for _, o := range fromPeers {
		keep(o.of, o.views, true)
	}
	const half = 0.5
	var unknown []string
	for id, v := range votes {
		if v.Known() < half {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) == 0 {
		return votes
	}
	ofNodes := p.viewsOfNodes(ctx)
	for _, id := range unknown {
		keep(id, ofNodes[id], false)
	}
	unknown = slices.DeleteFunc(unknown, func(id string) bool { _, known := votes[id].uptime(); return known })
	if len(unknown) == 0 {
		return votes
	}
	observed := p.observedUptimes(ctx)
	for _, id := range unknown {
		votes[id] = vote{own: votes[id].own, observed: observed[id]}
	}
	return votes
}

// observedUptimes returns the average of the uptimes that the observers report for the monitored validators, by node ID. An
// observer has no vote, because its stake is not known.
func (p polling) observedUptimes(ctx context.Context) map[string]*float64 {
	_, observers := p.ups.OfNetwork()
	lists, _ := nodes.Each(ctx, observers, nodes.BasisUptime, func(ctx context.Context, n *nodes.Node) ([]node.Validator, error) {
		return entriesOf(ctx, p.ups, n)
	})
	all := map[string][]float64{}
	for _, entries := range lists {
		for _, v := range entries {
			if v.Uptime != nil {
				all[v.NodeID] = append(all[v.NodeID], v.Uptime.Ratio())
			}
		}
	}
	average := map[string]*float64{}
	for id, uptimes := range all {
		var sum float64
		for _, u := range uptimes {
			sum += u
		}
		average[id] = new(sum / float64(len(uptimes)))
	}
	return average
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

// viewsOfNodes returns the uptimes of the monitored validators that the configured nodes observed, by node ID.
func (p polling) viewsOfNodes(ctx context.Context) map[string][]staking.View {
	type observation struct {
		by      string
		entries []node.Validator
	}
	observations, _ := nodes.Each(ctx, p.voters(), nodes.BasisUptime, func(ctx context.Context, n *nodes.Node) (observation, error) {
		entries, err := entriesOf(ctx, p.ups, n)
		return observation{p.ids[n], entries}, err
	})
	views := map[string][]staking.View{}
	for _, s := range observations {
		for _, v := range s.entries {
			if v.NodeID != s.by && v.Uptime != nil {
				views[v.NodeID] = append(views[v.NodeID], staking.View{NodeID: s.by, Stake: p.stake[s.by], Uptime: v.Uptime.Ratio()})
			}
		}
	}
	return views
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

// maxDissenters is the maximum number of dissenters to list for one validator. A dissenter is a peer that observed
// less uptime than the validator's reward requires.
const maxDissenters = 10

// dissent is what the table of dissenters shows about a validator.
type dissent struct {
	nodeID     string
	yes        float64 // share of yes votes
	dissenters []staking.View
}

// listDissenters adds a table of the dissenters of each validator. Validators with the fewest yes votes come first.
// With AVAX_VALIDATORS=all, the table has only your own validators.
func listDissenters(out *metric.Batch, shown []dissent) {
	t := metric.Table{
		About: fmt.Sprintf("Peers that observed less uptime than the reward of a validator requires: for each validator, the %d peers with the most stake.",
			maxDissenters),
		Columns: []string{"Validator", "Peer", "Stake of the peer in AVAX", "Observed uptime"},
	}
	slices.SortFunc(shown, func(a, b dissent) int { return cmp.Or(cmp.Compare(a.yes, b.yes), cmp.Compare(a.nodeID, b.nodeID)) })
	for _, v := range shown {
		for _, d := range v.dissenters {
			t.Rows = append(t.Rows, []string{
				v.nodeID, d.NodeID, strconv.FormatFloat(wire.NanoAVAX(d.Stake).AVAX(), 'f', -1, 64), strconv.FormatFloat(100*d.Uptime, 'f', 2, 64) + " %",
			})
		}
	}
	out.Table(t)
}
