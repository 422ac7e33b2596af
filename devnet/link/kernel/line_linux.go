package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// frame is the longest that leaves a device, and a little.
	frame = 1600
	// burst is what a line that was idle lets through at once, beside 2 ms of its rate.
	burst      = frame
	burstShare = 500
	// A quarter of a second, at least 64 KiB, may wait for a line.
	minQueue   = 64 << 10
	maxQueue   = 16 << 20
	queueShare = 4
	// unlimited lets what is held leave, bytes a second.
	unlimited = 4<<30 - 1
	// release bounds how long what was held may take to leave.
	release = time.Second
	// minRate is the least that the kernel can express with that burst.
	minRate = 8
)

// line limits what leaves a node's device, by receiver: HTB only sorts packets by
// where they go, a TBF for each receiver with a rate holds it, as that one counts how
// often a packet had to wait. The device has no queueing discipline while nothing is
// limited.
type line struct {
	routes *netlink.Handle
	device int // its index

	mu      sync.Mutex
	classes map[int]struct{}  // receivers with a rate
	past    map[int]lineTally // of classes that are gone
}

// lineTally is what a line did.
type lineTally struct{ held, overflow int64 }

func (ln *line) root() *netlink.Htb {
	return netlink.NewHtb(netlink.QdiscAttrs{LinkIndex: ln.device, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT})
}

func (ln *line) class(i int) *netlink.HtbClass {
	return netlink.NewHtbClass(
		netlink.ClassAttrs{LinkIndex: ln.device, Parent: netlink.MakeHandle(1, 0), Handle: netlink.MakeHandle(1, uint16(i+1))},
		netlink.HtbClassAttrs{Rate: 8 * unlimited, Ceil: 8 * unlimited, Quantum: 8 * frame, Buffer: maxQueue, Cbuffer: maxQueue})
}

// bucket is the TBF of a class.
func (ln *line) bucket(i int, rate int64) *netlink.Tbf {
	return &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: ln.device, Parent: netlink.MakeHandle(1, uint16(i+1)), Handle: netlink.MakeHandle(uint16(i+2), 0)},
		Rate:       uint64(rate),
		Limit:      uint32(min(max(minQueue, rate/queueShare), maxQueue)),
		Buffer:     netlink.Xmittime(uint64(rate), uint32(burst+min(rate/burstShare, maxQueue))),
	}
}

func (ln *line) filter(i int, to netip.Addr) *netlink.U32 {
	return &netlink.U32{
		FilterAttrs: netlink.FilterAttrs{LinkIndex: ln.device, Parent: netlink.MakeHandle(1, 0), Priority: uint16(i + 1), Protocol: unix.ETH_P_IP},
		ClassId:     netlink.MakeHandle(1, uint16(i+1)),
		Sel: &netlink.TcU32Sel{
			Flags: netlink.TC_U32_TERMINAL, Nkeys: 1,
			Keys: []netlink.TcU32Key{{Mask: 0xffffffff, Val: binary.BigEndian.Uint32(to.AsSlice()), Off: 16}}, // the destination
		},
	}
}

// set limits what leaves to the peer with that index to so many bytes a second; 0
// takes the limit away.
func (ln *line) set(i int, to netip.Addr, rate int64) error {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	_, limited := ln.classes[i]
	if rate == 0 {
		if !limited {
			return nil
		}
		return ln.clear(i, to)
	}
	if rate < minRate {
		return fmt.Errorf("rate %d: expected at least %d bytes a second", rate, minRate)
	}
	rate = min(rate, unlimited)
	if limited {
		if err := ln.routes.QdiscChange(ln.bucket(i, rate)); err != nil {
			return fmt.Errorf("rate: %w", err)
		}
		return nil
	}
	var undo []func() error
	for _, step := range []struct{ do, undo func() error }{
		{ln.sort, ln.unsort},
		{func() error { return ln.routes.ClassAdd(ln.class(i)) }, func() error { return ln.routes.ClassDel(ln.class(i)) }},
		{func() error { return ln.routes.QdiscAdd(ln.bucket(i, rate)) }, nil}, // it goes with the class
		{func() error { return ln.routes.FilterAdd(ln.filter(i, to)) }, nil},
	} {
		if err := step.do(); err != nil {
			for _, u := range slices.Backward(undo) {
				err = errors.Join(err, u())
			}
			return fmt.Errorf("rate: queueing disciplines htb and tbf: %w", err)
		}
		if step.undo != nil {
			undo = append(undo, step.undo)
		}
	}
	ln.classes[i] = struct{}{}
	return nil
}

// sort has the device sort packets, unless it does.
func (ln *line) sort() error {
	if len(ln.classes) > 0 {
		return nil
	}
	return ln.routes.QdiscAdd(ln.root())
}

// unsort takes that away with the last class.
func (ln *line) unsort() error {
	if len(ln.classes) > 0 {
		return nil
	}
	return ln.routes.QdiscDel(ln.root())
}

func (ln *line) clear(i int, to netip.Addr) error {
	if err := ln.routes.QdiscChange(ln.bucket(i, unlimited)); err != nil {
		return fmt.Errorf("rate: %w", err)
	}
	if err := ln.empty(i); err != nil {
		return err
	}
	if err := ln.routes.FilterDel(ln.filter(i, to)); err != nil {
		return fmt.Errorf("rate: take the filter away: %w", err)
	}
	if err := ln.empty(i); err != nil { // of what came in between
		return err
	}
	now, _, err := ln.stats(i)
	if err != nil {
		return err
	}
	if err := ln.routes.ClassDel(ln.class(i)); err != nil {
		return fmt.Errorf("rate: take the class away: %w", err)
	}
	delete(ln.classes, i)
	past := ln.past[i]
	ln.past[i] = lineTally{past.held + now.held, past.overflow + now.overflow}
	if err := ln.unsort(); err != nil {
		return fmt.Errorf("rate: take the queueing discipline away: %w", err)
	}
	return nil
}

// empty returns when the class holds nothing, or has had its time.
func (ln *line) empty(i int) error {
	for end := time.Now().Add(release); ; time.Sleep(time.Millisecond) {
		_, held, err := ln.stats(i)
		if err != nil || held == 0 || time.Now().After(end) {
			return err
		}
	}
}

// stats reads what the bucket did, and how many frames wait in it.
func (ln *line) stats(i int) (lineTally, uint32, error) {
	qdiscs, err := ln.routes.QdiscList(ln.link())
	if err != nil {
		return lineTally{}, 0, fmt.Errorf("rate: %w", err)
	}
	for _, d := range qdiscs {
		a := d.Attrs()
		if a.Handle != netlink.MakeHandle(uint16(i+2), 0) || a.Statistics == nil || a.Statistics.Queue == nil || a.Statistics.Basic == nil {
			continue
		}
		q := a.Statistics.Queue
		// A packet that waits long is found waiting again and again.
		held := min(int64(q.Overlimits), int64(a.Statistics.Basic.Packets))
		return lineTally{held, int64(q.Drops)}, q.Qlen, nil
	}
	return lineTally{}, 0, fmt.Errorf("rate: its queueing discipline is gone")
}

func (ln *line) link() netlink.Link {
	return &netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Index: ln.device}}
}

// read is what the line did to the peer with that index, since it exists.
func (ln *line) read(i int) (lineTally, error) {
	ln.mu.Lock()
	defer ln.mu.Unlock()
	t := ln.past[i]
	if _, limited := ln.classes[i]; !limited {
		return t, nil
	}
	now, _, err := ln.stats(i)
	return lineTally{t.held + now.held, t.overflow + now.overflow}, err
}
