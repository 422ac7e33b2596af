package kernel

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// frame is the longest that leaves a device.
	frame = 1514
	// burst is what a line that was idle lets through at once, beside 2 ms of its rate.
	burst      = 2 * frame
	burstShare = 500
	// unlimited lets what is held leave, bytes a second.
	unlimited = 10 << 30
	// release bounds how long what was held may take to leave.
	release = time.Second
	// waiting is how many frames may wait for a line.
	waiting = 1000
)

// line limits what leaves a node's device, by receiver. The device has no queueing
// discipline while nothing is limited.
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

func (ln *line) class(i int, rate int64) *netlink.HtbClass {
	return netlink.NewHtbClass(
		netlink.ClassAttrs{LinkIndex: ln.device, Parent: netlink.MakeHandle(1, 0), Handle: netlink.MakeHandle(1, uint16(i+1))},
		netlink.HtbClassAttrs{
			Rate: uint64(rate) * 8, Ceil: uint64(rate) * 8, Quantum: burst, // bits a second; the rest is bytes
			Buffer: uint32(burst + rate/burstShare), Cbuffer: uint32(burst + rate/burstShare),
		})
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
	rate = min(rate, unlimited)
	if len(ln.classes) == 0 {
		if err := ln.routes.QdiscReplace(ln.root()); err != nil {
			return fmt.Errorf("queueing discipline htb: %w", err)
		}
	}
	err := ln.routes.ClassReplace(ln.class(i, rate))
	if err == nil && !limited {
		ln.classes[i] = struct{}{}
		err = ln.routes.FilterAdd(ln.filter(i, to))
	}
	if err != nil {
		return fmt.Errorf("rate: %w", err)
	}
	return nil
}

func (ln *line) clear(i int, to netip.Addr) error {
	class := ln.class(i, unlimited)
	if err := ln.routes.ClassReplace(class); err != nil {
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
	if err := ln.routes.ClassDel(class); err != nil {
		return fmt.Errorf("rate: take the class away: %w", err)
	}
	delete(ln.classes, i)
	past := ln.past[i]
	ln.past[i] = lineTally{past.held + now.held, past.overflow + now.overflow}
	if len(ln.classes) > 0 {
		return nil
	}
	if err := ln.routes.QdiscDel(ln.root()); err != nil {
		return fmt.Errorf("queueing discipline htb: take it away: %w", err)
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

// stats reads what the class did, and how many frames wait in it.
func (ln *line) stats(i int) (lineTally, uint32, error) {
	classes, err := ln.routes.ClassList(ln.link(), netlink.HANDLE_NONE)
	if err != nil {
		return lineTally{}, 0, fmt.Errorf("rate: %w", err)
	}
	for _, c := range classes {
		if a := c.Attrs(); a.Handle == netlink.MakeHandle(1, uint16(i+1)) && a.Statistics != nil && a.Statistics.Queue != nil {
			q := a.Statistics.Queue
			return lineTally{int64(q.Overlimits), int64(q.Drops)}, q.Qlen, nil
		}
	}
	return lineTally{}, 0, fmt.Errorf("rate: its class is gone")
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
