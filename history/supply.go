package history

import (
	"io"
	"runtime"
	"sync"
)

// supply parts a text into chunks, has them parsed by several goroutines, and
// hands them out in order. How many chunks there are at a time is bounded. A text
// that is soon over is parsed by the caller alone, in one chunk.
type supply struct {
	text io.Reader
	size int // bytes of a chunk, about

	first   *chunk // the only one while there are no workers
	workers int    // goroutines to start when the text turns out to be long
	started bool   // they are at work

	mu    sync.Mutex
	carry []byte // read, and not yet in a chunk
	base  int64  // offset of carry
	err   error  // why text gives no more

	free  chan *chunk // not in use
	order chan *chunk // in use, in the order of the text; closed at its end
	quit  chan struct{}
	done  sync.WaitGroup
}

// supplyOptions say how a text is read; what is read does not depend on them,
// except for wholeOps.
type supplyOptions struct {
	workers  int    // goroutines, the caller's included; 0 for GOMAXPROCS
	chunk    int    // bytes read at a time
	wholeOps bool   // chunks hold ops, not events
	first    *chunk // to use; nil for a new one
}

// maxWorkers is how many goroutines have always something to do: more would wait
// for the one that takes what they read.
const maxWorkers = 8

// newSupply begins to read text. It is to be stopped.
func newSupply(text io.Reader, o supplyOptions) *supply {
	workers := o.workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, maxWorkers)
	s := &supply{text: text, size: o.chunk, first: o.first, workers: workers - 1, quit: make(chan struct{})}
	if s.first == nil {
		s.first = newChunk(newClasses(), o.wholeOps)
	}
	chunks := 1 + s.helpers()
	s.free, s.order = make(chan *chunk, chunks), make(chan *chunk, chunks)
	s.free <- s.first
	return s
}

// helpers is how many chunks there are beside the first when workers are.
func (s *supply) helpers() int {
	if s.workers == 0 {
		return 0
	}
	return 2 * (s.workers + 1)
}

// start starts the workers.
func (s *supply) start() {
	s.started = true
	for range s.helpers() {
		s.free <- newChunk(s.first.class, s.first.whole)
	}
	for range s.workers {
		s.done.Go(s.work)
	}
}

// stop ends the goroutines, as soon as none is reading.
func (s *supply) stop() {
	close(s.quit)
	s.done.Wait()
}

func (s *supply) work() {
	for {
		select {
		case <-s.quit:
			return
		case c := <-s.free:
			if !s.fill(c) {
				return
			}
		}
	}
}

// fill makes c the next chunk and parses it; false at the end of the text.
func (s *supply) fill(c *chunk) bool {
	if !s.claim(c) {
		return false
	}
	c.parse(0)
	c.lines, c.column = advance(0, 0, c.text())
	c.parsed <- struct{}{}
	return true
}

// claim puts the next stretch of the text into c.
func (s *supply) claim(c *chunk) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false
	}
	// Chunks grow with what was read: most histories are small, and to use memory
	// for the first time takes longer than to read a text.
	size := int(min(int64(s.size), max(firstChunk, s.base/growth)))
	if s.base == 0 {
		size = max(size, len(byteOrderMark))
	}
	room := c.room(len(s.carry)+size, s.carry)
	n := len(s.carry)
	at := 0
	for {
		n = s.read(room, n)
		at = n
		if s.err != nil {
			break
		}
		found := false
		if at, found = split(room[:n]); found || n >= longChunk*s.size {
			break
		}
		// The op that goes on here would take the general reader longer.
		room = c.room(2*n, room[:n])
	}
	if s.base == 0 && at < len(byteOrderMark) {
		at = n
	}
	s.carry = append(s.carry[:0], c.padded[at:n]...)
	clear(c.padded[at : at+padding])
	c.n, c.base = at, s.base
	s.base += int64(at)
	s.order <- c
	if s.err != nil {
		close(s.order)
	}
	return true
}

// read fills room from n bytes on, as far as the text goes, and returns how many
// bytes there are then.
func (s *supply) read(room []byte, n int) int {
	for tries := 0; s.err == nil && n < len(room); tries++ {
		m, err := s.text.Read(room[n:])
		n += m
		s.err = err
		if m > 0 {
			tries = 0
		} else if tries == 100 && err == nil {
			s.err = io.ErrNoProgress
		}
	}
	return n
}

// next returns the next chunk, parsed, or nil at the end. It parses too while it
// waits.
func (s *supply) next() *chunk {
	// To start workers takes as long as to parse what was read by then.
	if !s.started && s.base >= int64(aloneChunks*s.size) {
		s.start()
	}
	for {
		var c *chunk
		select {
		case c = <-s.order:
			s.await(c)
			return c
		default:
		}
		select {
		case c = <-s.order:
			s.await(c)
			return c
		case c = <-s.free:
			s.fill(c) // or the text is at its end, and order is closed
		}
	}
}

// await parses other chunks until c is parsed.
func (s *supply) await(c *chunk) {
	if c == nil {
		return
	}
	for {
		select {
		case <-c.parsed:
			return
		default:
		}
		select {
		case <-c.parsed:
			return
		case other := <-s.free:
			if !s.fill(other) {
				<-c.parsed
				return
			}
		}
	}
}

// release gives back a chunk that next returned.
func (s *supply) release(c *chunk) { s.free <- c }
