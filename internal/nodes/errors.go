package nodes

import (
	"errors"
	"fmt"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// ErrNotOffered means that the upstream does not offer a call. Possible causes: its release lacks the method, the chain
// is of another kind, the node does not run the chain, or the API is disabled. The run counts as successful, and the
// samples in its batch are exported.
var ErrNotOffered = errors.New("not offered here")

// Optional returns the result of a call that an upstream need not offer. If the node does not know the method, or the path
// does not exist, the error is ErrNotOffered: a starting node has no chains yet.
func Optional[T any](answer T, err error) (T, error) {
	if node.IsNotOffered(err) || scrape.OutcomeOf(err) == scrape.NotFound {
		err = fmt.Errorf("%w: %w", ErrNotOffered, err)
	}
	return answer, err
}

// SettingError is an error that the operator can resolve by correcting a variable of the configuration.
type SettingError struct {
	Variable string // such as AVAX_CHAINS
	Err      error
}

func (e *SettingError) Error() string { return fmt.Sprintf("%v: correct %s", e.Err, e.Variable) }

// Unwrap returns the cause.
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

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }
