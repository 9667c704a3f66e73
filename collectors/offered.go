package collectors

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// ErrNotOffered says that whom a collector asks does not offer what it asks
// for: a release without the method, a chain of another kind, a chain that the
// node does not run, an API that is off. It fails no run: what the batch holds
// stands.
var ErrNotOffered = errors.New("not offered here")

// refusalHolds is how long an upstream is taken at its word that it does not
// know the answer: upgrades are rare, ticks are not.
const refusalHolds = time.Hour

// refusals are questions that an upstream does not know the answer to, by name.
type refusals struct {
	refusing sync.Mutex
	said     map[string]refusal
}

// refusal is an upstream's word that it does not know the answer.
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

// refused returns what was said to the question, while that holds.
func (r *refusals) refused(question string) error {
	r.refusing.Lock()
	defer r.refusing.Unlock()
	if said := r.said[question]; time.Now().Before(said.until) {
		return said.err
	}
	return nil
}

func (r *refusals) refuse(question string, err error) {
	r.refusing.Lock()
	defer r.refusing.Unlock()
	if r.said == nil {
		r.said = map[string]refusal{}
	}
	r.said[question] = refusal{err, time.Now().Add(refusalHolds)}
}
