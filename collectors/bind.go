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
	nodeCollect      func(ctx context.Context, ups *Upstreams, n *nodes.Node, out *metric.Batch) error
	nodeChainCollect func(ctx context.Context, ups *Upstreams, n *nodes.Node, c nodes.Chain, out *metric.Batch) error
)

// perNode binds a collector to every node.
func perNode(collect nodeCollect) func(*Upstreams) []Job { return collect.bind((*nodes.Pool).Nodes) }

// perNodeOrObserver binds a collector to every node and every observer.
func perNodeOrObserver(collect nodeCollect) func(*Upstreams) []Job {
	return nodeCollect(func(ctx context.Context, ups *Upstreams, n *nodes.Node, out *metric.Batch) error {
		return n.Run(func() error { return collect(ctx, ups, n, out) })
	}).bind((*nodes.Pool).All)
}

// perObserver binds a collector to every observer.
func perObserver(collect nodeCollect) func(*Upstreams) []Job {
	return collect.bind((*nodes.Pool).Observers)
}

func (collect nodeCollect) bind(nodesOf func(*nodes.Pool) []*nodes.Node) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		var jobs []Job
		for _, n := range nodesOf(ups.Pool) {
			jobs = append(jobs, Job{metric.Target{Node: n.Name()}, func(ctx context.Context, out *metric.Batch) error {
				return collect(ctx, ups, n, out)
			}})
		}
		return jobs
	}
}

// perNodeAndChain binds a collector to every pair of a node and a chain.
func perNodeAndChain(chains func(*nodes.Pool) []nodes.Chain, collect nodeChainCollect) func(*Upstreams) []Job {
	return collect.bind((*nodes.Pool).Nodes, chains)
}

// perNodeOrObserverAndChain binds a collector to every pair of a node or observer, and a chain.
func perNodeOrObserverAndChain(chains func(*nodes.Pool) []nodes.Chain, collect nodeChainCollect) func(*Upstreams) []Job {
	return nodeChainCollect(func(ctx context.Context, ups *Upstreams, n *nodes.Node, c nodes.Chain, out *metric.Batch) error {
		return n.Run(func() error { return collect(ctx, ups, n, c, out) })
	}).bind((*nodes.Pool).All, chains)
}

func (collect nodeChainCollect) bind(nodesOf func(*nodes.Pool) []*nodes.Node, chains func(*nodes.Pool) []nodes.Chain) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		var jobs []Job
		for _, n := range nodesOf(ups.Pool) {
			for _, c := range chains(ups.Pool) {
				jobs = append(jobs, Job{metric.Target{Node: n.Name(), Chain: c.Name}, func(ctx context.Context, out *metric.Batch) error {
					return collect(ctx, ups, n, c, out)
				}})
			}
		}
		return jobs
	}
}

// perChain binds a collector to every monitored chain. A job may call any node or observer.
func perChain(collect func(ctx context.Context, ups *Upstreams, c nodes.Chain, out *metric.Batch) error) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		var jobs []Job
		for _, c := range ups.Chains() {
			jobs = append(jobs, Job{metric.Target{Chain: c.Name}, func(ctx context.Context, out *metric.Batch) error {
				return collect(ctx, ups, c, out)
			}})
		}
		return jobs
	}
}

// perNetwork binds a collector to the network. There is one job, which may call any node or observer.
func perNetwork(collect func(ctx context.Context, ups *Upstreams, out *metric.Batch) error) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		return []Job{{metric.Target{}, func(ctx context.Context, out *metric.Batch) error { return collect(ctx, ups, out) }}}
	}
}

// perItem binds a collector to every item of a watch list.
func perItem(items func(Watchlist) []string, collect func(ctx context.Context, ups *Upstreams, item string, out *metric.Batch) error) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		var jobs []Job
		for _, item := range items(ups.Watch) {
			jobs = append(jobs, Job{metric.Target{Item: item}, func(ctx context.Context, out *metric.Batch) error {
				return collect(ctx, ups, item, out)
			}})
		}
		return jobs
	}
}

// perItemAndChain binds a collector to every item of a watch list on every monitored chain.
func perItemAndChain(items func(Watchlist) []string, collect func(ctx context.Context, ups *Upstreams, c nodes.Chain, item string, out *metric.Batch) error) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		var jobs []Job
		for _, item := range items(ups.Watch) {
			for _, c := range ups.Chains() {
				jobs = append(jobs, Job{metric.Target{Item: item, Chain: c.Name}, func(ctx context.Context, out *metric.Batch) error {
					return collect(ctx, ups, c, item, out)
				}})
			}
		}
		return jobs
	}
}

// withData wraps the field Bind of a collector that calls the Data service. If that service is not configured, there
// are no jobs. Each job determines the network before it calls the service.
func withData(bind func(*Upstreams) []Job) func(*Upstreams) []Job {
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
