package metric

import "errors"

// ErrNotOffered means that the upstream does not offer a call. Possible causes: its release lacks the method, the chain
// is of another kind, the node does not run the chain, or the API is disabled. The run counts as successful, and the
// samples in its batch are exported.
var ErrNotOffered = errors.New("not offered here")

// ErrNoNodeAnswers means that no configured node answers. This error ends the samples of earlier runs, because these
// samples show what the nodes observed before they stopped.
var ErrNoNodeAnswers = errors.New("no configured node answers")

// samplesError is the error of a run that failed, but has samples.
type samplesError struct{ error }

func (e *samplesError) Unwrap() error { return e.error }

// WithSamples returns the error of a run that failed, but whose batch has samples: stored totals, or those of an answer that lacks something. A nil
// error stays nil.
func WithSamples(err error) error {
	if err == nil {
		return nil
	}
	return &samplesError{err}
}

// HasSamples reports whether the samples of a run with this error are exported: the totals up to an earlier run, which would otherwise be absent from
// a restart to the next answer of the service, or those of an answer that lacks something.
func HasSamples(err error) bool { return errors.As(err, new(*samplesError)) }

// EndsSamples reports whether a run with this error ends the samples of earlier runs, before they expire.
func EndsSamples(err error) bool { return errors.Is(err, ErrNoNodeAnswers) }
