package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Destroy breaks the namespace's connections between the two addresses.
func (r *Room) Destroy(local, remote netip.Addr) ([]Connection, error) {
	return r.destroy(func(c Connection) bool { return c.Local.Addr() == local && c.Remote.Addr() == remote })
}

// DestroyOne breaks that connection of the namespace, and reports whether it was
// there.
func (r *Room) DestroyOne(c Connection) (bool, error) {
	broken, err := r.destroy(func(o Connection) bool { return o == c })
	return len(broken) > 0, err
}

func (r *Room) destroy(which func(Connection) bool) ([]Connection, error) {
	var broken []Connection
	var err error
	if closed := r.Do(func() { broken, err = destroySockets(which) }); closed != nil {
		return nil, closed
	}
	return broken, err
}

func destroySockets(which func(Connection) bool) ([]Connection, error) {
	// States in which there is no connection to break.
	idle := []uint8{netlink.TCP_LISTEN, netlink.TCP_CLOSE, netlink.TCP_TIME_WAIT}
	var broken []Connection
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} { // the latter for addresses of IPv4 in it
		sockets, err := netlink.SocketDiagTCP(family)
		if err != nil {
			return broken, fmt.Errorf("list sockets: %w", err)
		}
		for _, s := range sockets {
			src, _ := netip.AddrFromSlice(s.ID.Source)
			dst, _ := netip.AddrFromSlice(s.ID.Destination)
			c := Connection{netip.AddrPortFrom(src.Unmap(), s.ID.SourcePort), netip.AddrPortFrom(dst.Unmap(), s.ID.DestinationPort)}
			if slices.Contains(idle, s.State) || !which(c) {
				continue
			}
			switch err := destroySocket(c, s.ID.Cookie); {
			case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ESTALE): // ended by itself
			case errors.Is(err, unix.EOPNOTSUPP):
				return broken, fmt.Errorf("destroy a socket: %w: the kernel lacks INET_DIAG_DESTROY", err)
			case err != nil:
				return broken, fmt.Errorf("destroy a socket: %w", err)
			default:
				broken = append(broken, c)
			}
		}
	}
	return broken, nil
}

// destroySocket breaks the very socket with that cookie. Without it, as in
// netlink.SocketDestroy, the kernel looks for who would get a packet of the connection,
// and when that has ended, or never was, it is the listener that it closes for good.
// (Not one of MPTCP, as programs of recent Go have.)
func destroySocket(c Connection, cookie [2]uint32) error {
	// struct inet_diag_req_v2 of linux/inet_diag.h
	b := []byte{unix.AF_INET, unix.IPPROTO_TCP, 0, 0}
	b = binary.NativeEndian.AppendUint32(b, 0) // states: not asked for
	b = binary.BigEndian.AppendUint16(b, c.Local.Port())
	b = binary.BigEndian.AppendUint16(b, c.Remote.Port())
	for _, addr := range []netip.Addr{c.Local.Addr(), c.Remote.Addr()} {
		b = append(append(b, addr.AsSlice()...), make([]byte, 12)...)
	}
	b = binary.NativeEndian.AppendUint32(b, 0) // any device
	b = binary.NativeEndian.AppendUint32(b, cookie[0])
	b = binary.NativeEndian.AppendUint32(b, cookie[1])
	req := nl.NewNetlinkRequest(nl.SOCK_DESTROY, unix.NLM_F_ACK)
	req.AddRawData(b)
	_, err := req.Execute(unix.NETLINK_INET_DIAG, 0)
	return err
}
