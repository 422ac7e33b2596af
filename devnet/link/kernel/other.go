//go:build !linux

package kernel

import (
	"errors"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/netns"
)

var errLinux = errors.New("kernel links: they need network namespaces and nftables, which only Linux has")

// Probe returns why this machine cannot make Links.
func Probe() error { return errLinux }

type hub struct{}

func newHub() (*hub, error) { return nil, errLinux }
func (*hub) close() error   { return nil }

type room struct{ *netns.Room }

func newRoom(*hub, int, []netns.Peer, int, func(netns.Connection)) (*room, error) {
	return nil, errLinux
}
func (*room) carries(*hub) error        { return nil }
func (*room) close() error              { return nil }
func enforce(*edge, int64) error        { return errLinux }
func read(*edge) (link.Counters, error) { return link.Counters{}, errLinux }
func settle()                           {}
