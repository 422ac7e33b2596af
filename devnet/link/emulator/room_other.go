//go:build !linux

package emulator

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"time"
)

var errLinux = errors.New("emulated links: they need network namespaces, which only Linux has")

// Probe returns why this machine cannot make an Emulator.
func Probe() error { return errLinux }

type room struct{}

type peer struct {
	addr netip.Addr
	mac  [6]byte
}

type alarm struct{}

func newAlarm() (*alarm, error) { return nil, errLinux }

func (*alarm) set(time.Duration) {}
func (*alarm) wait()             {}
func (*alarm) release()          {}

func onThread(f func()) { go f() }
func preferThread()     {}

func newRoom(int, []peer, int) (*room, error)                        { return nil, errLinux }
func (*room) do(func()) error                                        { return net.ErrClosed }
func (*room) read([]byte) (int, error)                               { return 0, net.ErrClosed }
func (*room) write([]byte) error                                     { return net.ErrClosed }
func (*room) close() error                                           { return nil }
func (*room) release()                                               {}
func (*room) destroy(_, _ netip.Addr) ([]connection, error)          { return nil, net.ErrClosed }
func (*room) dial(context.Context, netip.AddrPort) (net.Conn, error) { return nil, net.ErrClosed }

// InUserNamespace changes nothing: Probe tells why.
func InUserNamespace(*exec.Cmd) {}
