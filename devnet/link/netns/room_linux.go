package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Device is the name of a node's only device beside its loopback.
const Device = "eth0"

const (
	mtu         = 1500
	queueLength = 10000 // frames that the kernel keeps; the default of 1000 is too few for bulk
)

// Room is a network namespace. One thread lives in it, for as long as it exists:
// sockets are born there, and so are processes, which their Pdeathsig would kill
// with the thread that started them.
type Room struct {
	Routes *netlink.Handle // of the namespace, until Release
	work   chan func()

	once sync.Once
	gone chan struct{} // closed by Close
	left chan struct{} // closed by the thread at its end
}

// OnThread runs f on a thread of its own that ends with f. It is never the main
// thread, whose namespaces are the process's to everybody who looks.
func OnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		locked := make(chan struct{})
		go func() {
			runtime.LockOSThread() // a second one, as this one is taken
			close(locked)
			f()
		}()
		<-locked
		runtime.UnlockOSThread()
	}()
}

// NewRoom makes a namespace with a loopback device, and furnishes it on the thread
// that lives there. When furnish fails, nothing is left.
func NewRoom(furnish func(*Room) error) (*Room, error) {
	r := &Room{work: make(chan func()), gone: make(chan struct{}), left: make(chan struct{})}
	ready := make(chan error)
	OnThread(func() {
		defer close(r.left)
		err := r.build()
		if err == nil {
			err = furnish(r)
		}
		if err != nil {
			r.Release()
			ready <- err
			return
		}
		ready <- nil
		for {
			select {
			case f := <-r.work:
				f()
			case <-r.gone:
				return
			}
		}
	})
	if err := <-ready; err != nil {
		<-r.left
		return nil, err
	}
	return r, nil
}

// build makes the namespace around the calling thread.
func (r *Room) build() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		if errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w: %w", err, ErrPrivilege)
		}
		return fmt.Errorf("network namespace: %w", err)
	}
	// What a kernel does not have is not missed; see Probe for what is needed.
	for _, set := range []struct{ name, value string }{
		{"ipv6/conf/all/disable_ipv6", "1"},
		{"ipv6/conf/default/disable_ipv6", "1"},
		{"ipv4/tcp_rto_max_ms", "1000"}, // else a healed cut stays one for up to its own length
	} {
		err := os.WriteFile("/proc/sys/net/"+set.name, []byte(set.value), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.EROFS) && !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("sysctl %s: %w", set.name, err)
		}
	}
	var err error
	if r.Routes, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	lo, err := r.Routes.LinkByName("lo")
	if err == nil {
		err = r.Routes.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("loopback device: %w", err)
	}
	return nil
}

// Join gives the room's Device what the peer with that index needs to reach the
// others.
func (r *Room) Join(index int, peers []Peer, bits int) error {
	eth, err := r.Routes.LinkByName(Device)
	if err != nil {
		return fmt.Errorf("device: %w", err)
	}
	self := peers[index]
	for _, do := range []func() error{
		func() error { return r.Routes.LinkSetHardwareAddr(eth, self.MAC[:]) },
		func() error { return r.Routes.LinkSetMTU(eth, mtu) },
		func() error { return r.Routes.LinkSetTxQLen(eth, queueLength) },
		func() error {
			return r.Routes.AddrAdd(eth, &netlink.Addr{IPNet: &net.IPNet{IP: self.Addr.AsSlice(), Mask: net.CIDRMask(bits, 32)}})
		},
		func() error { return r.Routes.LinkSetUp(eth) },
	} {
		if err := do(); err != nil {
			return fmt.Errorf("device: %w", err)
		}
	}
	// Permanent neighbours: ARP must not be a victim of what the edges do.
	for i, p := range peers {
		if i == index {
			continue
		}
		err := r.Routes.NeighAdd(&netlink.Neigh{
			LinkIndex: eth.Attrs().Index, State: netlink.NUD_PERMANENT, IP: p.Addr.AsSlice(), HardwareAddr: p.MAC[:],
		})
		if err != nil {
			return fmt.Errorf("neighbour %s: %w", p.Addr, err)
		}
	}
	return nil
}

// Do runs f on the thread that lives in the namespace.
func (r *Room) Do(f func()) error {
	done := make(chan struct{})
	select {
	case r.work <- func() { defer close(done); f() }:
		<-done
		return nil
	case <-r.gone:
		return net.ErrClosed
	}
}

// Close ends the Device, if there is one, and the thread; it is idempotent.
func (r *Room) Close() error {
	var err error
	r.once.Do(func() {
		close(r.gone)
		var eth netlink.Link
		if eth, err = r.Routes.LinkByName(Device); err == nil {
			err = r.Routes.LinkDel(eth)
		}
		if errors.As(err, &netlink.LinkNotFoundError{}) || errors.Is(err, unix.ENODEV) {
			err = nil // none, or a process in the namespace was faster
		}
		<-r.left
	})
	return err
}

// Release closes what Routes uses.
func (r *Room) Release() {
	if r.Routes != nil {
		r.Routes.Close()
		r.Routes = nil
	}
}
