package emulator

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// held is a frame that waits for its time. Times are nanoseconds since the queue's base.
type held struct {
	arrived, due int64
	number       uint64 // keeps frames that are due together in order
	edge         *edge
	frame        []byte
}

func (h held) before(o held) bool {
	return h.due < o.due || h.due == o.due && h.number < o.number
}

// queue holds back the frames of all edges. Its lock also guards the states of
// edges that are not plain, so that a frame is treated by one state throughout.
type queue struct {
	alarm *alarm
	base  time.Time

	mu     sync.Mutex
	closed bool
	heap   []held // a binary heap
	number uint64
	next   int64    // when the alarm goes off; 0 when it is not set
	free   [][]byte // buffers to be used again
}

// maxFree bounds the buffers kept, to some 2 MiB.
const maxFree = 1024

func newQueue(a *alarm) *queue { return &queue{alarm: a, base: time.Now()} }

func (q *queue) now() int64 { return int64(time.Since(q.base)) }

// run lets the frames go at their times, until close.
func (q *queue) run() {
	const batch = 64 // then readers get the lock
	for {
		q.alarm.wait()
		for more := true; more; {
			q.mu.Lock()
			if q.closed {
				q.mu.Unlock()
				return
			}
			now := q.now()
			n := 0
			for ; n < batch && len(q.heap) > 0 && q.heap[0].due <= now; n++ {
				h := q.pop()
				h.edge.leave(h, q.now())
				q.done(h)
			}
			if more = n == batch; !more {
				q.next = 0
				q.arm()
			}
			q.mu.Unlock()
		}
	}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.alarm.set(0)
}

// arm sets the alarm for the first frame.
func (q *queue) arm() {
	if len(q.heap) == 0 {
		return
	}
	if due := q.heap[0].due; q.next == 0 || due < q.next {
		q.next = due
		q.alarm.set(time.Duration(due - q.now()))
	}
}

// hold keeps a copy of the frame until it is due.
func (q *queue) hold(ed *edge, now, due int64, frame []byte) {
	var buf []byte
	if n := len(q.free); n > 0 {
		buf, q.free = q.free[n-1], q.free[:n-1]
	}
	q.number++
	q.push(held{now, due, q.number, ed, append(buf[:0], frame...)})
	ed.held += len(frame)
	ed.count++
	q.arm()
}

// done ends the keeping of a frame.
func (q *queue) done(h held) {
	h.edge.held -= len(h.frame)
	h.edge.count--
	if len(q.free) < maxFree {
		q.free = append(q.free, h.frame)
	}
}

// take removes every frame of an edge and gives it to f, in the order of their
// times. After close there is nowhere to give it to.
func (q *queue) take(ed *edge, f func(held)) {
	if ed.count == 0 || q.closed {
		return
	}
	var taken []held
	rest := q.heap[:0]
	for _, h := range q.heap {
		if h.edge == ed {
			taken = append(taken, h)
		} else {
			rest = append(rest, h)
		}
	}
	clear(q.heap[len(rest):])
	byTime := func(a, b held) int { return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.number, b.number)) }
	slices.SortFunc(rest, byTime) // a sorted slice is a heap
	q.heap = rest
	slices.SortFunc(taken, byTime)
	for _, h := range taken {
		f(h)
		q.done(h)
	}
	ed.last, ed.free = 0, 0
}

func (q *queue) push(h held) {
	q.heap = append(q.heap, h)
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.heap[i].before(q.heap[up]) {
			return
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

func (q *queue) pop() held {
	top, n := q.heap[0], len(q.heap)-1
	q.heap[0] = q.heap[n]
	q.heap[n] = held{}
	q.heap = q.heap[:n]
	for i := 0; ; {
		least := i
		for down := 2*i + 1; down <= 2*i+2 && down < n; down++ {
			if q.heap[down].before(q.heap[least]) {
				least = down
			}
		}
		if least == i {
			return top
		}
		q.heap[i], q.heap[least] = q.heap[least], q.heap[i]
		i = least
	}
}
