package collectors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// divideTime returns a context that ends after 1/n of the time until the deadline of ctx.
func divideTime(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(n))
}

// first calls the nodes and observers one after the other, in the order of rank, and returns the first answer. If a
// node does not know the method, this error counts as an answer. If a node does not run the chain, first calls the next
// node. Each call except the last may take half of the remaining time, so that a hanging node leaves time for the next
// call.
func first[T any](ctx context.Context, t *Targets, call func(context.Context, *Node) (T, error)) (T, error) {
	return firstOf(ctx, t.ofThisNetwork(), call)
}

// firstOf is like first, but calls only these nodes.
func firstOf[T any](ctx context.Context, order []*Node, call func(context.Context, *Node) (T, error)) (T, error) {
	var byRank [3][]*Node
	for _, n := range order {
		byRank[rank(n)] = append(byRank[rank(n)], n)
	}
	order = slices.Concat(byRank[:]...)
	var zero T
	var errs []error
	for i, n := range order {
		parts := 2
		if i == len(order)-1 {
			parts = 1
		}
		limited, cancel := divideTime(ctx, parts)
		wait, stop := n.wait(limited, parts > 1)
		v, err := call(wait, n)
		stop()
		cancel()
		if err == nil || node.IsNotOffered(err) && !n.observer {
			return v, err
		}
		err = n.explain(err)
		errs = append(errs, fmt.Errorf("%s %s: %w", n.role(), n.Name(), err))
		if ctx.Err() != nil {
			break
		}
	}
	return zero, noAnswerError(errs)
}

// wait returns the context for a call to the node. If there are other nodes to call, the context also ends when the
// node does not answer an up probe.
func (n *Node) wait(ctx context.Context, others bool) (context.Context, context.CancelFunc) {
	if !others {
		return ctx, func() {}
	}
	return n.untilUnreachable(ctx)
}

// each calls all nodes concurrently and returns the answers in the order of the nodes. It omits nodes whose call
// fails, and returns an error only if all calls fail. The calls end after half of the remaining time.
func each[T any](ctx context.Context, nodes []*Node, call func(context.Context, *Node) (T, error)) ([]T, error) {
	ctx, cancel := divideTime(ctx, 2)
	defer cancel()
	answers := make([]T, len(nodes))
	missing := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			wait, stop := n.wait(ctx, len(nodes) > 1)
			defer stop()
			answers[i], missing[i] = call(wait, n)
			missing[i] = n.explain(missing[i])
		})
	}
	wg.Wait()
	var found []T
	var errs []error
	for i, err := range missing {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", nodes[i].role(), nodes[i].Name(), err))
			continue
		}
		found = append(found, answers[i])
	}
	if len(found) == 0 {
		return nil, noAnswerError(errs)
	}
	return found, nil
}

// eachCompared is like each, for the compared nodes. If none of them answers, it calls the other nodes: perhaps only
// nodes of another shard run the chain.
func eachCompared[T any](ctx context.Context, compared comparedNodes, call func(context.Context, *Node) (T, error)) ([]T, error) {
	found, err := each(ctx, compared.nodes, call)
	if err == nil || len(compared.others) == 0 {
		return found, err
	}
	return each(ctx, compared.others, call)
}

// noAnswerError makes one error of the errors of all nodes.
func noAnswerError(errs []error) error {
	switch len(errs) {
	case 0:
		return &SettingError{SettingNodes, errors.New("no node to call")}
	case 1:
		return errs[0]
	}
	// Prefer an error other than ErrNotOffered: the node with that error may run the chain.
	worst := max(0, slices.IndexFunc(errs, func(err error) bool { return !errors.Is(err, ErrNotOffered) }))
	return fmt.Errorf("none of %d nodes answered; %w", len(errs), errs[worst])
}

// rank is the order of calls: healthy nodes, then healthy observers, then unhealthy nodes and observers.
func rank(n *Node) int {
	switch {
	case !n.Healthy():
		return 2
	case n.observer:
		return 1
	}
	return 0
}

// runCollector runs a collect function that calls the node or observer. It returns an error if the observer belongs
// to another network.
func (n *Node) runCollector(collect func() error) error {
	if n.observer && n.otherNetwork.Load() {
		return fmt.Errorf("%w: the observer does not belong to the network of the nodes: configure an observer of that network", ErrNotOffered)
	}
	return n.explain(collect())
}

// explain converts the error of an observer that withholds a method into ErrNotOffered.
func (n *Node) explain(err error) error {
	if n.observer && node.IsWithheld(err) && !errors.Is(err, ErrNotOffered) {
		return fmt.Errorf("%w: %w", ErrNotOffered, err)
	}
	return err
}

// role returns "node" or "observer", for errors.
func (n *Node) role() string {
	if n.observer {
		return "observer"
	}
	return "node"
}
