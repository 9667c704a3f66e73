package simnet

import (
	"net/netip"
	"os"
	"syscall"
)

// Reserve returns an address on 127.0.0.1 whose port the system gives to no other program until release is called. Any program
// may listen on the address, several times one after the other. While none listens, connections are refused.
func Reserve() (address string, release func(), err error) {
	// A bound socket that does not listen keeps the port. With SO_REUSEADDR, which net.Listen sets too, another socket may listen.
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", nil, os.NewSyscallError("socket", err)
	}
	release = func() { _ = syscall.Close(fd) }
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		release()
		return "", nil, os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: loopback.As4()}); err != nil {
		release()
		return "", nil, os.NewSyscallError("bind", err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		release()
		return "", nil, os.NewSyscallError("getsockname", err)
	}
	port := bound.(*syscall.SockaddrInet4).Port
	return netip.AddrPortFrom(loopback, uint16(port)).String(), release, nil //nolint:gosec // a port has 16 bits
}
