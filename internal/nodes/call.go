package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// DivideTime returns a context that ends after 1/n of the time until the deadline of ctx.
func DivideTime(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(n))
}

// First calls the nodes and observers of the expected network one after the other, and returns the first answer.
// Healthy nodes are called first, then healthy observers, then all others. If a node does not offer the method, or does not run the chain, First calls
// the next node. After three nodes that do not offer the method, or one if some nodes or chains lack it, this
// error is the result. Each call except the last may
// take half of the remaining time, so that a hanging node leaves time for the next call.
func First[T any](ctx context.Context, p *Pool, _ Basis, call func(context.Context, *Node) (T, error)) (T, error) {
	own, observers := p.OfNetwork()
	return firstOf(ctx, slices.Concat(own, observers), call)
}

// firstOf is like First, but calls only these nodes.
func firstOf[T any](ctx context.Context, order []*Node, call func(context.Context, *Node) (T, error)) (T, error) {
	slices.SortStableFunc(order, func(a, b *Node) int { return rank(a) - rank(b) })
	var zero T
	var errs []error
	missing := 0
	for i, n := range order {
		parts := 2
		if i == len(order)-1 {
			parts = 1
		}
		limited, cancel := DivideTime(ctx, parts)
		wait, stop := n.wait(limited, parts > 1)
		v, err := checked(wait, n, call)
		stop()
		cancel()
		if err == nil || node.MayLack(err) && !n.Observer {
			return v, err
		}
		errs = append(errs, &CallError{n, n.asNotOffered(err)})
		if node.IsNotOffered(err) && !n.Observer {
			missing++
		}
		if ctx.Err() != nil || missing == askedFirst {
			break
		}
	}
	return zero, noAnswer(len(order), errs)
}

// checked makes a call about the network if the node belongs to it.
func checked[T any](ctx context.Context, n *Node, call func(context.Context, *Node) (T, error)) (T, error) {
	if err := n.Belongs(ctx); err != nil {
		var none T
		return none, err
	}
	return call(ctx, n)
}

// rank is the order of calls: healthy nodes, then healthy observers, then unhealthy nodes and observers.
func rank(n *Node) int {
	switch {
	case !n.Healthy():
		return 2
	case n.Observer:
		return 1
	}
	return 0
}

// wait returns the context for a call to the node. If there are other nodes to call, the context also ends when the
// node does not answer an up probe.
func (n *Node) wait(ctx context.Context, others bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if !others {
		return ctx, cancel
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	stop := context.AfterFunc(n.waiters, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// Each calls all these nodes concurrently and returns the answers in the order of the nodes. It omits nodes of another network and those whose call
// fails, and returns an error only if all calls fail. The calls end after half of the remaining time.
func Each[T any](ctx context.Context, all []*Node, _ Basis, call func(context.Context, *Node) (T, error)) ([]T, error) {
	ctx, cancel := DivideTime(ctx, 2)
	defer cancel()
	return each(ctx, all, func(ctx context.Context, n *Node) (T, error) { return checked(ctx, n, call) })
}

// each is like Each, but the nodes may belong to any network, and the calls may take all of the remaining time.
func each[T any](ctx context.Context, all []*Node, call func(context.Context, *Node) (T, error)) ([]T, error) {
	_, found, errs := callAll(ctx, all, len(all) > 1, call)
	if len(found) == 0 {
		return nil, noAnswer(len(all), errs)
	}
	return found, nil
}

// callAll calls nodes concurrently. It returns the nodes that answered, their answers in the order of the nodes, and the errors of the others. If others
// could answer, a call also ends when its node does not answer an up probe.
func callAll[T any](ctx context.Context, all []*Node, others bool, call func(context.Context, *Node) (T, error)) (from []*Node, found []T, errs []error) {
	answers := make([]T, len(all))
	failures := make([]error, len(all))
	var wg sync.WaitGroup
	for i, n := range all {
		wg.Go(func() {
			wait, stop := n.wait(ctx, others)
			defer stop()
			answers[i], failures[i] = call(wait, n)
		})
	}
	wg.Wait()
	for i, n := range all {
		if failures[i] != nil {
			errs = append(errs, &CallError{n, n.asNotOffered(failures[i])})
			continue
		}
		from, found = append(from, n), append(found, answers[i])
	}
	return from, found, errs
}

// noAnswer makes one error of the errors of all nodes. No node at all is a state, in which nothing is offered.
func noAnswer(of int, errs []error) error {
	if of == 0 {
		return fmt.Errorf("%w: %s", metric.ErrNotOffered, NoNode)
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, errOtherNetwork) })
	switch len(errs) {
	case 0:
		return &SettingError{"AVAX_NODES or AVAX_OBSERVERS", errors.New("no node or observer belongs to the expected network")}
	case 1:
		return errs[0]
	}
	// Prefer an error other than metric.ErrNotOffered: the node with that error may run the chain.
	worst := max(0, slices.IndexFunc(errs, func(err error) bool { return !errors.Is(err, metric.ErrNotOffered) }))
	return fmt.Errorf("none of %d nodes answered; %w", len(errs), errs[worst])
}
