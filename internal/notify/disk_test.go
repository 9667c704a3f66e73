package notify

import (
	"bytes"
	"io"
	"path/filepath"
	"testing"
)

// While a state file is written to a disk that hangs, receivers are notified, and pages show who was notified.
func TestStateIsNotLockedDuringAWrite(t *testing.T) {
	var l sentLog
	l.add("pager", nil)
	free := false
	if _, err := l.snapshot(writer(func(text []byte) (int, error) {
		if free = l.mu.TryLock(); free {
			l.mu.Unlock()
		}
		return len(text), nil
	})); err != nil || !free {
		t.Errorf("not locked during the write: %t, %v", free, err)
	}
	err := replace(filepath.Join(t.TempDir(), "state"), func(w io.Writer) (int64, error) { // Alertmanager's snapshots hold their locks
		if _, inMemory := w.(*bytes.Buffer); !inMemory {
			t.Errorf("a snapshot writes to %T", w)
		}
		return 0, nil
	})
	if err != nil {
		t.Error(err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(text []byte) (int, error) { return w(text) }
