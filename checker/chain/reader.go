package chain

import (
	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Reader decodes each event of one pass over a history once, for all the streams
// that are begun on it: give all of them every event, one after the other. It
// numbers hashes and values, and knows every block that was named. Its memory is
// linear in the different hashes, values and blocks.
type Reader struct {
	names
	tree
	book
	trouble
	now item // of the last event

	nodeNames []string
	asked     map[string]int32 // node → number
	died      [][]int32        // node → positions at which its process ended
	spoken    []bool           // node → a client asked it
	lastNode  int32
	open      openOps
	test      checker.TestInfo
	ours      bool // there was a :test op before the first op of a client
	clients   bool
	phase     phase
	ops       int   // of the history so far
	finalTip  int32 // the highest block that was shown in the phase of final reads, -1 for none
}

type phase uint8

const (
	noPhase phase = iota
	runPhase
	healPhase
	finalPhase
	endPhase
)

// NewReader begins a pass.
func NewReader() *Reader {
	return &Reader{names: newNames(), now: item{at: -1}, asked: make(map[string]int32), lastNode: -1, finalTip: -1, trouble: trouble{started: -1, healed: -1}}
}

// item is what an event says.
type item struct {
	at    int
	time  int64
	typ   history.Type
	f     op
	name  string // its :f
	node  int32  // -1 for none
	tag   tag
	value history.View // valid until the next event

	client    bool
	process   history.Process
	completes bool  // it is the completion of an operation of a client
	began     int   // position of the invocation; its own where that is not known
	begun     int64 // time of the invocation, -1
	known     bool  // the invocation is in the history
	arg       id    // what the invocation asked for, where that is a text
	argN      int64 // the same, where it is a number

	placed bool // the answer came from a block: its height and hash
	place  told
	tx     id
	from   id
	nonce  int64 // -1 for none
	log    int64 // -1 for none
	opened bool
	served history.View

	head      [3]told // by tag: finalized, safe, latest; h is 0 for what was not served
	isHead    bool
	block     told // of :block, :txs, :body
	isBlock   bool
	body      repeated
	receipt   repeated
	sightings []sighting
}

// take decodes the event, unless it is the last one that was.
func (r *Reader) take(e *history.Event) *item {
	it := &r.now
	if it.at == e.Position {
		return it
	}
	sightings := it.sightings[:0]
	*it = item{
		at: e.Position, time: e.Time, typ: e.Type, f: opOf(e.F), name: e.F, node: -1, value: e.Value,
		process: e.Process, client: e.Process.IsClient(), began: e.Position, begun: -1,
		nonce: -1, log: -1, argN: -1, sightings: sightings,
	}
	r.ops = max(r.ops, e.Position+1)
	r.until = max(r.until, e.Time)
	if !it.client {
		r.own(e)
		return it
	}
	r.clients = true
	r.rest(e.Rest, it)
	if it.node >= 0 {
		r.spoken[it.node] = true
	}
	if e.Type == history.Invoke {
		r.invoke(it)
		return it
	}
	o, known := r.open.end(e.Process)
	if known {
		it.began, it.begun, it.known, it.arg, it.argN = o.at, o.time, true, o.arg, o.argN
	}
	it.completes = true
	r.decode(it)
	for i := range it.sightings {
		s := &it.sightings[i]
		r.add(s)
		if r.phase >= finalPhase && it.typ == history.OK && (it.f == opHead || it.f == opBlock || it.f == opBody || it.f == opTxs) &&
			(r.finalTip < 0 || s.n > r.blocks[r.finalTip].n) {
			r.finalTip = s.block
		}
	}
	r.note(it)
	return it
}

// own looks at an op that no client did.
func (r *Reader) own(e *history.Event) {
	r.ended(e)
	if e.Process == history.Nemesis() {
		r.nemesis, r.nemesisAt = append(r.nemesis, e.Op()), append(r.nemesisAt, e.Position)
	}
	if e.Process != history.Runner() {
		return
	}
	switch e.F {
	case "test":
		if !r.ours && !r.clients {
			op := e.Op()
			r.test, r.ours = checker.TestOf(&op)
		}
	case "phase":
		switch string(e.Value.Bytes()) {
		case "run":
			r.phase, r.started = runPhase, e.Time
		case "heal":
			r.phase, r.healed, r.healedAt = healPhase, e.Time, e.Position
		case "final":
			r.phase = finalPhase
		case "end":
			r.phase = endPhase
		}
	}
}

// rest reads what stands beside the value.
func (r *Reader) rest(v history.View, it *item) {
	n := v.Len() / 2
	if n == 0 {
		return
	}
	height, hash := int64(0), id(0)
	hasHeight := false
	for key := v.First(); n > 0; n-- {
		value := key.Next()
		switch string(key.Bytes()) {
		case "node":
			it.node = r.node(value.Bytes())
		case "tag":
			it.tag = tagOf(value.Bytes())
		case "height":
			height, hasHeight = value.Int()
		case "hash":
			hash = r.of(value.Bytes())
		case "tx":
			it.tx = r.of(value.Bytes())
		case "from":
			it.from = r.of(value.Bytes())
		case "nonce":
			if n, ok := value.Int(); ok && n >= 0 {
				it.nonce = n
			}
		case "log":
			if n, ok := value.Int(); ok && n >= 0 {
				it.log = n
			}
		case "opened":
			it.opened, _ = value.Flag()
		case "served":
			it.served = value
		}
		if n > 1 {
			key = value.Next()
		}
	}
	if hasHeight && hash != 0 {
		it.placed, it.place = true, told{n: height, h: hash}
	}
}

// node returns the number of a node, -1 for no name.
func (r *Reader) node(name []byte) int32 {
	if len(name) == 0 {
		return -1
	}
	if r.lastNode >= 0 && r.nodeNames[r.lastNode] == string(name) {
		return r.lastNode
	}
	n, ok := r.asked[string(name)]
	if !ok {
		n = int32(len(r.nodeNames))
		r.asked[string(name)] = n
		r.nodeNames = append(r.nodeNames, string(name))
		r.died = append(r.died, nil)
		r.spoken = append(r.spoken, false)
	}
	r.lastNode = n
	return n
}

// nodeName is the name of a node, "" for none.
func (r *Reader) nodeName(n int32) string {
	if n < 0 {
		return ""
	}
	return r.nodeNames[n]
}

// finalTag is the final tag of the network that the history was taken from.
func (r *Reader) finalTag() tag {
	switch r.test.Profile {
	case "bft", "single":
		return latestTag
	case "pos", "rollup":
		return finalizedTag
	}
	return noTag
}

// invoke remembers what a client asks for.
func (r *Reader) invoke(it *item) {
	o := openOp{at: it.at, time: it.time, argN: -1}
	if n, ok := it.value.Int(); ok {
		o.argN = n
	} else if it.f == opReceipt || it.f == opAccount {
		o.arg = r.of(it.value.Bytes())
	}
	it.arg, it.argN = o.arg, o.argN
	r.open.begin(it.process, o)
}

// openOp is an operation of a client that is under way.
type openOp struct {
	at   int
	time int64
	arg  id
	argN int64
	busy bool
}

// openOps are those operations by process.
type openOps struct {
	near []openOp // of small numbers
	far  map[int64]openOp
}

const nearProcesses = 1 << 16

func (o *openOps) begin(p history.Process, op openOp) {
	n, _ := p.Client()
	op.busy = true
	if n < 0 || n >= nearProcesses {
		if o.far == nil {
			o.far = make(map[int64]openOp)
		}
		o.far[n] = op
		return
	}
	for int(n) >= len(o.near) {
		o.near = append(o.near, openOp{})
	}
	o.near[n] = op
}

func (o *openOps) end(p history.Process) (op openOp, ok bool) {
	n, _ := p.Client()
	if n < 0 || n >= nearProcesses {
		op, ok = o.far[n]
		delete(o.far, n)
		return op, ok
	}
	if int(n) >= len(o.near) {
		return op, false
	}
	op = o.near[n]
	o.near[n].busy = false
	return op, op.busy
}
