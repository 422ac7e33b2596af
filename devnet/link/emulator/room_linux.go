package emulator

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet/link/netns"
)

// room is a network namespace with a TAP device.
type room struct {
	*netns.Room
	tap *os.File // the device's other end
	fd  int      // the same, for writing: that never waits
}

// newRoom makes the namespace of the node with that index among peers.
func newRoom(index int, peers []netns.Peer, bits int) (*room, error) {
	r := new(room)
	var err error
	r.Room, err = netns.NewRoom(func(in *netns.Room) error {
		fd, err := openTAP()
		if err != nil {
			return err
		}
		r.fd, r.tap = fd, os.NewFile(uintptr(fd), netns.Device) // only now can it be polled
		return in.Join(index, peers, bits)
	})
	if err != nil {
		if r.tap != nil {
			r.tap.Close()
		}
		return nil, err
	}
	return r, nil
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
	req, err := unix.NewIfreq(netns.Device)
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
	r, err := newRoom(0, []netns.Peer{{Addr: netip.AddrFrom4([4]byte{10, 77, 0, 1}), MAC: netns.MAC(0)}}, 16)
	if err != nil {
		return err
	}
	err = r.close()
	r.release()
	return err
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
	r.tap.SetReadDeadline(time.Unix(1, 0)) // a read under way ends
	return r.Room.Close()
}

// release closes the descriptors; it is for when the reader has ended.
func (r *room) release() {
	r.tap.Close()
	r.Room.Release()
}
