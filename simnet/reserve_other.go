//go:build !linux

package simnet

import "net"

// Reserve returns an address on 127.0.0.1 whose port is free now. On this system, another program may get the port before a
// program listens on it.
func Reserve() (address string, release func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	return l.Addr().String(), func() {}, l.Close()
}
