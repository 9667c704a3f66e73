// Package state stores small values that survive a restart, such as the position in a list and the
// totals so far. It stores only what can be computed again.
package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"
)

// The limits of a directory. Beyond them the oldest files are deleted: they belong to subjects that are
// no longer monitored.
const mostBytes = 1 << 20 // of a value

var mostFiles = 4096 // a variable for its test

// Dir stores values by key, each in a JSON file. A file is replaced atomically. If the disk rejects
// writes, values stay in memory. The zero Dir has memory only. It is safe for concurrent use. If two
// processes use one directory, the second writes nothing until the first has ended.
type Dir struct {
	path  string
	empty bool

	mu      sync.Mutex
	memory  map[string]json.RawMessage
	written map[string]bool // keys whose value in the file is current
}

// Open opens the directory and creates it if needed. The error is the reason why nothing can be written. The
// Dir can be used nevertheless, and tries again at each write.
func Open(path string) (*Dir, error) {
	d := &Dir{path: path}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return d, err
	}
	inUse := d.Lock()
	entries, err := os.ReadDir(path)
	if err != nil {
		return d, err
	}
	d.empty = true
	for _, e := range entries {
		switch {
		case strings.HasSuffix(e.Name(), suffix):
			d.empty = false
		case strings.HasPrefix(e.Name(), unfinished) && inUse == nil:
			_ = os.Remove(filepath.Join(path, e.Name())) // left by a killed process
		}
	}
	if inUse != nil {
		return d, inUse
	}
	return d, d.probe()
}

// ErrInUse reports that another process uses the directory.
var ErrInUse = errors.New("another process uses it: give each exporter a directory of its own")

// Lock locks the directory for this process until the process ends. It returns ErrInUse if another
// process has locked it. Then nothing may be written.
func (d *Dir) Lock() error {
	if d == nil || d.path == "" {
		return nil
	}
	return lock(d.path)
}

// probe checks whether the disk accepts a file.
func (d *Dir) probe() error {
	f, err := os.CreateTemp(d.path, unfinished)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

const (
	suffix     = ".json"
	unfinished = "." // prefix of renameio's temporary files, which end in digits
)

// WasEmpty reports whether the directory was empty when it was opened: it is new, or its contents were
// lost.
func (d *Dir) WasEmpty() bool { return d.empty }

// DamagedError reports that a stored value cannot be read and starts again.
type DamagedError struct {
	Key string
	Err error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("saved state of %s cannot be read, starting again: %v", e.Key, e.Err)
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Err }

// Load decodes the value of a key and reports whether there is one. The error is a *DamagedError: there is
// no value. Load returns it until a value is saved under the key.
func Load[T any](d *Dir, key string) (value T, found bool, err error) {
	raw, err := d.read(key)
	if err == nil && raw != nil {
		if err = json.Unmarshal(raw, &value); err == nil {
			return value, true, nil
		}
	}
	var none T
	if err != nil {
		return none, false, &DamagedError{key, err}
	}
	return none, false, nil
}

// read returns the value in memory or in the file, or nil.
func (d *Dir) read(key string) (json.RawMessage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if raw, known := d.memory[key]; known || d.path == "" {
		return raw, nil
	}
	raw, err := d.readFile(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d.remember(key, raw, true)
	return raw, nil
}

func (d *Dir) readFile(key string) (json.RawMessage, error) {
	info, err := os.Stat(d.file(key))
	if err != nil {
		return nil, err
	}
	if info.Size() > mostBytes {
		return nil, fmt.Errorf("%d bytes are more than any value has", info.Size())
	}
	return os.ReadFile(d.file(key))
}

// remember keeps a value in memory. The caller holds d.mu.
func (d *Dir) remember(key string, raw json.RawMessage, written bool) {
	if d.memory == nil {
		d.memory, d.written = map[string]json.RawMessage{}, map[string]bool{}
	}
	d.memory[key], d.written[key] = raw, written
}

// Save stores a value. An unchanged value is not written again. The error is the reason why the value will
// not survive a restart.
func (d *Dir) Save(key string, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.written[key] && bytes.Equal(raw, d.memory[key]) {
		return nil
	}
	d.remember(key, raw, false)
	if d.path == "" {
		return nil
	}
	if len(raw) > mostBytes {
		return fmt.Errorf("save %s: larger than %d bytes: a restart loses it", key, mostBytes)
	}
	if err := d.write(d.file(key), raw); err != nil {
		return fmt.Errorf("save %s: %w: a restart loses it", key, reason(err))
	}
	d.written[key] = true
	return nil
}

// reason returns an error without the name of the temporary file, which is different each time.
func reason(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return fmt.Errorf("%s: %w", filepath.Dir(e.Path), e.Err)
	}
	return err
}

// write replaces a file. After a power failure it has the old or the new content.
func (d *Dir) write(name string, content []byte) error {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return err
	}
	if err := d.Lock(); err != nil {
		return err
	}
	if err := renameio.WriteFile(name, content, 0o600, renameio.WithTempDir(d.path)); err != nil {
		return err
	}
	d.prune()
	return syncDir(d.path)
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// prune deletes the oldest files beyond the limit.
func (d *Dir) prune() {
	entries, err := os.ReadDir(d.path)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !strings.HasSuffix(e.Name(), suffix) })
	if err != nil || len(entries) <= mostFiles {
		return
	}
	written := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			written[e.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return written[a.Name()].Compare(written[b.Name()]) })
	for _, e := range entries[:len(entries)-mostFiles] {
		_ = os.Remove(filepath.Join(d.path, e.Name()))
	}
}

// file returns the path for a key: its own name if that is valid as a file name.
func (d *Dir) file(key string) string {
	const longest = 200
	name := url.QueryEscape(key)
	if len(name) > longest {
		sum := sha256.Sum256([]byte(key))
		name = hex.EncodeToString(sum[:])
	}
	return filepath.Join(d.path, name+suffix)
}
