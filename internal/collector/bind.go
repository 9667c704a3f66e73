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
	// binding returns the jobs of a collector.
	binding = func(*Upstreams) []Job

	NetworkCollect   = func(ctx context.Context, ups *Upstreams, out *metric.Batch) error
	ChainCollect     = func(ctx context.Context, ups *Upstreams, c nodes.Chain, out *metric.Batch) error
	NodeCollect      = func(ctx context.Context, ups *Upstreams, n *nodes.Node, out *metric.Batch) error
	nodeChainCollect = func(ctx context.Context, ups *Upstreams, n *nodes.Node, c nodes.Chain, out *metric.Batch) error

	chainsOf = func(*nodes.Pool) []nodes.Chain
)

// PerNode binds a collector to every node.
func PerNode(collect NodeCollect) binding {
	return PerNodeOf((*nodes.Pool).Nodes, func() NodeCollect { return collect })
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
func PerNodeOf(nodesOf func(*nodes.Pool) []*nodes.Node, begin func() NodeCollect) binding {
	return func(ups *Upstreams) (jobs []Job) {
		for _, n := range nodesOf(ups.Pool) {
			collect := begin()
			jobs = append(jobs, Job{metric.Target{Node: n.Name()}, func(ctx context.Context, out *metric.Batch) error {
				return collect(ctx, ups, n, out)
			}})
		}
		return jobs
	}
}

// PerNetwork binds a collector to the network. There is one job, which may call any node or observer.
func PerNetwork(collect NetworkCollect) binding {
	return PerNetworkOf(func() NetworkCollect { return collect })
}

// PerNetworkOf is like PerNodeOf, for the network.
func PerNetworkOf(begin func() NetworkCollect) binding {
	return func(ups *Upstreams) []Job {
		collect := begin()
		return []Job{{metric.Target{}, func(ctx context.Context, out *metric.Batch) error { return collect(ctx, ups, out) }}}
	}
}

// PerItem binds a collector to every item of a watch list. The target is the item's name. A reload may change the value of a name: the next run
// uses the new value.
func PerItem(items func(Watchlist) []Item, collect func(ctx context.Context, ups *Upstreams, item Item, out *metric.Batch) error) binding {
	return func(ups *Upstreams) (jobs []Job) {
		for _, item := range items(ups.Watched()) {
			jobs = append(jobs, Job{metric.Target{Item: item.Name}, func(ctx context.Context, out *metric.Batch) error {
				if value, found := valueOf(items(ups.Watched()), item.Name); found {
					item.Value = value
				}
				return collect(ctx, ups, item, out)
			}})
		}
		return jobs
	}
}

// onEach joins the jobs of each chain.
func onEach(chains chainsOf, bind func(nodes.Chain) binding) binding {
	return func(ups *Upstreams) (jobs []Job) {
		for _, c := range chains(ups.Pool) {
			for _, j := range bind(c)(ups) {
				j.Target.Chain = c.Name
				jobs = append(jobs, j)
			}
		}
		return jobs
	}
}

// PerChain binds a collector to every monitored chain. A job may call any node or observer.
func PerChain(collect ChainCollect) binding {
	return PerChainOf((*nodes.Pool).Chains, func() ChainCollect { return collect })
}

// PerChainOf is like PerNodeOf, for each chain.
func PerChainOf(chains chainsOf, begin func() ChainCollect) binding {
	return onEach(chains, func(c nodes.Chain) binding {
		collect := begin()
		return PerNetwork(func(ctx context.Context, ups *Upstreams, out *metric.Batch) error { return collect(ctx, ups, c, out) })
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
func PerItemAndChain(items func(Watchlist) []Item, collect func(ctx context.Context, ups *Upstreams, c nodes.Chain, item Item,
	out *metric.Batch) error) binding {
	return onEach((*nodes.Pool).Chains, func(c nodes.Chain) binding {
		return PerItem(items, func(ctx context.Context, ups *Upstreams, item Item, out *metric.Batch) error {
			return collect(ctx, ups, c, item, out)
		})
	})
}

// WithData wraps the field Bind of a collector that calls the Data service. If that service is not configured, there
// are no jobs. Each job determines the network before it calls the service.
func WithData(bind binding) binding {
	return func(ups *Upstreams) []Job {
		if ups.Data == nil {
			return nil
		}
		jobs := bind(ups)
		for i, j := range jobs {
			jobs[i].Collect = func(ctx context.Context, out *metric.Batch) error {
				if _, err := ups.FindNetwork(ctx); err != nil {
					return err
				}
				return j.Collect(ctx, out)
			}
		}
		return jobs
	}
}
