// Package state remembers small values when the exporter stops: how far a list
// was read, what was added up on the way. Nothing that cannot be found out
// again belongs here.
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

// The bounds of a directory. Beyond them the files that were written longest
// ago go first: they are of what is no longer watched.
const mostBytes = 1 << 20 // of a value

var mostFiles = 4096 // its test has less patience

// Dir holds values by key, a file of JSON for each. A file is replaced whole or
// not at all. Where the disk takes none, values are remembered in memory, which
// is all that the zero Dir has. It is safe for concurrent use. Of two processes with
// one directory the second writes nothing until the first has ended.
type Dir struct {
	path  string
	empty bool

	mu      sync.Mutex
	memory  map[string]json.RawMessage
	written map[string]bool // what the files hold as well
}

// Open returns the directory, which it makes where there is none. The error
// says why nothing will be written there: the Dir can be used nevertheless, and
// tries again whenever there is something to write.
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
			_ = os.Remove(filepath.Join(path, e.Name())) // left by a process that was killed
		}
	}
	if inUse != nil {
		return d, inUse
	}
	return d, d.probe()
}

// ErrInUse says that another process has the directory.
var ErrInUse = errors.New("another process uses it: give each exporter a directory of its own")

// Lock takes the directory for this process, until that ends, where it has not yet. It returns ErrInUse where another
// process has it: nothing may be written then.
func (d *Dir) Lock() error {
	if d == nil || d.path == "" {
		return nil
	}
	return lock(d.path)
}

// probe finds out whether the disk takes a file.
func (d *Dir) probe() error {
	f, err := os.CreateTemp(d.path, unfinished)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

const (
	suffix     = ".json"
	unfinished = "." // how renameio begins the names of its temporary files, which end in digits
)

// WasEmpty tells whether nothing was remembered when the directory was opened:
// it is new, or it was lost.
func (d *Dir) WasEmpty() bool { return d.empty }

// DamagedError says that what was remembered cannot be read: it begins anew.
type DamagedError struct {
	Key string
	Err error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("what was remembered of %s cannot be read and begins anew: %v", e.Key, e.Err)
}

// Unwrap returns why it cannot be read.
func (e *DamagedError) Unwrap() error { return e.Err }

// Load returns what is remembered under a key, and whether anything is. The
// error is a *DamagedError: nothing is, and it says so until something is saved
// under the key.
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

// read returns what is in memory or in the file, nil where neither is.
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

// Save remembers a value. The error says why it is remembered until the
// exporter stops and no longer. What has not changed is not written again.
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
		return fmt.Errorf("%s is remembered until the exporter stops and no longer: a file has %d bytes at most", key, mostBytes)
	}
	if err := d.write(d.file(key), raw); err != nil {
		return fmt.Errorf("%s is remembered until the exporter stops and no longer: %w", key, reason(err))
	}
	d.written[key] = true
	return nil
}

// reason is an error without the name of the temporary file, which differs each
// time.
func reason(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return fmt.Errorf("%s: %w", filepath.Dir(e.Path), e.Err)
	}
	return err
}

// write replaces a file. After a power cut it has the old content or the new.
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

// prune removes files beyond the bound, those written longest ago.
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

// file is where a key's value is: under its own name, where a file can have it.
func (d *Dir) file(key string) string {
	const longest = 200
	name := url.QueryEscape(key)
	if len(name) > longest {
		sum := sha256.Sum256([]byte(key))
		name = hex.EncodeToString(sum[:])
	}
	return filepath.Join(d.path, name+suffix)
}
