package nodes

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// ErrNotOffered means that the upstream does not offer a call. Possible causes: its release lacks the method, the chain
// is of another kind, the node does not run the chain, or the API is disabled. The run counts as successful, and the
// samples in its batch are exported.
var ErrNotOffered = errors.New("not offered here")

// MaxRejectionWait is the maximum time before a rejected call is repeated. An hour is short enough, because an upstream
// offers a new method only after an upgrade.
const MaxRejectionWait = time.Hour

// Rejections are the calls that an upstream has rejected, by name.
type Rejections struct {
	rejectionsMu sync.Mutex
	byCall       map[string]rejection
}

// rejection is the error of a rejected call. The call is not repeated before the time in until.
type rejection struct {
	err   error
	until time.Time
	wait  time.Duration // time between the rejection and until
}

// Call runs call, which calls a method of the node. callName names the method and the chain. If the node does not
// know the method, the error is ErrNotOffered, and the call is not repeated for an hour. If the path does not exist,
// the error is ErrNotOffered too, but the next run repeats the call: a starting node has no chains yet.
func Call[T any](n *Node, callName string, call func() (T, error)) (T, error) {
	if err := n.Last(callName); err != nil {
		var none T
		return none, err
	}
	answer, err := call()
	switch {
	case node.IsNotOffered(err):
		err = fmt.Errorf("%w: %w", ErrNotOffered, err)
		n.Reject(callName, err, MaxRejectionWait)
	case scrape.OutcomeOf(err) == scrape.NotFound:
		err = fmt.Errorf("%w: %w", ErrNotOffered, err)
	}
	return answer, err
}

// Last returns the error of a call that must not be repeated yet. It returns nil if the call may be sent.
func (r *Rejections) Last(callName string) error {
	r.rejectionsMu.Lock()
	defer r.rejectionsMu.Unlock()
	if known := r.byCall[callName]; time.Now().Before(known.until) {
		return known.err
	}
	return nil
}

// Reject stores the error of a call and delays the next call. The delay starts at firstWait. Each further rejection
// doubles the delay, up to MaxRejectionWait.
func (r *Rejections) Reject(callName string, err error, firstWait time.Duration) {
	r.rejectionsMu.Lock()
	defer r.rejectionsMu.Unlock()
	if r.byCall == nil {
		r.byCall = map[string]rejection{}
	}
	wait := min(max(firstWait, 2*r.byCall[callName].wait), MaxRejectionWait)
	r.byCall[callName] = rejection{err, time.Now().Add(wait), wait}
}

// Accept deletes the rejection of a call that was answered.
func (r *Rejections) Accept(callName string) {
	r.rejectionsMu.Lock()
	defer r.rejectionsMu.Unlock()
	delete(r.byCall, callName)
}

// SettingError is an error that the operator can resolve by correcting a variable of the configuration.
type SettingError struct {
	Variable string // such as AVAX_CHAINS
	Err      error
}

func (e *SettingError) Error() string { return fmt.Sprintf("%v: correct %s", e.Err, e.Variable) }

// Unwrap returns the cause.
func (e *SettingError) Unwrap() error { return e.Err }
