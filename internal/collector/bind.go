package collector

import (
	"context"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
)

// The functions below bind a collector: they define the targets of its jobs. PerNode and PerNodeAndChain are for
// facts about a node. PerNodeOrObserver and PerNodeOrObserverAndChain are for facts about the network that each node
// and observer reports separately. PerNetwork and PerChain are for facts that any node can report.

type (
	// binding returns the jobs of a collector, and bindingOf those of one that may need a Data service.
	binding            = bindingOf[*Upstreams]
	bindingOf[U bound] = func(U) []Job

	NetworkCollect = networkCollect[*Upstreams]
	ChainCollect   = chainCollect[*Upstreams]
	NodeCollect    = nodeCollect[*Upstreams]

	networkCollect[U bound] = func(ctx context.Context, ups U, out *metric.Batch) error
	chainCollect[U bound]   = func(ctx context.Context, ups U, c nodes.Chain, out *metric.Batch) error
	nodeCollect[U bound]    = func(ctx context.Context, ups U, n *nodes.Node, out *metric.Batch) error
	itemCollect[U bound]    = func(ctx context.Context, ups U, item Item, out *metric.Batch) error

	nodeChainCollect = func(ctx context.Context, ups *Upstreams, n *nodes.Node, c nodes.Chain, out *metric.Batch) error

	chainsOf = func(*nodes.Pool) []nodes.Chain
)

// PerNode binds a collector to every node.
func PerNode[U bound](collect nodeCollect[U]) bindingOf[U] {
	return PerNodeOf((*nodes.Pool).Nodes, func() nodeCollect[U] { return collect })
}

// PerObserver binds a collector to every observer.
func PerObserver(collect NodeCollect) binding {
	return PerNodeOf((*nodes.Pool).Observers, func() NodeCollect { return collect })
}

// PerNodeOrObserver binds a collector to every node and every observer.
func PerNodeOrObserver(collect NodeCollect) binding {
	run := func(ctx context.Context, ups *Upstreams, n *nodes.Node, out *metric.Batch) error {
		return n.Run(ctx, func() error { return collect(ctx, ups, n, out) })
	}
	return func(ups *Upstreams) []Job { return append(PerNode(run)(ups), PerObserver(run)(ups)...) }
}

// PerNodeOf binds a collector that keeps for each node what it needs to know from earlier runs. No lock is needed for that, because
// the runs of a job do not overlap.
func PerNodeOf[U bound](nodesOf func(*nodes.Pool) []*nodes.Node, begin func() nodeCollect[U]) bindingOf[U] {
	return func(ups U) (jobs []Job) {
		for _, n := range nodesOf(ups.base().Pool) {
			collect := begin()
			jobs = append(jobs, Job{metric.Target{Node: n.Name()}, func(ctx context.Context, out *metric.Batch) error {
				return collect(ctx, ups, n, out)
			}})
		}
		return jobs
	}
}

// PerNetwork binds a collector to the network. There is one job, which may call any node or observer.
func PerNetwork[U bound](collect networkCollect[U]) bindingOf[U] {
	return PerNetworkOf(func() networkCollect[U] { return collect })
}

// PerNetworkOf is like PerNodeOf, for the network.
func PerNetworkOf[U bound](begin func() networkCollect[U]) bindingOf[U] {
	return func(ups U) []Job {
		collect := begin()
		return []Job{{metric.Target{}, func(ctx context.Context, out *metric.Batch) error { return collect(ctx, ups, out) }}}
	}
}

// PerItem binds a collector to every item of a watch list. The target is the item's name. A reload may change the value of a name: the next run
// uses the new value.
func PerItem[U bound](items func(Watchlist) []Item, collect itemCollect[U]) bindingOf[U] {
	return func(ups U) (jobs []Job) {
		for _, item := range items(ups.base().Watched()) {
			jobs = append(jobs, Job{metric.Target{Item: item.Name}, func(ctx context.Context, out *metric.Batch) error {
				if value, found := valueOf(items(ups.base().Watched()), item.Name); found {
					item.Value = value
				}
				return collect(ctx, ups, item, out)
			}})
		}
		return jobs
	}
}

// onEach joins the jobs of each chain.
func onEach[U bound](chains chainsOf, bind func(nodes.Chain) bindingOf[U]) bindingOf[U] {
	return func(ups U) (jobs []Job) {
		for _, c := range chains(ups.base().Pool) {
			for _, j := range bind(c)(ups) {
				j.Target.Chain = c.Name
				jobs = append(jobs, j)
			}
		}
		return jobs
	}
}

// PerChain binds a collector to every monitored chain. A job may call any node or observer.
func PerChain[U bound](collect chainCollect[U]) bindingOf[U] {
	return PerChainOf((*nodes.Pool).Chains, func() chainCollect[U] { return collect })
}

// PerChainOf is like PerNodeOf, for each chain.
func PerChainOf[U bound](chains chainsOf, begin func() chainCollect[U]) bindingOf[U] {
	return onEach(chains, func(c nodes.Chain) bindingOf[U] {
		collect := begin()
		return PerNetwork(func(ctx context.Context, ups U, out *metric.Batch) error { return collect(ctx, ups, c, out) })
	})
}

// PerNodeAndChain binds a collector to every pair of a node and a chain.
func PerNodeAndChain(chains chainsOf, collect nodeChainCollect) binding {
	return onEach(chains, func(c nodes.Chain) binding { return PerNode(collectOn(c, collect)) })
}

// PerNodeOrObserverAndChain binds a collector to every pair of a node or observer, and a chain.
func PerNodeOrObserverAndChain(chains chainsOf, collect nodeChainCollect) binding {
	return onEach(chains, func(c nodes.Chain) binding { return PerNodeOrObserver(collectOn(c, collect)) })
}

func collectOn(c nodes.Chain, collect nodeChainCollect) NodeCollect {
	return func(ctx context.Context, ups *Upstreams, n *nodes.Node, out *metric.Batch) error {
		return collect(ctx, ups, n, c, out)
	}
}

// PerItemAndChain binds a collector to every item of a watch list on every monitored chain.
func PerItemAndChain[U bound](items func(Watchlist) []Item, collect func(ctx context.Context, ups U, c nodes.Chain, item Item,
	out *metric.Batch) error) bindingOf[U] {
	return onEach((*nodes.Pool).Chains, func(c nodes.Chain) bindingOf[U] {
		return PerItem(items, func(ctx context.Context, ups U, item Item, out *metric.Batch) error {
			return collect(ctx, ups, c, item, out)
		})
	})
}

// WithService wraps the field Bind of a collector that calls the Data service. If that service is not configured, there are no jobs.
func WithService(bind bindingOf[Served]) binding {
	return func(ups *Upstreams) []Job {
		if served, is := ups.Served(); is {
			return bind(served)
		}
		return nil
	}
}

// WithData is like WithService. Each job determines the network before it calls the service.
func WithData(bind bindingOf[Served]) binding {
	return WithService(func(served Served) []Job {
		jobs := bind(served)
		for i, j := range jobs {
			jobs[i].Collect = func(ctx context.Context, out *metric.Batch) error {
				if _, err := served.FindNetwork(ctx); err != nil {
					return err
				}
				return j.Collect(ctx, out)
			}
		}
		return jobs
	})
}
