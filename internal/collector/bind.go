package collector

import (
	"cmp"
	"context"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/nodes"
)

// Subject is what a job is about. A field that does not apply is zero.
type Subject struct {
	Node  *nodes.Node
	Chain nodes.Chain
	Item  Item // of a watch list; its name is part of the target

	checkNetwork bool // before each run: the node is an observer, and the samples are about the network of the nodes
}

func (s Subject) target() metric.Target {
	t := metric.Target{Chain: s.Chain.Name, Item: s.Item.Name}
	if s.Node != nil {
		t.Node = s.Node.Name()
	}
	return t
}

// Subjects lists what the jobs of a collector are about. It calls no upstream.
type Subjects func(*Upstreams) []Subject

// Network is the subject of a single job, which may call any node or observer.
func Network(*Upstreams) []Subject { return []Subject{{}} }

// Nodes are the configured nodes, for facts about a node.
func Nodes(ups *Upstreams) []Subject {
	return subjects(ups.Pool.Nodes(), func(n *nodes.Node) Subject { return Subject{Node: n} })
}

// Observers are the observers, for facts about an observer.
func Observers(ups *Upstreams) []Subject {
	return subjects(ups.Pool.Observers(), func(n *nodes.Node) Subject { return Subject{Node: n} })
}

// NodesAndObservers are for facts about the network that each node and observer reports separately. The run of an observer of another network
// fails.
func NodesAndObservers(ups *Upstreams) []Subject {
	return append(Nodes(ups), subjects(ups.Pool.Observers(), func(n *nodes.Node) Subject { return Subject{Node: n, checkNetwork: true} })...)
}

// Chains are the monitored chains: the C-Chain and those of subnets. A job may call any node or observer.
func Chains(ups *Upstreams) []Subject { return ofChains(ups.Pool.Chains()) }

// SubnetChains are the monitored chains of subnets.
func SubnetChains(ups *Upstreams) []Subject { return ofChains(ups.Pool.SubnetChains()) }

// AllChains are Chains, the P-Chain and the X-Chain.
func AllChains(ups *Upstreams) []Subject { return ofChains(ups.Pool.AllChains()) }

func ofChains(all []nodes.Chain) []Subject {
	return subjects(all, func(c nodes.Chain) Subject { return Subject{Chain: c} })
}

// Items are the items of a watch list. A reload may change the value of a name: the next run uses the new value.
func Items(list func(Watchlist) []Item) Subjects {
	return func(ups *Upstreams) []Subject {
		return subjects(list(ups.Watched()), func(i Item) Subject { return Subject{Item: i} })
	}
}

func subjects[T any](of []T, subject func(T) Subject) (all []Subject) {
	for _, one := range of {
		all = append(all, subject(one))
	}
	return all
}

// Pairs are all pairs of subjects: for each of the outer ones, all inner ones.
func Pairs(outer, inner Subjects) Subjects {
	return func(ups *Upstreams) (all []Subject) {
		for _, a := range outer(ups) {
			for _, b := range inner(ups) {
				all = append(all, Subject{cmp.Or(a.Node, b.Node), cmp.Or(a.Chain, b.Chain), cmp.Or(a.Item, b.Item), a.checkNetwork || b.checkNetwork})
			}
		}
		return all
	}
}

// Collect calls the upstreams and fills the batch. If it returns an error, the batch is dropped, unless the error is metric.ErrNotOffered or has
// metric.WithSamples.
type Collect func(ctx context.Context, ups *Upstreams, on Subject, out *metric.Batch) error

// Per binds a collector: it has one job for each subject.
func Per(of Subjects, collect Collect) func(*Upstreams) []Job {
	return PerBegin(of, func() Collect { return collect })
}

// PerBegin binds a collector that keeps for each subject what it needs to know from earlier runs. No lock is needed for that, because the runs
// of a job do not overlap.
func PerBegin(of Subjects, begin func() Collect) func(*Upstreams) []Job {
	return func(ups *Upstreams) (jobs []Job) {
		for _, on := range of(ups) {
			collect := begin()
			jobs = append(jobs, Job{on.target(), func(ctx context.Context, out *metric.Batch) error {
				if on.Item != (Item{}) { // a reload may have changed its value
					for _, now := range of(ups) {
						if now.target() == on.target() {
							on.Item = now.Item
						}
					}
				}
				if on.checkNetwork {
					return on.Node.Run(ctx, func() error { return collect(ctx, ups, on, out) })
				}
				return collect(ctx, ups, on, out)
			}})
		}
		return jobs
	}
}

// PerWithData is like Per, for a collector that calls the Data service. If that service is not configured, there are no jobs. Each run determines
// the network before it calls the service.
func PerWithData(of Subjects, collect Collect) func(*Upstreams) []Job {
	withData := func(ups *Upstreams) []Subject {
		if ups.Data == nil {
			return nil
		}
		return of(ups)
	}
	return Per(withData, func(ctx context.Context, ups *Upstreams, on Subject, out *metric.Batch) error {
		if _, err := ups.FindNetwork(ctx); err != nil {
			return err
		}
		return collect(ctx, ups, on, out)
	})
}

// Service is the Data service, if it is configured.
func Service(ups *Upstreams) []Subject {
	if ups.Data == nil {
		return nil
	}
	return []Subject{{Item: Item{Name: "data"}}}
}
