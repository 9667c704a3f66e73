// Package collectors holds what the exporter asks and what it makes of the
// answers: one file per collector, with its families, its Spec and one
// function. All lists them; there is no other registration.
package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// Spec declares a collector.
type Spec struct {
	// Name is the key in the configuration, in the log, and the label collector.
	Name string
	// Help says in one sentence what it watches.
	Help string
	// Calls are the upstream methods it asks, as the interface spells them.
	Calls []string
	// Every is the default period; a cron expression may replace it.
	Every time.Duration
	// Pace, if not nil, gives the default period where it depends on who is watched.
	Pace func(Watch) time.Duration
	// Off keeps it out of the defaults.
	Off bool
	// Families is everything that Collect may emit.
	Families []*metric.Family
	// Bind makes the jobs: one per node, per node and chain, per chain, per
	// watched item, or one for the network. It asks nothing.
	Bind func(*Upstreams) []Job
	// Cost tells of a collector that asks the Data service how often one run of
	// all its jobs calls what, by the names in Calls, on a usual day: no history
	// to be read, each list on one page unless the collector says otherwise. Nil:
	// it asks the Data service nothing. It asks nothing itself.
	Cost func(*Upstreams) map[string]int
}

// Period is the default period where these validators are watched.
func (s *Spec) Period(w Watch) time.Duration {
	if s.Pace != nil {
		return s.Pace(w)
	}
	return s.Every
}

// Job is a collector bound to what it watches.
type Job struct {
	// Target names it: a node, node/chain, a chain, an address, address/chain,
	// another watched item, or "network".
	Target string
	// Collect asks, and fills the batch. On an error the batch is dropped,
	// unless it is ErrNotOffered.
	Collect func(ctx context.Context, out *metric.Batch) error
}

// All returns every collector, in the order in which pages show them.
func All() []*Spec {
	return []*Spec{
		up,
		identity,
		fleet,
		bootstrap,
		uptime,
		peers,
		connectedStake,
		health,
		upgrades,
		acps,
		admin,
		network,
		networkViews,
		supply,
		validators,
		validatorViews,
		rewardBudget,
		addresses,
		assets,
		heads,
		blocks,
		forks,
		chainStatus,
		chainInfo,
		chainConfig,
		chainRules,
		feeConfig,
		l1,
		l1Views,
		l1Runway,
		safeToStop,
		variants,
		tps,
		dataUp,
		dataIndex,
		dataBlockchains,
		subnets,
		rewards,
		nativeBalances,
		collectibles,
		transfers,
		internalTransactions,
		deployments,
		assetTransactions,
		icm,
		signatures,
		nftMetadata,
	}
}

// fullSetEvery is how often a whole validator set may be asked: on the main
// network that answer has more than a megabyte and walks every staker.
const fullSetEvery = 5 * time.Minute

// slowFacts is how old an answer may be that changes with an upgrade or a
// transaction at most: identities, the list of blockchains.
const slowFacts = 10 * time.Minute

// perNode binds a collector to every node.
func perNode(collect func(ctx context.Context, ups *Upstreams, n *Node, out *metric.Batch) error) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		var jobs []Job
		for _, n := range ups.Nodes() {
			jobs = append(jobs, Job{n.Name(), func(ctx context.Context, out *metric.Batch) error {
				return collect(ctx, ups, n, out)
			}})
		}
		return jobs
	}
}

// perNodeAndChain binds a collector to every node and each of the chains.
func perNodeAndChain(chains func(*Upstreams) []Chain, collect func(ctx context.Context, n *Node, c Chain, out *metric.Batch) error) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		var jobs []Job
		for _, n := range ups.Nodes() {
			for _, c := range chains(ups) {
				jobs = append(jobs, Job{n.Name() + "/" + c.Name, func(ctx context.Context, out *metric.Batch) error {
					return collect(ctx, n, c, out)
				}})
			}
		}
		return jobs
	}
}

// perChain binds a collector to every followed chain, asked of any node.
func perChain(collect func(ctx context.Context, ups *Upstreams, c Chain, out *metric.Batch) error) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		var jobs []Job
		for _, c := range ups.Chains() {
			jobs = append(jobs, Job{c.Name, func(ctx context.Context, out *metric.Batch) error {
				return collect(ctx, ups, c, out)
			}})
		}
		return jobs
	}
}

// once binds a collector to the network as a whole, asked of any node.
func once(collect func(ctx context.Context, ups *Upstreams, out *metric.Batch) error) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		return []Job{{"network", func(ctx context.Context, out *metric.Batch) error {
			return collect(ctx, ups, out)
		}}}
	}
}
