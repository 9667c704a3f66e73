// Package collectors makes the calls to nodes and services and turns the answers into samples. Each
// collector is one file with its families, its Spec and one function. All lists the collectors; there is
// no other registration.
package collectors

import (
	"context"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// Spec declares a collector.
type Spec struct {
	// Name is the key in the configuration and the log, and the label collector.
	Name string
	// Help describes in one sentence what the collector exports.
	Help string
	// Calls are the upstream methods that it calls, by their names in the API.
	Calls []string
	// Every is the default period. A cron expression may replace it.
	Every time.Duration
	// EveryFor, if not nil, returns the default period if it depends on the monitored validators.
	EveryFor func(Validators) time.Duration
	// Shares lets its runs use answers that other collectors got up to a period ago, instead of half a
	// period. Use it for a collector whose calls to every node are also made by other collectors.
	Shares bool
	// Off removes the collector from the defaults.
	Off bool
	// Probe also runs a node's job when calls to the node begin to fail or to succeed.
	Probe bool
	// OnChange also runs the collector when a node stops or begins to answer.
	OnChange bool
	// Families are all families that Collect may set.
	Families []*metric.Family
	// Scope is the kind of target of its jobs.
	Scope metric.Scope
	// Bind makes the jobs, each with its own target. It makes no calls.
	Bind func(*Upstreams) []Job
	// Cost returns the number of calls to the Data service that one run of this many jobs makes, by the names in
	// Calls. It assumes that no history must be read, and that each list has one page unless the collector says
	// otherwise. Nil: the collector does not call the Data service.
	Cost func(w Watchlist, jobs int) map[string]int
}

// Period returns the default period for these monitored validators.
func (s *Spec) Period(v Validators) time.Duration {
	if s.EveryFor != nil {
		return s.EveryFor(v)
	}
	return s.Every
}

// Jobs binds the collector: jobs about a node to the nodes of this shard, the others to the nodes of all
// shards. all is nil if another shard runs the others.
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
	// Collect makes the calls and fills the batch. After an error the batch is dropped, except after
	// ErrNotOffered.
	Collect func(ctx context.Context, out *metric.Batch) error
}

// All returns every collector, in the order of the pages.
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

// fullSetEvery is the minimum time between requests for a whole validator set. On Mainnet the
// answer is larger than 1 MB, and the node iterates over all stakers to build it.
const fullSetEvery = 5 * time.Minute

// slowFacts is the maximum age of answers that change only with an upgrade or a transaction, such as
// identities and the list of blockchains.
const slowFacts = 10 * time.Minute
