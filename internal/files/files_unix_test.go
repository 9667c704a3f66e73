//go:build unix

package files_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/files"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

func TestReadsOnlyRegularFilesOfBoundedSize(t *testing.T) {
	const most = 4 << 20 // as SECURITY.md says
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must.Do(t,
		os.WriteFile(at("file"), []byte("text"), 0o600), os.Symlink("file", at("link")), os.WriteFile(at("empty"), nil, 0o600),
		os.WriteFile(at("large"), bytes.Repeat([]byte("x"), most), 0o600),
		os.WriteFile(at("larger"), bytes.Repeat([]byte("x"), most+1), 0o600),
		syscall.Mkfifo(at("fifo"), 0o600), os.Symlink("fifo", at("link to fifo")),
	)
	for name, size := range map[string]int{"file": 4, "link": 4, "empty": 0, "large": most} {
		if text, err := files.Read(at(name)); err != nil || len(text) != size {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
	for _, path := range []string{at("larger"), at("fifo"), at("link to fifo"), dir, "/dev/zero", at("none")} {
		ended := make(chan string, 1)
		go func() {
			var e *fs.PathError
			if text, err := files.Read(path); !errors.As(err, &e) {
				ended <- fmt.Sprintf("%d bytes, %v", len(text), err)
			}
			close(ended)
		}()
		select {
		case wrong, is := <-ended:
			if is {
				t.Errorf("%s: %s", path, wrong)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: still reading", path)
		}
	}
}
