package collectors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// share returns a context with one n-th of the remaining time.
func share(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(n))
}

// first returns the first answer of a node or, if no node answers, of an observer. It calls one after the
// other, healthy ones first. The error that a method is unknown counts as an answer. The error that a node
// does not run the chain does not count, because another node may run it. Each but the last has half of the
// remaining time, so that a node that hangs leaves time for the others.
func first[T any](ctx context.Context, t *Targets, put func(context.Context, *Node) (T, error)) (T, error) {
	return firstOf(ctx, t.ofThisNetwork(), put)
}

// firstOf is first for these nodes.
func firstOf[T any](ctx context.Context, order []*Node, put func(context.Context, *Node) (T, error)) (T, error) {
	slices.SortStableFunc(order, func(a, b *Node) int { return cmp.Compare(rank(a), rank(b)) })
	var zero T
	var errs []error
	for i, n := range order {
		parts := 2
		if i == len(order)-1 {
			parts = 1
		}
		turn, cancel := share(ctx, parts)
		wait, leave := n.wait(turn, parts > 1)
		v, err := put(wait, n)
		leave()
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

// wait returns the context for a call to a node. If there are other nodes to call, it ends when this node
// is found not to answer.
func (n *Node) wait(ctx context.Context, others bool) (context.Context, context.CancelFunc) {
	if !others {
		return ctx, func() {}
	}
	return n.untilAway(ctx)
}

// each calls all nodes at once and returns their answers in order, without the nodes that fail. They have
// half of the remaining time. It fails only if all nodes fail.
func each[T any](ctx context.Context, nodes []*Node, put func(context.Context, *Node) (T, error)) ([]T, error) {
	ctx, cancel := share(ctx, 2)
	defer cancel()
	answers := make([]T, len(nodes))
	missing := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			wait, leave := n.wait(ctx, len(nodes) > 1)
			defer leave()
			answers[i], missing[i] = put(wait, n)
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

// noAnswerError joins the errors of nodes into one.
func noAnswerError(errs []error) error {
	switch len(errs) {
	case 0:
		return &SettingError{SettingNodes, errors.New("no node to ask")}
	case 1:
		return errs[0]
	}
	// Prefer an error other than ErrNotOffered: that node may be the one that runs the chain.
	worst := max(0, slices.IndexFunc(errs, func(err error) bool { return !errors.Is(err, ErrNotOffered) }))
	return fmt.Errorf("none of %d nodes answered; %w", len(errs), errs[worst])
}

// rank sorts healthy nodes first, then healthy observers, then the rest.
func rank(n *Node) int {
	switch {
	case !n.Healthy():
		return 2
	case n.observer:
		return 1
	}
	return 0
}

// tell describes the node or observer in an error.
func (n *Node) tell(collect func() error) error {
	if n.observer && n.otherNetwork.Load() {
		return fmt.Errorf("%w: the observer belongs to another network than the nodes: configure an observer of their network", ErrNotOffered)
	}
	return n.explain(collect())
}

// explain converts an observer's error for a withheld method into ErrNotOffered.
func (n *Node) explain(err error) error {
	if n.observer && node.IsWithheld(err) && !errors.Is(err, ErrNotOffered) {
		return fmt.Errorf("%w: %w", ErrNotOffered, err)
	}
	return err
}

// role is the word for the upstream in errors.
func (n *Node) role() string {
	if n.observer {
		return "observer"
	}
	return "node"
}
