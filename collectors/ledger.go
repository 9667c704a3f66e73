package collectors

import (
	"time"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/state"
)

// Ledger stores totals of collectors, such as the number of counted transfers. For a list of the Data service, it also
// stores how far the list was read.
type Ledger struct {
	// State is the directory of the entries. Nil: the entries are in memory, and a restart deletes them.
	State *state.Dir

	memory state.Dir
}

func (l *Ledger) dir() *state.Dir {
	if l.State != nil {
		return l.State
	}
	return &l.memory
}

// load returns an entry. If the entry does not exist or is damaged, it returns a zero entry.
func load[T any](l *Ledger, name string) T {
	entry, _ := state.Load[T](l.dir(), name)
	return entry
}

// save stores an entry. If the write fails, save notes the error, and the run does not fail.
func (l *Ledger) save(out *metric.Batch, name string, entry any) {
	if err := l.dir().Save(name, entry); err != nil {
		out.Note("%v", err)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
