package netns

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Dial connects from inside the namespace. It makes the socket on the thread there,
// and waits for the connection elsewhere: the thread serves others meanwhile.
func (r *Room) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	fd := -1
	var err error
	if closed := r.Do(func() {
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	}); closed != nil {
		return nil, closed
	}
	if err != nil {
		return nil, fmt.Errorf("socket: %w", err)
	}
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close() // net.FileConn makes its own
	err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
	if err == unix.EINPROGRESS {
		err = await(ctx, f)
	}
	if err != nil {
		return nil, err
	}
	return net.FileConn(f)
}

// await waits until the socket is connected.
func await(ctx context.Context, f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { f.SetWriteDeadline(time.Unix(1, 0)) })()
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		if _, err := unix.Getpeername(int(fd)); err == nil {
			return true
		}
		code, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && code != 0 {
			err = unix.Errno(code)
		}
		failed = err
		return failed != nil
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if failed != nil {
		return failed
	}
	return err
}
