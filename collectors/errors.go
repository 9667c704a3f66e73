package collectors

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

// errNoNodeAnswers means that no configured node answers. This error ends the samples of earlier runs, because these
// samples show what the nodes observed before they stopped.
var errNoNodeAnswers = errors.New("no configured node answers")

// EndsSamples reports whether a run with this error ends the samples of earlier runs, before they expire.
func EndsSamples(err error) bool { return errors.Is(err, errNoNodeAnswers) }

// maxRejectionWait is the maximum time before a rejected call is repeated. An hour is short enough, because an upstream
// offers a new method only after an upgrade.
const maxRejectionWait = time.Hour

// rejections are the calls that an upstream has rejected, by name.
type rejections struct {
	rejectionsMu sync.Mutex
	byCall       map[string]rejection
}

// rejection is the error of a rejected call. The call is not repeated before the time in until.
type rejection struct {
	err   error
	until time.Time
	wait  time.Duration // time between the rejection and until
}

// callNode runs call, which calls a method of the node. callName names the method and the chain. If the node does not
// know the method, the error is ErrNotOffered, and the call is not repeated for an hour. If the path does not exist,
// the error is ErrNotOffered too, but the next run repeats the call: a starting node has no chains yet.
func callNode[T any](n *Node, callName string, call func() (T, error)) (T, error) {
	if err := n.lastRejection(callName); err != nil {
		var none T
		return none, err
	}
	answer, err := call()
	switch {
	case node.IsNotOffered(err):
		err = fmt.Errorf("%w: %w", ErrNotOffered, err)
		n.reject(callName, err, maxRejectionWait)
	case scrape.OutcomeOf(err) == scrape.NotFound:
		err = fmt.Errorf("%w: %w", ErrNotOffered, err)
	}
	return answer, err
}

// lastRejection returns the error of a call that must not be repeated yet. It returns nil if the call may be sent.
func (r *rejections) lastRejection(callName string) error {
	r.rejectionsMu.Lock()
	defer r.rejectionsMu.Unlock()
	if known := r.byCall[callName]; time.Now().Before(known.until) {
		return known.err
	}
	return nil
}

// reject stores the error of a call and delays the next call. The delay starts at firstWait. Each further rejection
// doubles the delay, up to maxRejectionWait.
func (r *rejections) reject(callName string, err error, firstWait time.Duration) {
	r.rejectionsMu.Lock()
	defer r.rejectionsMu.Unlock()
	if r.byCall == nil {
		r.byCall = map[string]rejection{}
	}
	wait := min(max(firstWait, 2*r.byCall[callName].wait), maxRejectionWait)
	r.byCall[callName] = rejection{err, time.Now().Add(wait), wait}
}

// accept deletes the rejection of a call that was answered.
func (r *rejections) accept(callName string) {
	r.rejectionsMu.Lock()
	defer r.rejectionsMu.Unlock()
	delete(r.byCall, callName)
}

// Setting is the name of a part of the configuration, as errors show it.
type Setting string

// Settings that an upstream may reject.
const (
	SettingChains         Setting = "chains"
	SettingAddresses      Setting = "monitored addresses"
	SettingAssets         Setting = "monitored assets"
	SettingSignatures     Setting = "signature probes"
	SettingNodes          Setting = "nodes"
	SettingServiceNetwork Setting = "network of the Data service"
)

// SettingError is an error that the operator can resolve by correcting a setting.
type SettingError struct {
	Setting Setting
	Err     error
}

func (e *SettingError) Error() string { return fmt.Sprintf("%v: correct the %s", e.Err, e.Setting) }

// Unwrap returns the cause.
func (e *SettingError) Unwrap() error { return e.Err }

// ifRejected returns a SettingError if the upstream rejects the value of the setting, and err otherwise.
func ifRejected(err error, s Setting) error {
	if scrape.OutcomeOf(err) == scrape.Rejected && !errors.Is(err, ErrNotOffered) {
		return &SettingError{s, err}
	}
	return err
}

// ifUnknown returns a SettingError if the service rejects or does not know the value of the setting, and err otherwise.
func ifUnknown(err error, s Setting) error {
	if scrape.OutcomeOf(err) == scrape.NotFound {
		return &SettingError{s, err}
	}
	return ifRejected(err, s)
}
