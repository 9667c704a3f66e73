//go:build unix

package state

import (
	"errors"
	"io"
	"path/filepath"
	"sync"
	"syscall"
)

// locks holds the file descriptors of the lock files by directory. They stay open, because closing a descriptor releases its lock.
var (
	locksMu sync.Mutex
	locks   = map[string]int{}
)

// lock locks a directory for this process. It returns ErrInUse if another process has locked it, and nil if the file system
// has no locks.
func lock(dir string) error {
	locksMu.Lock()
	defer locksMu.Unlock()
	for dir, fd := range locks { // descriptors of directories that were deleted
		var info syscall.Stat_t
		if syscall.Fstat(fd, &info) != nil || info.Nlink == 0 {
			_ = syscall.Close(fd)
			delete(locks, dir)
		}
	}
	fd, opened := locks[dir]
	if !opened {
		var err error
		fd, err = syscall.Open(filepath.Join(dir, "lock"), syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return err
		}
		locks[dir] = fd
	}
	err := syscall.FcntlFlock(uintptr(fd), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return ErrInUse
	}
	return nil
}
