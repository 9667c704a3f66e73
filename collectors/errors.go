package collectors

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// ErrNotOffered means that the upstream does not offer this call: a release without the method, a chain of
// another kind, a chain that the node does not run, or an API that is off. The run has not failed, and the
// samples in its batch count.
var ErrNotOffered = errors.New("not offered here")

// errNobodyAnswers means that no configured node answers. Then earlier samples of what nodes see are no
// longer valid.
var errNobodyAnswers = errors.New("no own node answers")

// EndsSamples reports whether this error ends the samples of earlier runs.
func EndsSamples(err error) bool { return errors.Is(err, errNobodyAnswers) }

// refusalHolds is the time before a call is repeated that an upstream does not know. Upgrades are rare.
const refusalHolds = time.Hour

// rejections are the calls that an upstream does not know, by name.
type rejections struct {
	refusalsMu sync.Mutex
	byCall     map[string]rejection
}

// rejection is the error of a call, and the time until it may be repeated.
type rejection struct {
	err   error
	until time.Time
	wait  time.Duration
}

// ask calls the node, named by method and chain. The error is ErrNotOffered if the node does not know the
// method; then the call is not repeated for an hour. It is also ErrNotOffered if the path does not exist; then
// the call is repeated at the next run, because a node that starts has no chains yet.
func ask[T any](n *Node, callName string, put func() (T, error)) (T, error) {
	if err := n.refused(callName); err != nil {
		var none T
		return none, err
	}
	answer, err := put()
	switch {
	case node.IsNotOffered(err):
		err = fmt.Errorf("%w: %w", ErrNotOffered, err)
		n.refuse(callName, err, refusalHolds)
	case scrape.OutcomeOf(err) == scrape.NotFound:
		err = fmt.Errorf("%w: %w", ErrNotOffered, err)
	}
	return answer, err
}

// refused returns the error of a call that must not be repeated yet.
func (r *rejections) refused(callName string) error {
	r.refusalsMu.Lock()
	defer r.refusalsMu.Unlock()
	if known := r.byCall[callName]; time.Now().Before(known.until) {
		return known.err
	}
	return nil
}

// refuse delays the next repetition of a call: by this time at first, then twice as long each time, an hour at most.
func (r *rejections) refuse(callName string, err error, first time.Duration) {
	r.refusalsMu.Lock()
	defer r.refusalsMu.Unlock()
	if r.byCall == nil {
		r.byCall = map[string]rejection{}
	}
	wait := min(max(first, 2*r.byCall[callName].wait), refusalHolds)
	r.byCall[callName] = rejection{err, time.Now().Add(wait), wait}
}

// accept records that a call was answered.
func (r *rejections) accept(callName string) {
	r.refusalsMu.Lock()
	defer r.refusalsMu.Unlock()
	delete(r.byCall, callName)
}

// Setting describes something that the operator configures.
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

// SettingError is an error that the operator fixes by correcting a setting.
type SettingError struct {
	Setting Setting
	Err     error
}

func (e *SettingError) Error() string { return fmt.Sprintf("%v: correct the %s", e.Err, e.Setting) }

// Unwrap returns the cause.
func (e *SettingError) Unwrap() error { return e.Err }

// ifRejected attributes an error to a setting if the upstream rejects its value.
func ifRejected(err error, s Setting) error {
	if scrape.OutcomeOf(err) == scrape.Rejected && !errors.Is(err, ErrNotOffered) {
		return &SettingError{s, err}
	}
	return err
}

// ifUnknown attributes an error to a setting if the service rejects or does not know its value.
func ifUnknown(err error, s Setting) error {
	if scrape.OutcomeOf(err) == scrape.NotFound {
		return &SettingError{s, err}
	}
	return ifRejected(err, s)
}
