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
func Read(path string) ([]byte, error) { return ReadUpTo(path, MaxSize) }

// ReadUpTo is Read with another maximum size.
func ReadUpTo(path string, maxSize int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && int64(len(text)) > maxSize {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("larger than %d MiB", maxSize>>20)}
	}
	return text, err
}

// Open opens a regular file for reading. It returns an error at once for anything else.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // without O_NONBLOCK, opening a FIFO blocks
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file: write the path of a file")}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}
