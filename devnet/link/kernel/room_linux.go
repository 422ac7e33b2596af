package kernel

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/netns"
)

// hub is the namespace with the bridge that joins the nodes.
type hub struct {
	*netns.Room
	bridge int // its index
}

func newHub() (*hub, error) {
	h := new(hub)
	var err error
	h.Room, err = netns.NewRoom(func(r *netns.Room) error {
		no := false
		br := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "hub"}, MulticastSnooping: &no}
		if err := r.Routes.LinkAdd(br); err != nil {
			if errors.Is(err, unix.EOPNOTSUPP) {
				err = fmt.Errorf("%w: load the kernel module bridge (modprobe bridge)", err)
			}
			return fmt.Errorf("bridge: %w", err)
		}
		if err := r.Routes.LinkSetUp(br); err != nil {
			return fmt.Errorf("bridge: %w", err)
		}
		h.bridge = br.Index
		return nil
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

func (h *hub) close() error {
	err := h.Room.Close()
	h.Release()
	return err
}

// plug makes a pair of devices: a port of the bridge, and the Device of the
// namespace of the calling thread.
func (h *hub) plug(index int) error {
	ns, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	defer unix.Close(ns)
	port := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: "port" + strconv.Itoa(index), MasterIndex: h.bridge},
		PeerName:  netns.Device, PeerNamespace: netlink.NsFd(ns),
	}
	if err := h.Routes.LinkAdd(port); err != nil {
		if errors.Is(err, unix.EOPNOTSUPP) {
			err = fmt.Errorf("%w: load the kernel module veth (modprobe veth)", err)
		}
		return fmt.Errorf("device: %w", err)
	}
	if err := h.Routes.LinkSetUp(port); err != nil {
		return fmt.Errorf("device: %w", err)
	}
	return nil
}

// room is a node's namespace, with what is done to what it receives and sends.
type room struct {
	*netns.Room
	table *table
	line  *line
	log   *log
}

// newRoom makes the namespace of the node with that index among peers.
func newRoom(h *hub, index int, peers []netns.Peer, bits int, logged func(netns.Connection)) (*room, error) {
	r := new(room)
	var err error
	r.Room, err = netns.NewRoom(func(in *netns.Room) error {
		if err := h.plug(index); err != nil {
			return err
		}
		eth, err := in.Routes.LinkByName(netns.Device)
		if err != nil {
			return fmt.Errorf("device: %w", err)
		}
		// Else TCP hands over up to 64 KiB as one packet, of which a loss takes all.
		if err := in.Routes.LinkSetGSOMaxSegs(eth, 1); err != nil {
			return fmt.Errorf("device: one segment a packet: %w", err)
		}
		if r.table, err = newTable(index, peers); err != nil {
			return err
		}
		if r.log, err = openLog(logged); err != nil {
			return err
		}
		if err := in.Join(index, peers, bits); err != nil {
			return err
		}
		r.line = &line{routes: in.Routes, device: eth.Attrs().Index, classes: make(map[int]struct{}), past: make(map[int]lineTally)}
		return nil
	})
	if err != nil {
		r.drop()
		return nil, err
	}
	return r, nil
}

// carrierBound is how long a device may take to come up: the kernel does it
// behind one's back, and on a busy machine only once a second.
const carrierBound = 20 * time.Second

// carries waits until both ends of the node's pair of devices are up. Until then
// the kernel drops what is sent, without a word.
func (r *room) carries(h *hub) error {
	eth, err := r.Routes.LinkByIndex(r.line.device)
	if err != nil {
		return fmt.Errorf("device: %w", err)
	}
	for _, end := range []struct {
		routes *netlink.Handle
		index  int
	}{{r.Routes, eth.Attrs().Index}, {h.Routes, eth.Attrs().ParentIndex}} {
		for deadline := time.Now().Add(carrierBound); ; time.Sleep(time.Millisecond) {
			now, err := end.routes.LinkByIndex(end.index)
			if err != nil {
				return fmt.Errorf("device: %w", err)
			}
			if now.Attrs().OperState == netlink.OperUp {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("device: is %s after %v, expected up", now.Attrs().OperState, carrierBound)
			}
		}
	}
	return nil
}

func (r *room) close() error {
	err := r.drop()
	err = errors.Join(err, r.Room.Close())
	r.Release()
	return err
}

// drop ends what belongs to sockets.
func (r *room) drop() error {
	var errs []error
	if r.log != nil {
		errs = append(errs, r.log.close())
	}
	if r.table != nil {
		errs = append(errs, r.table.close())
	}
	return errors.Join(errs...)
}

// enforce has the kernel do what the edge is to do; was is the rate that it has now.
func enforce(ed *edge, was int64) error {
	if ed.state.Shape.Rate != was {
		if err := ed.from.room.line.set(ed.to.index, ed.to.addr, ed.state.Shape.Rate); err != nil {
			return err
		}
	}
	return ed.to.room.table.set(ed.from.index, rules{cut: ed.state.Cut, loss: ed.state.Shape.Loss, reset: ed.state.Shape.Reset})
}

// settle returns when no packet is under way any more that met the rules of before.
// The command waits for a grace period of RCU, which processing a packet is inside of.
func settle() {
	const membarrierGlobal = 1
	// Where it is refused there is a microsecond in which one may be under way.
	unix.Syscall(unix.SYS_MEMBARRIER, membarrierGlobal, 0, 0)
}

// read returns what the kernel has counted on the edge.
func read(ed *edge) (link.Counters, error) {
	all, err := ed.to.room.table.read(ed.from.index)
	if err != nil {
		return link.Counters{}, err
	}
	waited, err := ed.from.room.line.read(ed.to.index)
	if err != nil {
		return link.Counters{}, err
	}
	return link.Counters{
		Bytes: payload(all, delivered), Dropped: payload(all, dropped),
		Connections: all[connections].packets, RefusedDials: all[refused].packets,
		Units: all[units].packets + waited.overflow, Held: waited.held,
		Lost: all[lost].packets, Overflow: waited.overflow,
	}, nil
}

// Probe returns why this machine cannot make Links, and what would help. It makes
// namespaces with devices, rules and rates, and leaves nothing.
func Probe() error {
	if _, err := os.Stat("/proc/thread-self/ns/net"); err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	l, err := New(Options{Nodes: []string{"a", "b"}})
	if err != nil {
		return err
	}
	e := link.Edge{From: "a", To: "b"}
	for _, s := range []link.Shape{{Loss: 0.5, Reset: 0.5}, {Rate: 1e6}, {}} {
		if err == nil {
			err = l.Shape(e, s)
		}
	}
	return errors.Join(err, l.Close())
}
