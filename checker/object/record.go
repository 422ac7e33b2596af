package object

import (
	"fmt"
	"math"

	"github.com/jepgo/jepgo/history"
)

const (
	infoType = history.Info
	failType = history.Fail
	// never is the end of an operation that may still happen after the history.
	never = math.MaxInt32
	// mostEvents is how many events have a place.
	mostEvents = math.MaxInt32 / 2
)

// call is one operation: 24 bytes, whatever it is about.
type call struct {
	key      int32 // number of its key, 0 where there are no keys
	arg, res int32 // numbers of values; a res below 0 is the collection -1-res
	begin    int32 // positions of its halves; begin is -1 where the invocation is missing
	end      int32 // never where it has no answer
	f        uint16
	how      history.Type
}

// recorder is a checker.Stream that keeps calls.
type recorder struct {
	spec    *spec
	options Options
	names   []string // of operations, by call.f
	calls   [][]call // in blocks, which stay where they are when there are more
	count   int      // of calls
	values  *values
	bags    *collections
	small   []int32 // open call of each client with a small number, plus 1
	large   map[int64]int32
	last    int // position of the last event
	tried   int
	odd     int    // operations that make no sense
	oddAt   int    // the first one
	oddWhy  string // what is wrong with it
	others  map[string]bool
	doubts  map[int32]int32  // position of each call that has neither half, but an :info
	lost    map[uint16]int32 // since when an operation may have done nobody knows what
	cut     bool             // not all of the history is judged
}

func newRecorder(s *spec, o Options) *recorder {
	r := &recorder{spec: s, options: o, names: append([]string(nil), s.ops...), values: newValues(),
		large: make(map[int64]int32), others: make(map[string]bool), doubts: make(map[int32]int32), lost: make(map[uint16]int32)}
	r.options.Keyed = r.options.Keyed || s.keyed && !o.Whole
	if s.collects != "" {
		r.bags = newCollections(r.values)
	}
	return r
}

func (r *recorder) Name() string { return "object" }

// smallClients is up to which number a client has its place in a slice.
const smallClients = 1 << 16

// opened returns the place that remembers the open call of a client.
func (r *recorder) opened(client int64) *int32 {
	for int64(len(r.small)) <= client {
		r.small = append(r.small, make([]int32, max(64, len(r.small)))...)
	}
	return &r.small[client]
}

func (r *recorder) swapOpen(client int64, now int32) (was int32) {
	if client >= 0 && client < smallClients {
		place := r.opened(client)
		was, *place = *place, now
		return was
	}
	was = r.large[client]
	if now == 0 {
		delete(r.large, client)
	} else {
		r.large[client] = now
	}
	return was
}

// blockCalls is how many calls are in a block.
const (
	blockBits  = 12
	blockCalls = 1 << blockBits
)

func (r *recorder) add(c call) {
	last := len(r.calls) - 1
	switch {
	case last < 0:
		r.calls = append(r.calls, nil) // a short history has a short block
		last++
	case len(r.calls[last]) == blockCalls:
		r.calls = append(r.calls, make([]call, 0, blockCalls))
		last++
	}
	r.calls[last] = append(r.calls[last], c)
	r.count++
}

// call returns the call of an index.
func (r *recorder) call(i int32) *call { return &r.calls[i>>blockBits][i&(blockCalls-1)] }

// f returns the number of an operation's name.
func (r *recorder) f(name string) (uint16, bool) {
	for i := range r.names {
		if r.names[i] == name {
			return uint16(i), true
		}
	}
	if r.spec.ops != nil || len(r.names) == math.MaxUint16 {
		if len(r.others) < 16 {
			r.others[name] = true
		}
		return 0, false
	}
	r.names = append(r.names, name)
	return uint16(len(r.names) - 1), true
}

// Take implements checker.Stream.
func (r *recorder) Take(e *history.Event) {
	client, isClient := e.Process.Client()
	if !isClient && !e.Process.IsZero() {
		return
	}
	r.last = max(r.last, e.Position)
	f, known := r.f(e.F)
	if e.Position >= mostEvents {
		r.strange(e, "this is more history than can be judged at once")
		return
	}
	if !isClient {
		r.takeNobodys(e, f, known)
		return
	}
	if e.Type == history.Invoke {
		if !known {
			r.swapOpen(client, 0)
			return
		}
		r.tried++
		if key, value, ok := r.keyed(e); ok {
			r.add(call{key: key, arg: r.values.number(value), begin: int32(e.Position), end: never, f: f, how: infoType})
			r.swapOpen(client, int32(r.count))
		} else {
			r.swapOpen(client, lostCall)
			r.lose(f, int32(e.Position))
		}
		return
	}
	at := r.swapOpen(client, 0)
	if at <= 0 {
		if known {
			r.takeWhole(e, f, at != lostCall)
		}
		return
	}
	r.complete(r.call(at-1), e)
}

// complete ends c with the completion e.
func (r *recorder) complete(c *call, e *history.Event) {
	if e.Type == infoType {
		return
	}
	if e.Type == failType && !r.spec.fails {
		c.how, c.end = failType, int32(e.Position)
		return
	}
	value := e.Value
	if r.options.Keyed {
		// A completion that tells no key speaks of that of its invocation.
		if k, v, ok := e.Value.Pair(); ok {
			value = v
			if r.values.number(k) != c.key {
				r.strange(e, fmt.Sprintf("its key is %s, want %s as in its invocation", short(k.Value().String()), short(r.values.value(c.key).String())))
				r.lose(c.f, c.begin)
				return
			}
		} else if !e.Value.IsNil() {
			r.strange(e, "its value is not [key value]")
			return
		}
	}
	// What came of it may have a name of its own, as a cas that missed.
	if f, known := r.f(e.F); known {
		c.f = f
	}
	c.how, c.end, c.res = e.Type, int32(e.Position), r.result(c.key, c.f, value)
}

// lostCall is the open call of a client whose invocation made no sense.
const lostCall = -1

// takeWhole takes a completion without an invocation: it began before the history.
// One whose key is not known may have changed anything since, unless its
// invocation, which made no sense, says since when.
func (r *recorder) takeWhole(e *history.Event, f uint16, unseen bool) {
	r.tried++
	if e.Type == failType && !r.spec.fails {
		return
	}
	key, value, ok := r.keyed(e)
	if !ok {
		if unseen {
			r.lose(f, -1)
		}
		return
	}
	c := call{key: key, begin: -1, end: never, f: f, how: infoType}
	if e.Type == infoType {
		c.arg = r.values.number(value)
		r.doubts[int32(r.count)] = int32(e.Position)
	} else {
		c.how, c.end, c.res = e.Type, int32(e.Position), r.result(key, f, value)
		if c.res >= 0 {
			c.arg = c.res
		}
	}
	r.add(c)
}

// takeNobodys takes an op without a process. Where they are completions only each
// is the whole of an operation; an invocation cannot be paired.
func (r *recorder) takeNobodys(e *history.Event, f uint16, known bool) {
	switch {
	case !known:
	case e.Type == history.Invoke:
		r.tried++
		r.strange(e, "it has no :process, so nothing says which completion is its own")
		r.lose(f, int32(e.Position))
	default:
		r.takeWhole(e, f, true)
	}
}

// keyed splits the value of e into key and value.
func (r *recorder) keyed(e *history.Event) (key int32, value history.View, ok bool) {
	if !r.options.Keyed {
		return 0, e.Value, true
	}
	k, v, ok := e.Value.Pair()
	if !ok {
		r.strange(e, "its value is not [key value]")
		return 0, v, false
	}
	return r.values.number(k), v, true
}

func (r *recorder) result(key int32, f uint16, v history.View) int32 {
	if r.bags != nil && r.names[f] == r.spec.collects {
		switch v.Kind() {
		case history.Set, history.Vector, history.List:
			return -1 - r.bags.add(key, v)
		}
	}
	return r.values.number(v)
}

// op is what the model sees of c.
func (r *recorder) op(c *call) Op {
	op := Op{F: r.names[c.f], Type: c.how, Arg: r.values.value(c.arg)}
	if c.res < 0 {
		op.Result = r.bags.value(-1 - c.res)
	} else {
		op.Result = r.values.value(c.res)
	}
	return op
}
