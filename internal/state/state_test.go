package state_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/renameio/v2"
	"pgregory.net/rapid"

	"github.com/avax-exporter/avax-exporter/internal/state"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

type book struct {
	Count int
	Seen  map[string]bool
}

func open(t *testing.T, path string) *state.Dir {
	t.Helper()
	return must.Get(state.Open(path))(t)
}

func save(t *testing.T, d *state.Dir, key string, value any) {
	t.Helper()
	must.Do(t, d.Save(key, value))
}

// holds fails the test unless the key has this value.
func holds(t *testing.T, d *state.Dir, key string, want book) {
	t.Helper()
	got, found := state.Load[book](d, key)
	if !found || !cmp.Equal(want, got) {
		t.Errorf("%s: found %v, %+v, want %+v", key, found, got, want)
	}
}

// only returns the one file in a directory.
func only(t *testing.T, path string) string {
	t.Helper()
	entries := files(t, path)
	if len(entries) != 1 {
		t.Fatalf("%v: not one file", entries)
	}
	return filepath.Join(path, entries[0])
}

// files returns the names in a directory without the lock file.
func files(t *testing.T, path string) (names []string) {
	t.Helper()
	entries := must.Get(os.ReadDir(path))(t)
	for _, e := range entries {
		if e.Name() != "lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

var some = book{7, map[string]bool{"a": true}}

func TestSavedValuesSurviveARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "on demand")
	d := open(t, path)
	if !d.WasEmpty() {
		t.Error("new directory not empty")
	}
	save(t, d, "rewards NodeID-a/usd", some)
	save(t, d, "other", book{Count: 1})
	save(t, d, "other", book{Count: 2})
	holds(t, d, "other", book{Count: 2})

	again := open(t, path)
	if again.WasEmpty() {
		t.Error("directory empty after Save")
	}
	holds(t, again, "rewards NodeID-a/usd", some)
	holds(t, again, "other", book{Count: 2})
	if got, found := state.Load[book](again, "nothing"); found || got.Count != 0 {
		t.Errorf("unknown key: %+v, %v", got, found)
	}
}

func TestUnchangedValueIsNotWritten(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	save(t, d, "a", some)
	d = open(t, path)
	holds(t, d, "a", some)
	must.Do(t, os.Remove(only(t, path)))
	save(t, d, "a", some)
	if entries := files(t, path); len(entries) != 0 {
		t.Errorf("written again: %v", entries)
	}
	save(t, d, "a", book{Count: 8})
	holds(t, open(t, path), "a", book{Count: 8})
}

func TestZeroDirKeepsValuesInMemory(t *testing.T) {
	var d state.Dir
	if _, found := state.Load[book](&d, "a"); found {
		t.Error("found")
	}
	save(t, &d, "a", some)
	holds(t, &d, "a", some)
}

func TestLoadedValueIsACopy(t *testing.T) {
	d := open(t, t.TempDir())
	save(t, d, "a", some)
	got, _ := state.Load[book](d, "a")
	got.Seen["b"] = true
	holds(t, d, "a", some)
}

func TestDamagedFileIsSetAside(t *testing.T) {
	content := func(text string) func(t *testing.T, file string) {
		return func(t *testing.T, file string) {
			must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		}
	}
	for name, damage := range map[string]func(t *testing.T, file string){
		"cut":         content(`{"Count":7,"Se`),
		"empty":       content(``),
		"other bytes": content("\x00\x01\x02"),
		"other value": content(`{"Count":8,"Seen":{"a":true}}` + "\n" + strings.Repeat("0", 64) + "\n"),
		"other type":  content(`"seven"` + "\n" + "4deb971179c356413cb0a188bfeeb2d9498bdec43a78cc7e14415370f4cd9ff0" + "\n"),
		"huge":        content(`{"Count":7}` + strings.Repeat(" ", 5<<20)),
		"a directory": func(t *testing.T, file string) { must.Do(t, os.Remove(file), os.Mkdir(file, 0o700)) },
		"a FIFO":      func(t *testing.T, file string) { must.Do(t, os.Remove(file), syscall.Mkfifo(file, 0o600)) },
		"a link to FIFO": func(t *testing.T, file string) {
			must.Do(t, os.Remove(file), syscall.Mkfifo(file+".fifo", 0o600), os.Symlink(file+".fifo", file))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			save(t, open(t, path), "a", some)
			file := only(t, path)
			damage(t, file)
			d := open(t, path)
			var log bytes.Buffer
			d.Log = slog.New(slog.NewTextHandler(&log, nil))
			if got, found := state.Load[book](d, "a"); found || got.Count != 0 || got.Seen != nil {
				t.Errorf("%+v, %v", got, found)
			}
			if _, err := os.Lstat(file + ".damaged"); err != nil || d.Damaged() != 1 || !strings.Contains(log.String(), "state file damaged") {
				t.Errorf("not set aside: %v, %d, %s", err, d.Damaged(), &log)
			}
			if _, found := state.Load[book](d, "a"); found || d.Damaged() != 1 {
				t.Errorf("second load: %v", found)
			}
			save(t, d, "a", some)
			holds(t, d, "a", some)
			holds(t, open(t, path), "a", some)
		})
	}
}

// Files of other packages are read in the same way.
func TestReadFileSetsDamagedFilesAside(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	path := filepath.Join(dir, "notify", "nflog")
	must.Do(t, os.Mkdir(filepath.Dir(path), 0o700))
	check := func(content []byte) error {
		if string(content) != "good" {
			return errors.New("not good")
		}
		return nil
	}
	if got, err := d.ReadFile(path, check); err != nil || got != nil || d.Damaged() != 0 {
		t.Errorf("no file: %q, %d damaged", got, d.Damaged())
	}
	must.Do(t, os.WriteFile(path, []byte("good"), 0o600))
	if got, err := d.ReadFile(path, check); err != nil || string(got) != "good" {
		t.Errorf("good file: %q", got)
	}
	must.Do(t, os.WriteFile(path, []byte("bad"), 0o600))
	if got, err := d.ReadFile(path, check); err != nil || got != nil || d.Damaged() != 1 {
		t.Errorf("bad file: %q, %d damaged", got, d.Damaged())
	}
	must.Do(t, syscall.Mkfifo(path, 0o600))
	if got, err := d.ReadFile(path, check); err != nil || got != nil || d.Damaged() != 2 {
		t.Errorf("FIFO: %q, %d damaged", got, d.Damaged())
	}
}

// A process with too many open files, or of another user, must not take good files for damaged ones.
func TestPassingErrorNeitherRenamesNorReplaces(t *testing.T) {
	for name, cause := range map[string]error{"too many open files": syscall.EMFILE, "no permission": syscall.EACCES, "disk error": syscall.EIO, "no memory": syscall.ENOMEM} {
		if !state.Passing(&fs.PathError{Op: "open", Path: "x", Err: cause}) {
			t.Errorf("%s counts as damage", name)
		}
	}
	for name, cause := range map[string]error{"directory": syscall.EISDIR, "loop": syscall.ELOOP, "content": errors.New("the checksum differs")} {
		if state.Passing(&fs.PathError{Op: "read", Path: "x", Err: cause}) {
			t.Errorf("%s counts as passing", name)
		}
	}
	path := t.TempDir()
	save(t, open(t, path), "a", some)
	file := only(t, path)
	before, err := os.ReadFile(file)
	must.Do(t, err)
	d := open(t, path)
	var limit syscall.Rlimit
	must.Do(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	must.Do(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: limit.Max}))
	_, found := state.Load[book](d, "a")
	must.Do(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	if found || d.Damaged() != 0 {
		t.Errorf("found %v, %d damaged", found, d.Damaged())
	}
	if err := d.Save("a", book{}); err == nil || !strings.Contains(err.Error(), "too many open files") {
		t.Errorf("a file that could not be read was replaced: %v", err)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the good file has changed (%v)", err)
	}
}

func TestAtMostFiveDamagedFilesAreKept(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	file := filepath.Join(path, "a.json")
	for n := range 8 {
		must.Do(t, os.WriteFile(file, []byte{'x', byte('0' + n)}, 0o600))
		d.SetAside(file, errors.New("damaged"))
		if _, err := os.Stat(file); err == nil {
			t.Error("the damaged file is still in place")
		}
	}
	if n := d.Damaged(); n != 5 {
		t.Errorf("%d files", n)
	}
	if first, err := os.ReadFile(file + ".damaged"); err != nil || string(first) != "x0" {
		t.Errorf("the first damaged file was replaced: %q (%v)", first, err)
	}
}

// What can be written can be read.
func TestWriterAndReaderHaveOneLimit(t *testing.T) {
	path := t.TempDir()
	large := strings.Repeat("x", 5<<20)
	must.Do(t, open(t, path).Save("a", large))
	if got, found := state.Load[string](open(t, path), "a"); !found || got != large {
		t.Error("a value of 5 MiB is lost")
	}
	if err := open(t, path).Save("b", strings.Repeat("x", state.MaxBytes)); err == nil {
		t.Error("a value was written that cannot be read")
	}
}

func TestDeletedFileMeansNoValue(t *testing.T) {
	path := t.TempDir()
	save(t, open(t, path), "a", some)
	must.Do(t, os.Remove(only(t, path)))
	d := open(t, path)
	if _, found := state.Load[book](d, "a"); found || !d.WasEmpty() {
		t.Error("found")
	}
}

// No user can create files in a path that is a file or below a file.
func TestUnwritableDiskKeepsValuesInMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(path, nil, 0o600))
	for _, path := range []string{path, filepath.Join(path, "below")} {
		d, err := state.Open(path)
		if err == nil {
			t.Fatal("opened")
		}
		first, second, third := d.Save("a", book{Count: 1}), d.Save("a", some), d.Save("a", some)
		if first == nil || second == nil || third == nil || first.Error() != second.Error() || second.Error() != third.Error() {
			t.Errorf("errors %v, %v, %v: want equal ones", first, second, third)
		}
		if first != nil && !strings.HasPrefix(first.Error(), "save a: ") {
			t.Error(first)
		}
		holds(t, d, "a", some)
	}
}

func TestValuesAreWrittenOnceTheDiskIsWritable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gone")
	d := open(t, path)
	save(t, d, "a", book{Count: 1})
	must.Do(t, os.RemoveAll(path))
	if err := os.WriteFile(path, nil, 0o600); err != nil { // blocks the directory
		t.Fatal(err)
	}
	if err := d.Save("a", book{Count: 2}); err == nil {
		t.Error("no error")
	}
	token := d.NewToken()
	must.Do(t, os.Remove(path))
	save(t, d, "a", book{Count: 2})
	holds(t, open(t, path), "a", book{Count: 2})
	if stored := state.Token(path); stored != token {
		t.Errorf("token %q, stored %q", token, stored)
	}
}

func TestTooLargeValueStaysInMemory(t *testing.T) {
	path := t.TempDir()
	d := open(t, path)
	large := strings.Repeat("x", state.MaxBytes)
	if err := d.Save("a", large); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("%v", err)
	}
	if got, found := state.Load[string](d, "a"); got != large || !found {
		t.Errorf("found %v", found)
	}
	if entries := files(t, path); len(entries) != 0 {
		t.Errorf("%v", entries)
	}
}

func TestOpenRemovesTemporaryFiles(t *testing.T) {
	path := t.TempDir()
	save(t, open(t, path), "a", some)
	half := must.Get(renameio.NewPendingFile(filepath.Join(path, "b.json"), renameio.WithTempDir(path)))(t)
	must.Get(half.WriteString(`{"Cou`))(t)
	must.Do(t, half.Close())
	holds(t, open(t, path), "a", some)
	only(t, path)
}

func TestKeysDoNotCollide(t *testing.T) {
	path, run := t.TempDir(), 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		here := filepath.Join(path, fmt.Sprint(run))
		d := open(t, here)
		keys := rapid.SliceOfNDistinct(rapid.StringN(0, 300, -1), 1, 3, rapid.ID[string]).Draw(r, "keys")
		for i, key := range keys {
			if err := d.Save(key, i); err != nil {
				r.Fatal(err)
			}
		}
		again := open(t, here)
		for i, key := range keys {
			if got, found := state.Load[int](again, key); got != i || !found {
				r.Errorf("%q: %d, %v, want %d", key, got, found, i)
			}
		}
	})
}

func TestConcurrentSaves(t *testing.T) {
	d := open(t, t.TempDir())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			key := fmt.Sprint(i % 2)
			for range 5 {
				if err := d.Save(key, some); err != nil {
					t.Error(err)
				}
				holds(t, d, key, some)
			}
		})
	}
	wg.Wait()
}

// The other process is this test binary. It uses the directory until its standard input ends.
func TestOneProcessWritesAStateDirectory(t *testing.T) {
	const held = "STATE_TEST_HOLDS"
	if dir := os.Getenv(held); dir != "" {
		d, err := state.Open(dir)
		if err == nil {
			err = d.Save("a", 1)
		}
		fmt.Println(err)
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	path := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestOneProcessWritesAStateDirectory$")
	cmd.Env = append(os.Environ(), held+"="+path)
	in := must.Get(cmd.StdinPipe())(t)
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Fatal(line, err)
	}
	half := filepath.Join(path, ".a.json1")
	must.Do(t, os.WriteFile(half, []byte("{"), 0o600))
	below := filepath.Join(path, "notify", ".nflog1")
	must.Do(t, os.Mkdir(filepath.Dir(below), 0o700))
	must.Do(t, os.WriteFile(below, nil, 0o600))
	d, err := state.Open(path)
	if !errors.Is(err, state.ErrInUse) {
		t.Errorf("Open while another process holds it: %v", err)
	}
	if _, err := os.Stat(half); err != nil {
		t.Errorf("temporary file of the other process removed: %v", err)
	}
	if value, found := state.Load[int](d, "a"); value != 1 || !found {
		t.Errorf("read: %v, %v", value, found)
	}
	if err := d.Save("a", 2); !errors.Is(err, state.ErrInUse) {
		t.Errorf("Save while another process holds it: %v", err)
	}
	token := d.NewToken()
	if stored := state.Token(path); stored != "" {
		t.Errorf("token %s written while another process holds it", stored)
	}
	must.Do(t, in.Close(), cmd.Wait())
	if err := d.Save("a", 2); err != nil {
		t.Errorf("not saved after the other process ended: %v", err)
	}
	if stored := state.Token(path); stored != token || token == "" {
		t.Errorf("after the other process ended: token %q, stored %q", token, stored)
	}
	_ = must.Get(state.Open(path))(t)
	for _, left := range []string{half, below} {
		if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", left, err)
		}
	}
}

// A scrape gets the last number of damaged files while the disk hangs.
func TestHangingDiskDelaysNoScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, hangs := state.Dir{}, make(chan struct{})
		if n := state.Counted(&d, func() int { return 2 }); n != 2 {
			t.Errorf("%d files", n)
		}
		began := time.Now()
		for range 3 {
			if n := state.Counted(&d, func() int { <-hangs; return 0 }); n != 2 {
				t.Errorf("%d files while the disk hangs, want the last number", n)
			}
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("three scrapes took %s", took)
		}
		close(hangs)
		synctest.Wait()
		if n := state.Counted(&d, func() int { return 1 }); n != 1 {
			t.Errorf("%d files when the disk answers again", n)
		}
	})
}
