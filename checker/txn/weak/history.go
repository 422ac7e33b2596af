package weak

import (
	"math"
	"slices"
)

// Initial stands for the state before all transactions where a read tells from
// which one it read.
const Initial int32 = -1

// Never is the end of a transaction of which nothing is known to come after it.
const Never int32 = math.MaxInt32

// History is the reads and writes of transactions, which have numbers from 0 on in
// the order of Add. The zero History is empty and ready for use. It is filled by
// one goroutine; queries only read it.
//
// It takes 20 bytes for each transaction, 8 for a read and 4 for a write.
type History struct {
	session           []int32 // -1 for none
	call, ret         []int32 // -1 where the start is not known, Never for an open end
	readEnd, writeEnd []uint32
	reads             []read
	writes            []int32 // keys, in order within each transaction
	keys, sessions    int32
	names             []int32 // of only: the keys' numbers in the whole history
}

// read is one of a key, from a transaction or from Initial.
type read struct{ key, from int32 }

// Grow makes room for so many transactions, reads and writes in all.
func (h *History) Grow(txns, reads, writes int) {
	for _, column := range []*[]int32{&h.session, &h.call, &h.ret} {
		*column = slices.Grow(*column, txns)
	}
	for _, column := range []*[]uint32{&h.readEnd, &h.writeEnd} {
		*column = slices.Grow(*column, txns)
	}
	h.reads = slices.Grow(h.reads, reads)
	h.writes = slices.Grow(h.writes, writes)
}

// Add begins the next transaction. Those of a session, which is -1 for none, come in
// its order. Call and ret are the times between which it took place: call is -1 and
// ret is Never where that is not known.
func (h *History) Add(session, call, ret int32) {
	h.seal()
	h.session = append(h.session, session)
	h.call = append(h.call, call)
	h.ret = append(h.ret, ret)
	h.readEnd = append(h.readEnd, uint32(len(h.reads)))
	h.writeEnd = append(h.writeEnd, uint32(len(h.writes)))
	h.sessions = max(h.sessions, session+1)
}

// Read adds to the last transaction a read of a key, numbered from 0 on, that saw
// what another transaction wrote, be it added already or not, or Initial. Reads
// come in their order. A transaction's reads of its own writes are left out, as are
// those of values from unknown hands.
func (h *History) Read(key, from int32) {
	h.reads = append(h.reads, read{key, from})
	h.readEnd[len(h.readEnd)-1]++
	h.keys = max(h.keys, key+1)
}

// Write adds to the last transaction a key that it wrote.
func (h *History) Write(key int32) {
	h.writes = append(h.writes, key)
	h.writeEnd[len(h.writeEnd)-1]++
	h.keys = max(h.keys, key+1)
}

// seal puts the writes of the last transaction in order.
func (h *History) seal() {
	last := int32(h.Len() - 1)
	if last < 0 {
		return
	}
	own := h.writesOf(last)
	if len(own) < 2 {
		return
	}
	slices.Sort(own)
	own = slices.Compact(own)
	h.writes = h.writes[:int(h.firstWrite(last))+len(own)]
	h.writeEnd[last] = uint32(len(h.writes))
}

// Len returns how many transactions there are.
func (h *History) Len() int { return len(h.session) }

// Reads returns how many reads there are.
func (h *History) Reads() int { return len(h.reads) }

func (h *History) firstRead(t int32) uint32 {
	if t == 0 {
		return 0
	}
	return h.readEnd[t-1]
}

func (h *History) firstWrite(t int32) uint32 {
	if t == 0 {
		return 0
	}
	return h.writeEnd[t-1]
}

func (h *History) readsOf(t int32) []read   { return h.reads[h.firstRead(t):h.readEnd[t]] }
func (h *History) writesOf(t int32) []int32 { return h.writes[h.firstWrite(t):h.writeEnd[t]] }

// slot returns the place in writes of a transaction's write of a key, -1 when it has
// none.
func (h *History) slot(t, key int32) int32 {
	own := h.writesOf(t)
	const short = 8
	if len(own) <= short {
		for i, k := range own {
			if k == key {
				return int32(h.firstWrite(t)) + int32(i)
			}
		}
		return -1
	}
	i, found := slices.BinarySearch(own, key)
	if !found {
		return -1
	}
	return int32(h.firstWrite(t)) + int32(i)
}

func (h *History) wrote(t, key int32) bool { return h.slot(t, key) >= 0 }

// only returns the history of some of the transactions alone, which are in order:
// what was read from others is left out. Its transactions and keys have numbers of
// their own, see names.
func (h *History) only(txns []int32) *History {
	renamed := make(map[int32]int32, len(txns))
	for i, t := range txns {
		renamed[t] = int32(i)
	}
	sub := &History{}
	keys := make(map[int32]int32)
	number := func(key int32) int32 {
		id, known := keys[key]
		if !known {
			id = int32(len(keys))
			keys[key] = id
			sub.names = append(sub.names, key)
		}
		return id
	}
	sessions := make(map[int32]int32)
	for _, t := range txns {
		session := h.session[t]
		if session >= 0 {
			id, known := sessions[session]
			if !known {
				id = int32(len(sessions))
				sessions[session] = id
			}
			session = id
		}
		sub.Add(session, h.call[t], h.ret[t])
		for _, r := range h.readsOf(t) {
			if r.from == Initial {
				sub.Read(number(r.key), Initial)
			} else if from, in := renamed[r.from]; in {
				sub.Read(number(r.key), from)
			}
		}
		for _, key := range h.writesOf(t) {
			sub.Write(number(key))
		}
	}
	sub.seal()
	return sub
}

// whole gives edges found in h.only(txns) the numbers of the whole history again.
func (h *History) whole(edges []Edge, txns []int32) {
	name := func(t *int32) {
		if *t >= 0 {
			*t = txns[*t]
		}
	}
	for i := range edges {
		e := &edges[i]
		e.Key = h.names[e.Key]
		for _, t := range []*int32{&e.From, &e.To, &e.Source, &e.Reader} {
			name(t)
		}
		h.whole(e.Path, txns)
	}
}

// chains holds the transactions of each session, in order.
type chains struct {
	off, txns []int32
}

func (h *History) chains() chains {
	c := chains{off: make([]int32, h.sessions+1)}
	for _, s := range h.session {
		if s >= 0 {
			c.off[s+1]++
		}
	}
	for s := range h.sessions {
		c.off[s+1] += c.off[s]
	}
	c.txns = make([]int32, c.off[h.sessions])
	at := slices.Clone(c.off)
	for t, s := range h.session {
		if s >= 0 {
			c.txns[at[s]] = int32(t)
			at[s]++
		}
	}
	return c
}

func (c chains) of(s int32) []int32 { return c.txns[c.off[s]:c.off[s+1]] }

// next returns, by transaction, the one that follows in its session, or -1.
func (c chains) next(n int) []int32 {
	next := make([]int32, n)
	for i := range next {
		next[i] = -1
	}
	for s := range len(c.off) - 1 {
		own := c.of(int32(s))
		for i := 1; i < len(own); i++ {
			next[own[i-1]] = own[i]
		}
	}
	return next
}

// readers are the transactions that read from each transaction, once for each read.
type readers struct{ off, txns []int32 }

func (h *History) readers() readers {
	n := h.Len()
	r := readers{off: make([]int32, n+1)}
	for _, rd := range h.reads {
		if rd.from >= 0 {
			r.off[rd.from+1]++
		}
	}
	for t := range n {
		r.off[t+1] += r.off[t]
	}
	r.txns = make([]int32, r.off[n])
	at := slices.Clone(r.off[:n])
	for t := range int32(n) {
		for _, rd := range h.readsOf(t) {
			if rd.from >= 0 {
				r.txns[at[rd.from]] = t
				at[rd.from]++
			}
		}
	}
	return r
}

func (r readers) of(t int32) []int32 { return r.txns[r.off[t]:r.off[t+1]] }
