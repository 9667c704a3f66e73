package collectors

import (
	"errors"
	"fmt"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// ErrNotOffered says that whom a collector asks does not offer what it asks
// for: a release without the method, a chain of another kind, a chain that the
// node does not run, an API that is off. It fails no run: what the batch holds
// stands.
var ErrNotOffered = errors.New("not offered here")

// refusalHolds is how long a node is taken at its word that it does not know a
// method: upgrades are rare, ticks are not.
const refusalHolds = time.Hour

// refusal is a node's word that it does not know a method.
type refusal struct {
	err   error
	until time.Time
}

// ask puts a question to the node, named by method and chain. The error is
// ErrNotOffered where the node does not know the method, and then the node is
// left in peace for an hour; or where there is no such path, which says nothing
// about the next run: a node that starts has none of its chains yet.
func ask[T any](n *Node, question string, put func() (T, error)) (T, error) {
	if err := n.refused(question); err != nil {
		var none T
		return none, err
	}
	answer, err := put()
	switch {
	case node.IsNotOffered(err):
		err = fmt.Errorf("%w: %w", ErrNotOffered, err)
		n.refuse(question, err)
	case scrape.OutcomeOf(err) == scrape.NotFound:
		err = fmt.Errorf("%w: %w", ErrNotOffered, err)
	}
	return answer, err
}

// refused returns what the node said to the question, while that holds.
func (n *Node) refused(question string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if r := n.refusals[question]; time.Now().Before(r.until) {
		return r.err
	}
	return nil
}

func (n *Node) refuse(question string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refusals == nil {
		n.refusals = map[string]refusal{}
	}
	n.refusals[question] = refusal{err, time.Now().Add(refusalHolds)}
}
