package emulator

import (
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"
)

// node is one namespace and the edges that leave it.
type node struct {
	name  string
	index int
	addr  netip.Addr
	room  *room
	edges []*edge // by the index of the other end; nil for itself

	// pass is odd while a frame is under way on the straight path, which takes no
	// lock: who changes a state stores it and then waits for the pass to end.
	pass atomic.Uint64
}

// run moves the frames that the node sends until its device is gone.
func (n *node) run(q *queue) {
	buf := make([]byte, maxFrame)
	for {
		size, err := n.room.read(buf)
		if err != nil {
			return
		}
		n.pass.Add(1)
		n.route(q, buf[:size])
		n.pass.Add(1)
	}
}

// route hands the frame to the edges that it is for.
func (n *node) route(q *queue, frame []byte) {
	switch {
	case len(frame) < headerEthernet:
	case frame[0]&1 != 0: // to all
		for _, ed := range n.edges {
			if ed != nil {
				ed.carry(q, frame)
			}
		}
	case [4]byte(frame) == [4]byte{2, 0, 0, 0}:
		if i := int(frame[4])<<8 | int(frame[5]); i < len(n.edges) && n.edges[i] != nil {
			n.edges[i].carry(q, frame)
		}
	}
}

// awaitPass returns when the frame has passed, if any, that was under way when it
// was called.
func (n *node) awaitPass() {
	was := n.pass.Load()
	if was&1 == 0 {
		return
	}
	for i := 0; n.pass.Load() == was; i++ {
		if i < 100 {
			runtime.Gosched()
		} else {
			time.Sleep(10 * time.Microsecond) // its thread may have lost the core
		}
	}
}
