package collectors

import (
	"context"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

// perNode binds a collector to every node.
func perNode(collect func(ctx context.Context, t *Targets, n *Node, out *metric.Batch) error) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		var jobs []Job
		for _, n := range ups.Nodes() {
			jobs = append(jobs, Job{metric.Target{Node: n.Name()}, func(ctx context.Context, out *metric.Batch) error {
				return collect(ctx, ups.Targets, n, out)
			}})
		}
		return jobs
	}
}

// perNodeAndChain binds a collector to every node and each of the chains.
func perNodeAndChain(chains func(*Targets) []Chain, collect func(ctx context.Context, t *Targets, n *Node, c Chain, out *metric.Batch) error) func(*Upstreams) []Job {
	return func(ups *Upstreams) []Job {
		var jobs []Job
		for _, n := range ups.Nodes() {
			for _, c := range chains(ups.Targets) {
				jobs = append(jobs, Job{metric.Target{Node: n.Name(), Chain: c.Name}, func(ctx context.Context, out *metric.Batch) error {
					return collect(ctx, ups.Targets, n, c, out)
				}})
			}
		}
		return jobs
	}
}

// perChain binds a collector to every followed chain, asked of any node.
func perChain(collect func(ctx context.Context, t *Targets, c Chain, out *metric.Batch) error) func(*Upstreams) []Job {
	return perServiceChain(func(ctx context.Context, ups *Upstreams, c Chain, out *metric.Batch) error {
		return collect(ctx, ups.Targets, c, out)
	})
}

// perServiceChain binds a collector to every followed chain, asked of a service.
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

// perNetwork binds a collector to the network as a whole, asked of any node.
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

// perItemAndChain binds a collector to every item of a watch list on every followed chain.
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

// withData makes no jobs where the Data service is not configured. Each job knows the network before it asks.
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
