// Package state stores small values that survive a restart, such as a position in a list and the totals up to it. It is only for
// values that can be computed again.
package state

import (
	"bytes"
	"crypto/rand"
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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"

	"github.com/avax-exporter/avax-exporter/internal/files"
)

// MaxBytes is the maximum size of a state file in bytes, for its writer and for its reader.
const MaxBytes = 32 << 20

// maxDamaged is the number of damaged files of one name that are kept.
const maxDamaged = 5

// Dir stores values by key, each in a JSON file. A file is replaced atomically. If a write fails, the value stays in memory. The
// zero Dir keeps values only in memory. A Dir is safe for concurrent use. If two processes use the same directory, the second
// process writes nothing until the first has ended.
type Dir struct {
	// Log reports files that are set aside; nil: nothing does. Set it before the first call.
	Log *slog.Logger

	path  string
	empty bool

	counting singleflight.Group
	last     atomic.Int64 // see counted

	tokenMu sync.Mutex
	token   string // that is not written yet

	mu         sync.Mutex
	memory     map[string]json.RawMessage
	written    map[string]bool  // keys whose file has the current value
	unreadable map[string]error // keys whose file could not be read: it may hold a good value, and is not replaced
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
	d.empty = !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasSuffix(e.Name(), suffix) })
	if inUse != nil {
		return d, inUse
	}
	for _, below := range []string{"", "*"} { // temporary files of a process that was killed
		left, _ := filepath.Glob(filepath.Join(path, below, unfinished+"*"))
		for _, file := range left {
			if !strings.HasSuffix(file, suffix) {
				_ = os.Remove(file)
			}
		}
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
	if err := lock(d.path); err != nil {
		return err
	}
	d.tokenMu.Lock()
	defer d.tokenMu.Unlock()
	if d.token != "" && d.replace(filepath.Join(d.path, tokenFile), []byte(d.token)) == nil { // otherwise the next Lock tries again
		d.token = ""
	}
	return nil
}

// Path returns the path of the directory, or an empty string if values are kept only in memory.
func (d *Dir) Path() string { return d.path }

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
		Help: "Number of files in AVAX_STATE_DIR whose names end in .damaged: damaged state files that the exporter has renamed, " +
			"and started without. Absent without AVAX_STATE_DIR.",
	}, func() float64 { return float64(d.counted(d.Damaged)) }))
}

// counted returns the result of a count for a scrape. A scrape must not wait for a disk that hangs: after a second it gets the last result.
func (d *Dir) counted(count func() int) int64 {
	select {
	case found := <-d.counting.DoChan("", func() (any, error) { return int64(count()), nil }):
		d.last.Store(found.Val.(int64))
	case <-time.After(time.Second):
	}
	return d.last.Load()
}

// ReadFile reads a state file. It returns nil if there is no file, or if the file is damaged: not a regular file, too large, or not
// accepted by check. It sets a damaged file aside. An error says that the file cannot be read now and may be good: do not replace it.
func (d *Dir) ReadFile(path string, check func([]byte) error) ([]byte, error) {
	content, err := files.ReadUpTo(path, MaxBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil && Passing(err):
		if d.Log != nil {
			d.Log.Error("state file not readable", "file", path, "err", err, "effect", "starting without it, and not replacing it")
		}
		return nil, fmt.Errorf("%w: make it readable for this user, and restart the exporter", err)
	case err == nil:
		err = check(content)
	}
	if err != nil {
		d.SetAside(path, err)
		return nil, nil
	}
	return content, nil
}

// Passing reports whether an error of reading a file says nothing about the content of the file: for example, the process has too many open
// files, or may not read the file.
func Passing(err error) bool {
	var number syscall.Errno
	return errors.As(err, &number) && !slices.Contains([]syscall.Errno{syscall.EISDIR, syscall.ENOTDIR, syscall.ELOOP}, number)
}

// SetAside renames a damaged file to PATH.damaged, PATH.2.damaged and so on, unless another process uses the directory. It keeps the first
// maxDamaged of them, because the first one has what was there before the trouble, and deletes a later one.
func (d *Dir) SetAside(path string, cause error) {
	to := path + damaged
	for n := 2; n <= maxDamaged && exists(to); n++ {
		to = fmt.Sprintf("%s.%d%s", path, n, damaged)
	}
	err := d.Lock()
	if err == nil && exists(to) {
		to, err = "", os.RemoveAll(path)
	} else if err == nil {
		err = os.Rename(path, to)
	}
	if d.Log != nil {
		d.Log.Error("state file damaged", "file", path, "err", cause, "effect", "starting without it", "set_aside_as", to, "set_aside_err", err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Load decodes the value of a key. found reports whether there is a value. A value that cannot be read is set aside, and counts as missing.
func Load[T any](d *Dir, key string) (value T, found bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	raw, known := d.memory[key]
	if !known && d.path != "" {
		raw = d.readValue(key, func(raw []byte) error { return json.Unmarshal(raw, new(T)) })
	}
	if raw == nil || json.Unmarshal(raw, &value) != nil {
		var none T
		return none, false
	}
	return value, true
}

// readValue returns the value in the file of a key, or nil. The caller holds d.mu.
func (d *Dir) readValue(key string, check func(raw []byte) error) (raw json.RawMessage) {
	_, err := d.ReadFile(d.file(key), func(content []byte) error {
		value, err := valueIn(content)
		if err == nil {
			err = check(value)
		}
		if err == nil {
			raw = value
		}
		return err
	})
	if err != nil {
		if d.unreadable == nil {
			d.unreadable = map[string]error{}
		}
		d.unreadable[key] = err
	}
	if raw != nil {
		d.remember(key, raw, true)
	}
	return raw
}

// valueIn returns the value in the content of a file. The line after the value is its checksum.
func valueIn(content []byte) (value []byte, err error) {
	value, sum, _ := bytes.Cut(content, []byte("\n"))
	if string(sum) != checksum(value) {
		return nil, errors.New("the checksum differs")
	}
	return value, nil
}

// checksum returns the checksum of a value in hexadecimal, as a line.
func checksum(value []byte) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:]) + "\n"
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
	if err := d.unreadable[key]; err != nil {
		return fmt.Errorf("save %s: %w: a restart loses it", key, err)
	}
	content := append(append(raw[:len(raw):len(raw)], '\n'), checksum(raw)...)
	if len(content) > MaxBytes {
		return fmt.Errorf("save %s: larger than %d MiB: a restart loses it", key, MaxBytes>>20)
	}
	if err := d.write(d.file(key), content); err != nil {
		return fmt.Errorf("save %s: %w: a restart loses it", key, reason(err))
	}
	d.written[key] = true
	return nil
}

// reason returns the error without the name of the temporary file, because that name is different each time.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
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
	return d.replace(name, content)
}

// replace is write without the lock.
func (d *Dir) replace(name string, content []byte) error {
	if err := renameio.WriteFile(name, content, 0o600, renameio.WithTempDir(d.path)); err != nil {
		return err
	}
	return syncDir(d.path)
}

func syncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
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

// Peek returns a value that another process has stored in a directory, without using the directory. If there is none, or it cannot be read now,
// found is false.
func Peek[T any](path, key string) (value T, found bool) {
	content, err := files.ReadUpTo((&Dir{path: path}).file(key), MaxBytes)
	if err == nil {
		content, err = valueIn(content)
	}
	return value, err == nil && json.Unmarshal(content, &value) == nil
}

// tokenFile has the token of the running process. Whoever can read the directory can have access.
const tokenFile = "token"

// NewToken returns a new random token that Token reads. If the directory cannot be written now, the token is written once it can. The token is
// empty without a directory.
func (d *Dir) NewToken() string {
	if d == nil || d.path == "" {
		return ""
	}
	token := rand.Text()
	d.tokenMu.Lock()
	d.token = token
	d.tokenMu.Unlock()
	_ = d.Lock() // the first write of a value logs the error
	return token
}

// Token returns the token of the process that uses the directory; empty if there is none, or if this user may not read it.
func Token(path string) string {
	if path == "" {
		return ""
	}
	text, err := files.Read(filepath.Join(path, tokenFile))
	if err != nil {
		return ""
	}
	return string(text)
}
