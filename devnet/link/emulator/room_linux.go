package emulator

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	device      = "eth0"
	mtu         = 1500
	queueLength = 10000 // frames that the kernel keeps for us; the default of 1000 is too few for bulk
)

// room is a network namespace with a TAP device. One thread lives in it, for as
// long as it exists: sockets are born there, and so are processes, which their
// Pdeathsig would kill with the thread that started them.
type room struct {
	tap    *os.File // the device's other end
	fd     int      // the same, for writing: that never waits
	routes *netlink.Handle
	work   chan func()

	once sync.Once
	gone chan struct{} // closed by close
	left chan struct{} // closed by the thread at its end
}

// peer is a node as its neighbours know it.
type peer struct {
	addr netip.Addr
	mac  [6]byte
}

// onThread runs f on a thread of its own that ends with f. It is never the main
// thread, whose namespaces are the process's to everybody who looks.
func onThread(f func()) {
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

// newRoom makes the namespace of the node with that index among peers.
func newRoom(index int, peers []peer, bits int) (*room, error) {
	r := &room{work: make(chan func()), gone: make(chan struct{}), left: make(chan struct{})}
	ready := make(chan error)
	onThread(func() {
		defer close(r.left)
		if err := r.furnish(index, peers, bits); err != nil {
			r.release()
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
		return nil, err
	}
	return r, nil
}

// furnish makes the namespace around the calling thread.
func (r *room) furnish(index int, peers []peer, bits int) error {
	if err := r.enter(); err != nil {
		return err
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
	if r.fd, err = openTAP(); err != nil {
		return err
	}
	r.tap = os.NewFile(uintptr(r.fd), device) // only now can it be polled
	if r.routes, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return fmt.Errorf("netlink: %w", err)
	}
	lo, err := r.routes.LinkByName("lo")
	if err == nil {
		err = r.routes.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("loopback device: %w", err)
	}
	eth, err := r.routes.LinkByName(device)
	if err != nil {
		return fmt.Errorf("device: %w", err)
	}
	self := peers[index]
	for _, do := range []func() error{
		func() error { return r.routes.LinkSetHardwareAddr(eth, self.mac[:]) },
		func() error { return r.routes.LinkSetMTU(eth, mtu) },
		func() error { return r.routes.LinkSetTxQLen(eth, queueLength) },
		func() error {
			return r.routes.AddrAdd(eth, &netlink.Addr{IPNet: &net.IPNet{IP: self.addr.AsSlice(), Mask: net.CIDRMask(bits, 32)}})
		},
		func() error { return r.routes.LinkSetUp(eth) },
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
		err := r.routes.NeighAdd(&netlink.Neigh{
			LinkIndex: eth.Attrs().Index, State: netlink.NUD_PERMANENT, IP: p.addr.AsSlice(), HardwareAddr: p.mac[:],
		})
		if err != nil {
			return fmt.Errorf("neighbour %s: %w", p.addr, err)
		}
	}
	return nil
}

// enter gives the calling thread a namespace of its own.
func (r *room) enter() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		if errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w: run as root, or in a user namespace (unshare -Ur jepgo …)", err)
		}
		return fmt.Errorf("network namespace: %w", err)
	}
	return nil
}

// openTAP makes the device in the namespace of the calling thread.
func openTAP() (int, error) {
	const path = "/dev/net/tun"
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return -1, fmt.Errorf("%s: %w: load the kernel module tun (modprobe tun), or give the container this device", path, err)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return -1, fmt.Errorf("%s: %w: it must be open to this user (chmod 0666 %s, as most distributions have it)", path, err, path)
	case err != nil:
		return -1, fmt.Errorf("%s: %w", path, err)
	}
	req, err := unix.NewIfreq(device)
	if err == nil {
		req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("%s: make a device: %w", path, err)
	}
	return fd, nil
}

// Probe returns why this machine cannot make an Emulator, and what would help. It
// makes a namespace with a device, and leaves nothing.
func Probe() error {
	r, err := newRoom(0, []peer{{netip.AddrFrom4([4]byte{10, 77, 0, 1}), [6]byte{2}}}, 16)
	if err != nil {
		return err
	}
	err = r.close()
	r.release()
	return err
}

// do runs f on the thread that lives in the namespace.
func (r *room) do(f func()) error {
	done := make(chan struct{})
	select {
	case r.work <- func() { defer close(done); f() }:
		<-done
		return nil
	case <-r.gone:
		return net.ErrClosed
	}
}

// read waits for a frame that the node sends; an error is the end of its device.
func (r *room) read(b []byte) (int, error) {
	return r.tap.Read(b)
}

// write gives the node a frame.
func (r *room) write(frame []byte) error {
	_, err := unix.Write(r.fd, frame)
	return err
}

// close ends the device, its reader and the thread.
func (r *room) close() error {
	var err error
	r.once.Do(func() {
		close(r.gone)
		r.tap.SetReadDeadline(time.Unix(1, 0)) // a read under way ends
		var eth netlink.Link
		if eth, err = r.routes.LinkByName(device); err == nil {
			err = r.routes.LinkDel(eth)
		}
		if errors.As(err, &netlink.LinkNotFoundError{}) {
			err = nil // a process in the namespace was faster
		}
		<-r.left
	})
	return err
}

// release closes the descriptors; it is for when the reader has ended.
func (r *room) release() {
	if r.tap != nil {
		r.tap.Close()
	}
	if r.routes != nil {
		r.routes.Close()
		r.routes = nil
	}
}

// destroy breaks the namespace's connections between the two addresses.
func (r *room) destroy(local, remote netip.Addr) ([]connection, error) {
	var broken []connection
	var err error
	if closed := r.do(func() { broken, err = destroySockets(local, remote) }); closed != nil {
		return nil, closed
	}
	return broken, err
}

func destroySockets(local, remote netip.Addr) ([]connection, error) {
	// States in which there is no connection to break.
	idle := []uint8{netlink.TCP_LISTEN, netlink.TCP_CLOSE, netlink.TCP_TIME_WAIT}
	var broken []connection
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} { // the latter for addresses of IPv4 in it
		sockets, err := netlink.SocketDiagTCP(family)
		if err != nil {
			return broken, fmt.Errorf("list sockets: %w", err)
		}
		for _, s := range sockets {
			src, _ := netip.AddrFromSlice(s.ID.Source)
			dst, _ := netip.AddrFromSlice(s.ID.Destination)
			if src.Unmap() != local || dst.Unmap() != remote || slices.Contains(idle, s.State) {
				continue
			}
			c := connection{netip.AddrPortFrom(local, s.ID.SourcePort), netip.AddrPortFrom(remote, s.ID.DestinationPort)}
			err := netlink.SocketDestroy(net.TCPAddrFromAddrPort(c.local), net.TCPAddrFromAddrPort(c.remote))
			switch {
			case errors.Is(err, unix.ENOENT): // ended by itself
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
