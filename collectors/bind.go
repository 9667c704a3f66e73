package collectors

import (
	"context"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// The functions below bind a collector: they define the targets of its jobs. perNode and perNodeAndChain are for
// facts about a node. perNodeOrObserver and perNodeOrObserverAndChain are for facts about the network that each node
// and observer reports separately. perNetwork and perChain are for facts that any node can report.

type (
	nodeCollect      func(ctx context.Context, t *Targets, n *Node, out *metric.Batch) error
	nodeChainCollect func(ctx context.Context, t *Targets, n *Node, c Chain, out *metric.Batch) error
)

// perNode binds a collector to every node.
func perNode(collect nodeCollect) func(*Upstreams) []Job { return collect.bind((*Targets).Nodes) }

// perNodeOrObserver binds a collector to every node and every observer.
func perNodeOrObserver(collect nodeCollect) func(*Upstreams) []Job {
	return nodeCollect(func(ctx context.Context, t *Targets, n *Node, out *metric.Batch) error {
		return n.runCollector(func() error { return collect(ctx, t, n, out) })
	}).bind((*Targets).nodesAndObservers)
}

// perObserver binds a collector to every observer.
func perObserver(collect nodeCollect) func(*Upstreams) []Job {
	return collect.bind((*Targets).Observers)
}

func (collect nodeCollect) bind(nodesOf func(*Targets) []*Node) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		var jobs []Job
		for _, n := range nodesOf(ups.Targets) {
			jobs = append(jobs, Job{metric.Target{Node: n.Name()}, func(ctx context.Context, out *metric.Batch) error {
				return collect(ctx, ups.Targets, n, out)
			}})
		}
		return jobs
	}
}

// perNodeAndChain binds a collector to every pair of a node and a chain.
func perNodeAndChain(chains func(*Targets) []Chain, collect nodeChainCollect) func(*Upstreams) []Job {
	return collect.bind((*Targets).Nodes, chains)
}

// perNodeOrObserverAndChain binds a collector to every pair of a node or observer, and a chain.
func perNodeOrObserverAndChain(chains func(*Targets) []Chain, collect nodeChainCollect) func(*Upstreams) []Job {
	return nodeChainCollect(func(ctx context.Context, t *Targets, n *Node, c Chain, out *metric.Batch) error {
		return n.runCollector(func() error { return collect(ctx, t, n, c, out) })
	}).bind((*Targets).nodesAndObservers, chains)
}

func (collect nodeChainCollect) bind(nodesOf func(*Targets) []*Node, chains func(*Targets) []Chain) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		var jobs []Job
		for _, n := range nodesOf(ups.Targets) {
			for _, c := range chains(ups.Targets) {
				jobs = append(jobs, Job{metric.Target{Node: n.Name(), Chain: c.Name}, func(ctx context.Context, out *metric.Batch) error {
					return collect(ctx, ups.Targets, n, c, out)
				}})
			}
		}
		return jobs
	}
}

// perChain binds a collector to every monitored chain. A job may call any node or observer.
func perChain(collect func(ctx context.Context, t *Targets, c Chain, out *metric.Batch) error) func(*Upstreams) []Job {
	return perServiceChain(func(ctx context.Context, ups *Upstreams, c Chain, out *metric.Batch) error {
		return collect(ctx, ups.Targets, c, out)
	})
}

// perServiceChain binds a collector of a service to every monitored chain.
func perServiceChain(collect func(ctx context.Context, ups *Upstreams, c Chain, out *metric.Batch) error) func(*Upstreams) []Job {
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
func perNetwork(collect func(ctx context.Context, t *Targets, out *metric.Batch) error) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		return []Job{{metric.Target{}, func(ctx context.Context, out *metric.Batch) error {
			return collect(ctx, ups.Targets, out)
		}}}
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
func perItemAndChain(items func(Watchlist) []string, collect func(ctx context.Context, ups *Upstreams, c Chain, item string, out *metric.Batch) error) func(*Upstreams) []Job {
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
