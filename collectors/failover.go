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

// share returns a context with the n-th part of the time that is left.
func share(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(n))
}

// first asks the nodes in turn until one answers: those first whose last
// answer was good. That it does not know the method is an answer; that it does
// not run the chain is not, while another may. A node that does not answer costs
// half of the time that is left, so that a hung one does not hold up the rest.
func first[T any](ctx context.Context, nodes []*Node, put func(context.Context, *Node) (T, error)) (T, error) {
	order := slices.DeleteFunc(slices.Clone(nodes), func(n *Node) bool { return n.foreign.Load() })
	slices.SortStableFunc(order, func(a, b *Node) int { return cmp.Compare(rank(a), rank(b)) })
	var zero T
	var errs []error
	for i, n := range order {
		parts := 2
		if i == len(order)-1 {
			parts = 1
		}
		turn, cancel := share(ctx, parts)
		v, err := put(turn, n)
		cancel()
		if err == nil || node.IsNotOffered(err) {
			return v, err
		}
		errs = append(errs, fmt.Errorf("node %s: %w", n.Name(), err))
		if ctx.Err() != nil {
			break
		}
	}
	return zero, noAnswer(errs)
}

// each asks all nodes at once and returns what they answer, in their order. One
// that does not answer is missing, and costs half of the time that is left. The
// error says why all are missing.
func each[T any](ctx context.Context, nodes []*Node, put func(context.Context, *Node) (T, error)) ([]T, error) {
	ctx, cancel := share(ctx, 2)
	defer cancel()
	answers := make([]T, len(nodes))
	missing := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { answers[i], missing[i] = put(ctx, n) })
	}
	wg.Wait()
	var found []T
	var errs []error
	for i, err := range missing {
		if err != nil {
			errs = append(errs, fmt.Errorf("node %s: %w", nodes[i].Name(), err))
			continue
		}
		found = append(found, answers[i])
	}
	if len(found) == 0 {
		return nil, noAnswer(errs)
	}
	return found, nil
}

// noAnswer tells in one error why no node answered.
func noAnswer(errs []error) error {
	switch len(errs) {
	case 0:
		return errors.New("there is no node to ask: name some in AVAX_NODES, all of one network")
	case 1:
		return errs[0]
	}
	// The one that runs the chain may be the one that fails.
	worst := max(0, slices.IndexFunc(errs, func(err error) bool { return !errors.Is(err, ErrNotOffered) }))
	return fmt.Errorf("none of %d nodes could tell; %w", len(errs), errs[worst])
}

func rank(n *Node) int {
	if n.Healthy() {
		return 0
	}
	return 1
}
