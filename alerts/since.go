package alerts

import "time"

// Chains is the annotation with the chains for which an alert stands that has no label of each of them.
const Chains = "chains"

// Since is the annotation with the time of the first sign of a fault, in UTC.
const Since = "since"

// PagesWithin is the annotation with the time from the first sign of a fault to its page, at most. A shorter one may be recorded for the fault.
const PagesWithin = "pages_within"

// sinceLayout is the layout of the annotation.
const sinceLayout = "2006-01-02 15:04:05 UTC"

// SinceText returns the annotation for a time.
func SinceText(t time.Time) string { return t.UTC().Format(sinceLayout) }

// SinceOf returns the time of the first sign of a fault: that of the annotation, or another one if there is none, or none before it.
func SinceOf(annotation string, otherwise time.Time) time.Time {
	if at, err := time.Parse(sinceLayout, annotation); err == nil && at.Before(otherwise) {
		return at
	}
	return otherwise
}
