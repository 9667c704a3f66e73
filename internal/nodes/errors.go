package nodes

import (
	"context"
	"errors"
	"fmt"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// Optional returns the result of a call that an upstream need not offer. If the method is one that some upstreams do not offer, or the path
// does not exist, the error is metric.ErrNotOffered: a starting node has no chains yet. A method that the upstream offered before, or that every
// upstream offers, is an ordinary error: its samples must not end without a failure.
func Optional[T any](answer T, err error) (T, error) {
	if node.MayLack(err) || node.IsPathUnknown(err) {
		err = fmt.Errorf("%w: %w", metric.ErrNotOffered, err)
	}
	return answer, err
}

// OptionalOf is Optional for a method of a chain. If the node runs the chain, a path that is not found any more is an ordinary error.
func OptionalOf[T any](ctx context.Context, n *Node, chain string, answer T, err error) (T, error) {
	if scrape.OutcomeOf(err) == scrape.NotFound && scrape.IsLost(err) {
		if runs, unknown := n.IsBootstrapped(ctx, chain); unknown == nil && runs {
			return answer, err
		}
	}
	return Optional(answer, err)
}

// NotServed reports whether the upstreams do not serve a call, so that another source may answer.
func NotServed(err error) bool { return errors.Is(err, metric.ErrNotOffered) || node.IsNotServed(err) }

// NoNode is what is said about nodes while none is configured, as with an empty list in AVAX_NODES_FILE.
const NoNode = "no node is configured here now"

// SettingError is an error that the operator can resolve by correcting a variable of the configuration.
type SettingError struct {
	Variable string // such as AVAX_CHAINS
	Err      error
}

func (e *SettingError) Error() string { return fmt.Sprintf("%v: correct %s", e.Err, e.Variable) }

func (e *SettingError) Unwrap() error { return e.Err }

// CallError is the error of a call to one of several nodes or observers.
type CallError struct {
	Node *Node
	Err  error
}

func (e *CallError) Error() string {
	role := "node"
	if e.Node.Observer {
		role = "observer"
	}
	return fmt.Sprintf("%s %s: %v", role, e.Node.Name(), e.Err)
}

func (e *CallError) Unwrap() error { return e.Err }
