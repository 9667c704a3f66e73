// Package files reads configuration files.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// MaxSize is the maximum size of a file in bytes.
const MaxSize = 4 << 20

// Read reads a file of at most MaxSize bytes. It returns an error at once for a FIFO, a device or a directory, because reading
// it could block or never end. Errors are *fs.PathError, like those of os.ReadFile.
func Read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // without O_NONBLOCK, opening a FIFO blocks
	if err != nil {
		return nil, err
	}
	defer f.Close()
	wrong := func(err error) ([]byte, error) { return nil, &fs.PathError{Op: "read", Path: path, Err: err} }
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return wrong(syscall.EISDIR)
	case !info.Mode().IsRegular():
		return wrong(errors.New("not a regular file"))
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err == nil && len(text) > MaxSize {
		return wrong(fmt.Errorf("larger than %d MiB", MaxSize>>20))
	}
	return text, err
}
