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
	// Pace, if not nil, gives the default period where it depends on the watched validators.
	Pace func(Validators) time.Duration
	// Shares makes its runs use answers that other collectors got up to a period ago, in
	// place of half of one: it asks every node what others ask each node anyway.
	Shares bool
	// Off keeps it out of the defaults.
	Off bool
	// Probe makes a node's job run also when the calls to the node begin to fail or to
	// succeed.
	Probe bool
	// OnChange makes it run also when a node has stopped or begun to answer.
	OnChange bool
	// Families is everything that Collect may emit.
	Families []*metric.Family
	// Scope is the kind of targets that its jobs have.
	Scope metric.Scope
	// Bind makes the jobs, each with a target of its own. It asks nothing.
	Bind func(*Upstreams) []Job
	// Cost returns how often one run of so many jobs calls what at the Data service,
	// by the names in Calls, on a usual day: no history to be read, each list on one
	// page unless the collector says otherwise. Nil: it does not ask the Data service.
	Cost func(w Watchlist, jobs int) map[string]int
}

// Period returns the default period where these validators are watched.
func (s *Spec) Period(v Validators) time.Duration {
	if s.Pace != nil {
		return s.Pace(v)
	}
	return s.Every
}

// Jobs binds the collector: jobs about a node to the nodes of this shard, the others
// to the nodes of all shards. all is nil where another shard runs the others.
func (s *Spec) Jobs(shard, all *Upstreams) []Job {
	const perNode = metric.ScopeNode | metric.ScopeNodeChain
	if shard == all {
		return s.Bind(shard)
	}
	var jobs []Job
	bind := func(ups *Upstreams, scope metric.Scope) {
		if ups == nil || !s.Scope.Has(scope) {
			return
		}
		for _, j := range s.Bind(ups) {
			if scope.Has(j.Target.Scope()) {
				jobs = append(jobs, j)
			}
		}
	}
	bind(shard, perNode)
	bind(all, ^perNode)
	return jobs
}

// Job is a collector bound to a target.
type Job struct {
	Target metric.Target
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
		observer,
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
