package chain

import (
	"fmt"
	"maps"
	"math/rand/v2"

	"github.com/jepgo/jepgo/history"
)

// sim is a little chain with instant finality, its nodes, its clients and its
// nemesis, which writes the history that a correct network would leave behind.
// The hooks let a test make one of them lie.
type sim struct {
	rng     *rand.Rand
	h       *history.History
	chain   []simBlock
	pool    []*simOp
	nodes   []*simNode
	clients []*simClient
	state   map[int64]int64 // key → value, 0 for never written
	next    map[int64]int64 // key → last value handed out
	txs     int
	calm    bool // the nemesis does nothing

	// answer may change a completion before it is written.
	answer func(op *history.Op)
	// serve may change what a node shows of a block.
	serve func(node string, b *simBlock)
}

type simBlock struct {
	n               int64
	h, parent, root string
	ops             []*simOp
	state           map[int64]int64
}

type simNode struct {
	name   string
	height int64 // of the newest block it has
	shown  int64 // of the last head that its watcher saw
}

type simOp struct {
	f        string
	key      int64
	old, new int64 // new is also what a read returns
	tx       string
	reverted bool
	block    int64 // height, 0 until included
	client   *simClient
}

type simClient struct {
	process int64
	node    *simNode
	op      *simOp
}

const simKeys = 3

func newSim(seed uint64) *sim {
	s := &sim{
		rng:    rand.New(rand.NewPCG(seed, 7)),
		h:      &history.History{},
		state:  make(map[int64]int64),
		next:   make(map[int64]int64),
		answer: func(*history.Op) {},
		serve:  func(string, *simBlock) {},
	}
	s.chain = []simBlock{{n: 0, h: "0xgenesis", parent: "0x0", root: "0xr0", state: map[int64]int64{}}}
	var names []history.Value
	for i := range 4 {
		node := &simNode{name: fmt.Sprintf("n%d", i+1)}
		s.nodes = append(s.nodes, node)
		names = append(names, history.Text(node.name))
		for range 2 {
			s.clients = append(s.clients, &simClient{process: int64(len(s.clients)), node: node})
		}
	}
	s.record(history.Op{Type: history.Info, Process: history.Runner(), F: "test", Value: history.MapOf(
		history.Keyword("profile"), history.Keyword("bft"), history.Keyword("nodes"), history.Vec(names...),
		history.Keyword("nemesis"), history.Vec(history.Keyword("kill")), history.Keyword("processes"), history.Int(8))})
	s.phase("run")
	return s
}

// run takes n random steps, then heals and reads everything.
func (s *sim) run(n int) *history.History {
	for range n {
		s.step()
	}
	s.phase("heal")
	s.produce()
	for _, node := range s.nodes {
		node.height = s.tip().n
	}
	s.phase("final")
	for _, node := range s.nodes {
		s.head(node)
		for _, b := range s.chain[1:] {
			s.final(node, "block", b.n)
			s.final(node, "txs", b.n)
		}
	}
	s.phase("end")
	return s.h
}

func (s *sim) tip() *simBlock { return &s.chain[len(s.chain)-1] }

func (s *sim) record(op history.Op) int {
	op.Index, op.Time = int64(len(s.h.Ops)), int64(len(s.h.Ops))*1e6
	if op.Type != history.Invoke && op.Process.IsClient() {
		s.answer(&op)
	}
	s.h.Ops = append(s.h.Ops, op)
	return len(s.h.Ops) - 1
}

func (s *sim) phase(name string) {
	s.record(history.Op{Type: history.Info, Process: history.Runner(), F: "phase", Value: history.Keyword(name)})
}

func (s *sim) step() {
	switch s.rng.IntN(12) {
	case 0, 1:
		s.produce()
	case 2, 3, 4:
		node := s.nodes[s.rng.IntN(len(s.nodes))]
		node.height = min(s.tip().n, node.height+s.rng.Int64N(3))
	case 5:
		s.head(s.nodes[s.rng.IntN(len(s.nodes))])
	case 6:
		if !s.calm && s.rng.IntN(20) == 0 {
			s.kill(s.nodes[s.rng.IntN(len(s.nodes))])
		}
	default:
		s.client(s.clients[s.rng.IntN(len(s.clients))])
	}
}

// produce makes a block of what waits, and executes it.
func (s *sim) produce() {
	last := s.tip()
	b := simBlock{n: last.n + 1, parent: last.h}
	b.h, b.root = fmt.Sprintf("0x%064x", b.n*7919), fmt.Sprintf("0xroot%d", b.n)
	for len(s.pool) > 0 && s.rng.IntN(5) > 0 {
		op := s.pool[0]
		s.pool = s.pool[1:]
		op.block = b.n
		now := s.state[op.key]
		switch op.f {
		case "write":
			s.state[op.key] = op.new
		case "cas":
			if op.reverted = now != op.old; !op.reverted {
				s.state[op.key] = op.new
			}
		case "read":
			op.new = now
		}
		b.ops = append(b.ops, op)
	}
	b.state = maps.Clone(s.state)
	s.chain = append(s.chain, b)
}

func (s *sim) client(c *simClient) {
	if c.op == nil {
		c.op = s.draw(c)
		s.record(history.Op{Type: history.Invoke, Process: history.Client(c.process), F: c.op.f, Value: c.op.asked(), Node: c.node.name, Tag: c.op.tag()})
		return
	}
	op := c.op
	done := history.Op{Type: history.OK, Process: history.Client(c.process), F: op.f, Node: c.node.name, Tag: op.tag()}
	switch {
	case op.f == "peek":
		b := &s.chain[c.node.height]
		op.new = b.state[op.key]
		s.place(&done, b.n)
	case op.block > 0 && op.block <= c.node.height:
		if op.reverted {
			done.Type, done.Error = history.Fail, history.Vec(history.Keyword("reverted"), history.Text("another value"))
		}
		s.place(&done, op.block)
		done.Set(history.TxKey, history.Text(op.tx))
	case s.rng.IntN(30) == 0:
		done.Type, done.Error = history.Info, history.Vec(history.Keyword("timeout"), history.Text("no receipt"))
		done.Value = op.asked()
		done.Set(history.TxKey, history.Text(op.tx))
		c.op = nil
		s.record(done)
		c.process += int64(len(s.clients))
		return
	default:
		return // still waiting
	}
	done.Value = op.answered()
	c.op = nil
	s.record(done)
}

func (s *sim) place(op *history.Op, n int64) {
	op.Set(history.HeightKey, history.Int(n))
	op.Set(history.HashKey, history.Text(s.chain[n].h))
}

func (s *sim) draw(c *simClient) *simOp {
	op := &simOp{f: []string{"write", "cas", "read", "peek", "peek"}[s.rng.IntN(5)], key: s.rng.Int64N(simKeys), client: c}
	if op.f == "peek" {
		return op
	}
	if op.f != "read" {
		s.next[op.key]++
		op.new = s.next[op.key]
	}
	if op.f == "cas" {
		op.old = s.state[op.key]
	}
	s.txs++
	op.tx = fmt.Sprintf("0x%064x", s.txs)
	s.pool = append(s.pool, op)
	return op
}

func number(n int64) history.Value {
	if n == 0 {
		return history.Value{}
	}
	return history.Int(n)
}

func (o *simOp) tag() string {
	if o.f == "peek" {
		return "latest"
	}
	return ""
}

func (o *simOp) change() history.Value {
	if o.f == "cas" {
		return history.Vec(number(o.old), number(o.new))
	}
	return number(o.new)
}

func (o *simOp) asked() history.Value {
	if o.f == "read" || o.f == "peek" {
		return history.Vec(history.Int(o.key), history.Value{})
	}
	return o.answered()
}

func (o *simOp) answered() history.Value { return history.Vec(history.Int(o.key), o.change()) }

func (s *sim) kill(node *simNode) {
	for _, f := range []string{"kill", "start"} {
		targets := history.Vec(history.Text(node.name))
		s.record(history.Op{Type: history.Info, Process: history.Nemesis(), F: f, Value: targets})
		s.record(history.Op{Type: history.Info, Process: history.Nemesis(), F: f, Value: history.MapOf(
			history.Keyword("targets"), targets, history.Keyword("measured"), history.Int(int64(len(s.h.Ops))*1e6),
			history.Keyword("evidence"), history.MapOf(history.Keyword("pid"), history.Int(int64(len(s.h.Ops)))))})
	}
}

// shows is what a node says of a block, through the serve hook.
func (s *sim) shows(node string, n int64) simBlock {
	b := s.chain[n]
	s.serve(node, &b)
	return b
}

func (b *simBlock) value() history.Value {
	return history.MapOf(history.Keyword("n"), history.Int(b.n), history.Keyword("h"), history.Text(b.h),
		history.Keyword("parent"), history.Text(b.parent), history.Keyword("root"), history.Text(b.root),
		history.Keyword("ts"), history.Int(1_700_000_000+b.n))
}

func (b *simBlock) opsValue() history.Value {
	var list []history.Value
	for _, op := range b.ops {
		status := history.Keyword("ok")
		if op.reverted {
			status = history.Keyword("reverted")
		}
		list = append(list, history.Vec(history.Text(op.tx), history.Keyword(op.f), history.Int(op.key), op.change(), status))
	}
	return history.MapOf(history.Keyword("n"), history.Int(b.n), history.Keyword("h"), history.Text(b.h),
		history.Keyword("parent"), history.Text(b.parent), history.Keyword("ops"), history.Vec(list...))
}

// watcher is the process that polls a node; far from those of the clients.
func (s *sim) watcher(node *simNode) history.Process {
	return history.Client(1_000_000 + int64(node.name[1]))
}

func (s *sim) head(node *simNode) {
	op := history.Op{Type: history.Invoke, Process: s.watcher(node), F: "head", Node: node.name}
	s.record(op)
	b := s.shows(node.name, node.height)
	var walk []history.Value
	for n := node.shown + 1; n < node.height; n++ {
		w := s.shows(node.name, n)
		walk = append(walk, w.value())
	}
	node.shown = max(node.shown, node.height)
	v := b.value()
	op.Type = history.OK
	op.Value = history.MapOf(history.Keyword("latest"), v, history.Keyword("safe"), v, history.Keyword("finalized"), v)
	if len(walk) > 0 {
		op.Value = history.MapOf(history.Keyword("latest"), v, history.Keyword("safe"), v, history.Keyword("finalized"), v,
			history.Keyword("walk"), history.Vec(walk...))
	}
	s.record(op)
}

func (s *sim) final(node *simNode, f string, n int64) {
	op := history.Op{Type: history.Invoke, Process: s.watcher(node), F: f, Value: history.Int(n), Node: node.name}
	s.record(op)
	b := s.shows(node.name, n)
	op.Type, op.Value = history.OK, b.value()
	if f == "txs" {
		op.Value = b.opsValue()
		if node != s.nodes[0] && b.h == s.chain[n].h {
			op.Value = history.MapOf(history.Keyword("n"), history.Int(b.n), history.Keyword("h"), history.Text(b.h), history.Keyword("parent"), history.Text(b.parent))
		}
	}
	s.record(op)
}
