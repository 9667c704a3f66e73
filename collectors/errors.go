package collectors

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/avax-exporter/avax-exporter/scrape"
	"github.com/avax-exporter/avax-exporter/scrape/node"
)

// ErrNotOffered means that the upstream does not offer what was asked: a release
// without the method, a chain of another kind, a chain that the node does not run,
// an API that is off. The run has not failed, and the samples in its batch count.
var ErrNotOffered = errors.New("not offered here")

// errNobodyAnswers means that no own node answers. What an earlier run told of what the
// nodes see holds no longer.
var errNobodyAnswers = errors.New("no own node answers")

// EndsSamples tells whether the samples of earlier runs are not to be served any more
// after this error.
func EndsSamples(err error) bool { return errors.Is(err, errNobodyAnswers) }

// refusalHolds is how long a question is not repeated that an upstream does not know:
// upgrades are rare.
const refusalHolds = time.Hour

// refusals are the questions that an upstream does not know, by name.
type refusals struct {
	refusalsMu sync.Mutex
	byQuestion map[string]refusal
}

// refusal is the error of a question, and until when it is not repeated.
type refusal struct {
	err   error
	until time.Time
	wait  time.Duration
}

// ask asks the node a question, named by method and chain. The error is ErrNotOffered
// where the node does not know the method, which is then not repeated for an hour, or
// where there is no such path, which is: a node that starts has no chains yet.
func ask[T any](n *Node, question string, put func() (T, error)) (T, error) {
	if err := n.refused(question); err != nil {
		var none T
		return none, err
	}
	answer, err := put()
	switch {
	case node.IsNotOffered(err):
		err = fmt.Errorf("%w: %w", ErrNotOffered, err)
		n.refuse(question, err, refusalHolds)
	case scrape.OutcomeOf(err) == scrape.NotFound:
		err = fmt.Errorf("%w: %w", ErrNotOffered, err)
	}
	return answer, err
}

// refused returns the error of a question that is not to be repeated yet.
func (r *refusals) refused(question string) error {
	r.refusalsMu.Lock()
	defer r.refusalsMu.Unlock()
	if known := r.byQuestion[question]; time.Now().Before(known.until) {
		return known.err
	}
	return nil
}

// refuse notes that a question is not to be repeated: the first time so long, then twice as long each time, an hour at most.
func (r *refusals) refuse(question string, err error, first time.Duration) {
	r.refusalsMu.Lock()
	defer r.refusalsMu.Unlock()
	if r.byQuestion == nil {
		r.byQuestion = map[string]refusal{}
	}
	wait := min(max(first, 2*r.byQuestion[question].wait), refusalHolds)
	r.byQuestion[question] = refusal{err, time.Now().Add(wait), wait}
}

// accept notes that a question was answered.
func (r *refusals) accept(question string) {
	r.refusalsMu.Lock()
	defer r.refusalsMu.Unlock()
	delete(r.byQuestion, question)
}

// Setting is something that the operator configures, in words.
type Setting string

// Settings that an upstream may prove wrong.
const (
	SettingChains         Setting = "chains"
	SettingAddresses      Setting = "watched addresses"
	SettingAssets         Setting = "watched assets"
	SettingSignatures     Setting = "signature probes"
	SettingNodes          Setting = "nodes"
	SettingServiceNetwork Setting = "network of the Data service"
)

// SettingError is an error that ends when the operator corrects a setting.
type SettingError struct {
	Setting Setting
	Err     error
}

func (e *SettingError) Error() string { return fmt.Sprintf("%v: correct the %s", e.Err, e.Setting) }

// Unwrap returns the cause.
func (e *SettingError) Unwrap() error { return e.Err }

// ifRejected blames a setting where the upstream rejects its value.
func ifRejected(err error, s Setting) error {
	if scrape.OutcomeOf(err) == scrape.Rejected && !errors.Is(err, ErrNotOffered) {
		return &SettingError{s, err}
	}
	return err
}

// ifUnknown blames a setting where the service rejects its value or does not know it.
func ifUnknown(err error, s Setting) error {
	if scrape.OutcomeOf(err) == scrape.NotFound {
		return &SettingError{s, err}
	}
	return ifRejected(err, s)
}
