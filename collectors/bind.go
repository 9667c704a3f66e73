package collectors

import (
	"context"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
)

// The functions below bind a collector: they define the targets of its jobs. perNode and perNodeAndChain are for
// facts about a node. perNodeOrObserver and perNodeOrObserverAndChain are for facts about the network that each node
// and observer reports separately. perNetwork and perChain are for facts that any node can report.

type (
	// binding returns the jobs of a collector.
	binding = func(*Upstreams) []Job

	networkCollect   = func(ctx context.Context, ups *Upstreams, out *metric.Batch) error
	chainCollect     = func(ctx context.Context, ups *Upstreams, c nodes.Chain, out *metric.Batch) error
	nodeCollect      = func(ctx context.Context, ups *Upstreams, n *nodes.Node, out *metric.Batch) error
	nodeChainCollect = func(ctx context.Context, ups *Upstreams, n *nodes.Node, c nodes.Chain, out *metric.Batch) error

	chainsOf = func(*nodes.Pool) []nodes.Chain
)

// perNode binds a collector to every node.
func perNode(collect nodeCollect) binding {
	return perNodeOf((*nodes.Pool).Nodes, func() nodeCollect { return collect })
}

// perObserver binds a collector to every observer.
func perObserver(collect nodeCollect) binding {
	return perNodeOf((*nodes.Pool).Observers, func() nodeCollect { return collect })
}

// perNodeOrObserver binds a collector to every node and every observer.
func perNodeOrObserver(collect nodeCollect) binding {
	run := func(ctx context.Context, ups *Upstreams, n *nodes.Node, out *metric.Batch) error {
		return n.Run(ctx, func() error { return collect(ctx, ups, n, out) })
	}
	return func(ups *Upstreams) []Job { return append(perNode(run)(ups), perObserver(run)(ups)...) }
}

// perNodeOf binds a collector that keeps for each node what it needs to know from earlier runs. No lock is needed for that, because
// the runs of a job do not overlap.
func perNodeOf(nodesOf func(*nodes.Pool) []*nodes.Node, begin func() nodeCollect) binding {
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

// perNetwork binds a collector to the network. There is one job, which may call any node or observer.
func perNetwork(collect networkCollect) binding {
	return perNetworkOf(func() networkCollect { return collect })
}

// perNetworkOf is like perNodeOf, for the network.
func perNetworkOf(begin func() networkCollect) binding {
	return func(ups *Upstreams) []Job {
		collect := begin()
		return []Job{{metric.Target{}, func(ctx context.Context, out *metric.Batch) error { return collect(ctx, ups, out) }}}
	}
}

// perItem binds a collector to every item of a watch list.
func perItem(items func(Watchlist) []string, collect func(ctx context.Context, ups *Upstreams, item string, out *metric.Batch) error) binding {
	return func(ups *Upstreams) (jobs []Job) {
		for _, item := range items(ups.Watch) {
			jobs = append(jobs, Job{metric.Target{Item: item}, func(ctx context.Context, out *metric.Batch) error {
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

// perChain binds a collector to every monitored chain. A job may call any node or observer.
func perChain(collect chainCollect) binding {
	return perChainOf((*nodes.Pool).Chains, func() chainCollect { return collect })
}

// perChainOf is like perNodeOf, for each chain.
func perChainOf(chains chainsOf, begin func() chainCollect) binding {
	return onEach(chains, func(c nodes.Chain) binding {
		collect := begin()
		return perNetwork(func(ctx context.Context, ups *Upstreams, out *metric.Batch) error { return collect(ctx, ups, c, out) })
	})
}

// perNodeAndChain binds a collector to every pair of a node and a chain.
func perNodeAndChain(chains chainsOf, collect nodeChainCollect) binding {
	return onEach(chains, func(c nodes.Chain) binding { return perNode(collectOn(c, collect)) })
}

// perNodeOrObserverAndChain binds a collector to every pair of a node or observer, and a chain.
func perNodeOrObserverAndChain(chains chainsOf, collect nodeChainCollect) binding {
	return onEach(chains, func(c nodes.Chain) binding { return perNodeOrObserver(collectOn(c, collect)) })
}

func collectOn(c nodes.Chain, collect nodeChainCollect) nodeCollect {
	return func(ctx context.Context, ups *Upstreams, n *nodes.Node, out *metric.Batch) error {
		return collect(ctx, ups, n, c, out)
	}
}

// perItemAndChain binds a collector to every item of a watch list on every monitored chain.
func perItemAndChain(items func(Watchlist) []string, collect func(ctx context.Context, ups *Upstreams, c nodes.Chain, item string, out *metric.Batch) error) binding {
	return onEach((*nodes.Pool).Chains, func(c nodes.Chain) binding {
		return perItem(items, func(ctx context.Context, ups *Upstreams, item string, out *metric.Batch) error {
			return collect(ctx, ups, c, item, out)
		})
	})
}

// withData wraps the field Bind of a collector that calls the Data service. If that service is not configured, there
// are no jobs. Each job determines the network before it calls the service.
func withData(bind binding) binding {
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
