package collectors

import (
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/state"
)

// Ledger keeps what collectors have counted and how far they have read, by name.
type Ledger struct {
	// State is the directory that outlives the process. Nil, all is kept in memory.
	State *state.Dir

	memory state.Dir
}

func (l *Ledger) dir() *state.Dir {
	if l.State != nil {
		return l.State
	}
	return &l.memory
}

// load returns an entry of the ledger, or a zero one where there is none yet; a note
// of the run says that a stored entry is damaged.
func load[T any](l *Ledger, out *metric.Batch, name string) T {
	entry, _, err := state.Load[T](l.dir(), name)
	if err != nil {
		out.Note("%v", err)
	}
	return entry
}

// save stores an entry. A disk that does not take it is noted, and fails no run.
func (l *Ledger) save(out *metric.Batch, name string, entry any) {
	if err := l.dir().Save(name, entry); err != nil {
		out.Note("%v", err)
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
