// Package state stores small values that survive a restart, such as a position in a list and the totals up to it. It is only for
// values that can be computed again.
package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/avax-exporter/avax-exporter/internal/files"
)

// maxBytes is the maximum size of a value in bytes.
const maxBytes = 1 << 20

// maxFiles is the maximum number of files in a directory. Beyond it, the oldest files are deleted: they probably belong to
// targets that are no longer monitored. It is a variable so that a test can change it.
var maxFiles = 4096

// Dir stores values by key, each in a JSON file. A file is replaced atomically. If a write fails, the value stays in memory. The
// zero Dir keeps values only in memory. A Dir is safe for concurrent use. If two processes use the same directory, the second
// process writes nothing until the first has ended.
type Dir struct {
	// Log reports files that are set aside; nil: nothing does. Set it before the first call.
	Log *slog.Logger

	path  string
	empty bool

	mu      sync.Mutex
	memory  map[string]json.RawMessage
	written map[string]bool // keys whose file has the current value
}

// Open opens the directory and creates it if needed. An error means that nothing can be written now. The Dir can be used even
// after an error: each write tries again.
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
			_ = os.Remove(filepath.Join(path, e.Name())) // temporary file of a process that was killed
		}
	}
	if inUse != nil {
		return d, inUse
	}
	return d, d.probe()
}

// ErrInUse reports that another process uses the directory.
var ErrInUse = errors.New("another process uses the directory: give each exporter its own directory")

// Lock locks the directory for this process until the process ends. If another process has locked it, Lock returns ErrInUse, and
// the caller must not write.
func (d *Dir) Lock() error {
	if d == nil || d.path == "" {
		return nil
	}
	return lock(d.path)
}

// probe checks whether a file can be written.
func (d *Dir) probe() error {
	f, err := os.CreateTemp(d.path, unfinished)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

const (
	suffix     = ".json"
	damaged    = ".damaged" // suffix of files that were set aside
	unfinished = "."        // prefix of renameio's temporary files, which end in digits
)

// WasEmpty reports whether the directory was empty when it was opened, because it is new or because its contents were lost.
func (d *Dir) WasEmpty() bool { return d.empty }

// Damaged returns the number of files that were set aside and that nobody has deleted.
func (d *Dir) Damaged() int {
	own, _ := filepath.Glob(filepath.Join(d.path, "*"+damaged))
	below, _ := filepath.Glob(filepath.Join(d.path, "*", "*"+damaged))
	return len(own) + len(below)
}

// Register registers the family about damaged files.
func (d *Dir) Register(r prometheus.Registerer) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "avax_exporter_state_files_damaged",
		Help: "Number of files in AVAX_STATE_DIR whose names end in .damaged: damaged state files that the exporter has renamed, and started without. Absent without AVAX_STATE_DIR.",
	}, func() float64 { return float64(d.Damaged()) }))
}

// ReadFile reads a state file. It returns nil if there is no file, or if the file is damaged: not a regular file, too large, or not
// accepted by check. It sets a damaged file aside.
func (d *Dir) ReadFile(path string, check func([]byte) error) []byte {
	content, err := files.Read(path)
	if err == nil {
		err = check(content)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return content
	}
	d.setAside(path, err)
	return nil
}

// setAside renames a damaged file to PATH.damaged, unless another process uses the directory.
func (d *Dir) setAside(path string, cause error) {
	err := d.Lock()
	if err == nil {
		err = os.Rename(path, path+damaged)
	}
	if d.Log != nil {
		d.Log.Error("state file damaged", "file", path, "err", cause, "effect", "starting without it", "set_aside_as", path+damaged, "set_aside_err", err)
	}
}

// Load decodes the value of a key. found reports whether there is a value. A value that cannot be read is set aside, and counts as missing.
func Load[T any](d *Dir, key string) (value T, found bool) {
	raw, err := d.read(key)
	if err == nil && raw != nil {
		if err = json.Unmarshal(raw, &value); err == nil {
			return value, true
		}
	}
	if err != nil {
		d.forget(key, err)
	}
	var none T
	return none, false
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

// readFile returns the value in a file. The line after the value is its checksum.
func (d *Dir) readFile(key string) (json.RawMessage, error) {
	content, err := files.Read(d.file(key))
	if err != nil {
		return nil, err
	}
	content, sum, _ := bytes.Cut(content, []byte("\n"))
	switch {
	case len(content) > maxBytes:
		return nil, fmt.Errorf("the value has %d bytes, more than the maximum size", len(content))
	case string(sum) != checksum(content):
		return nil, errors.New("the checksum differs")
	}
	return content, nil
}

// checksum returns the checksum of a value in hexadecimal, as a line.
func checksum(value []byte) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:]) + "\n"
}

// forget removes a damaged value.
func (d *Dir) forget(key string, cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.memory, key)
	delete(d.written, key)
	if d.path != "" {
		d.setAside(d.file(key), cause)
	}
}

// remember stores a value in memory. The caller holds d.mu.
func (d *Dir) remember(key string, raw json.RawMessage, written bool) {
	if d.memory == nil {
		d.memory, d.written = map[string]json.RawMessage{}, map[string]bool{}
	}
	d.memory[key], d.written[key] = raw, written
}

// Save stores a value. An unchanged value is not written again. After an error the value is only in memory, and a restart loses it.
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
	if len(raw) > maxBytes {
		return fmt.Errorf("save %s: larger than %d bytes: a restart loses it", key, maxBytes)
	}
	if err := d.write(d.file(key), append(append(raw[:len(raw):len(raw)], '\n'), checksum(raw)...)); err != nil {
		return fmt.Errorf("save %s: %w: a restart loses it", key, reason(err))
	}
	d.written[key] = true
	return nil
}

// reason returns the error without the name of the temporary file, because that name is different each time.
func reason(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return fmt.Errorf("%s: %w", filepath.Dir(e.Path), e.Err)
	}
	return err
}

// write replaces a file atomically: after a power failure the file has the old or the new content.
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
	if err != nil || len(entries) <= maxFiles {
		return
	}
	written := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			written[e.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return written[a.Name()].Compare(written[b.Name()]) })
	for _, e := range entries[:len(entries)-maxFiles] {
		_ = os.Remove(filepath.Join(d.path, e.Name()))
	}
}

// file returns the path of the file for a key. The file has the name of the key if the key is a valid file name.
func (d *Dir) file(key string) string {
	const longest = 200
	name := url.QueryEscape(key)
	if len(name) > longest {
		sum := sha256.Sum256([]byte(key))
		name = hex.EncodeToString(sum[:])
	}
	return filepath.Join(d.path, name+suffix)
}
