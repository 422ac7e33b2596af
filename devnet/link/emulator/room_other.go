//go:build !linux

package emulator

import (
	"errors"
	"net"
	"time"

	"github.com/jepgo/jepgo/devnet/link/netns"
)

var errLinux = errors.New("emulated links: they need network namespaces, which only Linux has")

// Probe returns why this machine cannot make an Emulator.
func Probe() error { return errLinux }

type room struct{ *netns.Room }

type alarm struct{}

func newAlarm() (*alarm, error) { return nil, errLinux }

func (*alarm) set(time.Duration) {}
func (*alarm) wait()             {}
func (*alarm) release()          {}

func preferThread() {}

func newRoom(int, []netns.Peer, int) (*room, error) { return nil, errLinux }
func (*room) read([]byte) (int, error)              { return 0, net.ErrClosed }
func (*room) write([]byte) error                    { return net.ErrClosed }
func (*room) close() error                          { return nil }
func (*room) release()                              {}
