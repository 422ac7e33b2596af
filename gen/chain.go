package gen

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

// The workload chain: some nodes of one chain that lag, restart and, where asked
// to, reorganise; clients that send transactions to its contracts and ask for
// heads, bodies, receipts, logs and state; a phase of final reads.

// chainFaults are the lies that one node of a chain can be made to tell, by the
// names of the anomalies.
var chainFaults = []string{
	"root-mismatch", "state-mismatch", "call-at-changed", "receipt-changed", "body-changed",
	"index-mismatch", "receipt-missing", "log-missing", "log-wrong", "log-repeated",
	"lost-transaction", "nonce-twice", "transaction-twice", "effect-twice", "counter-bounds", "account-nonce",
}

const (
	chainNodes  = 4
	chainKeys   = 8  // of :put
	chainBlock  = 6  // transactions in a block, at most
	chainPace   = 24 // operations for each block
	chainReread = 48 // receipts that each node is asked for at the end
)

type chainTx struct {
	f       string
	value   string
	key     int
	hash    string
	from    int
	nonce   int
	block   *chainBlk
	i, log  int // places in the block; log is -1 without one
	inc     int
	client  *chainClient
	element int
	told    bool // its client knows that it is in a block
}

type chainBlk struct {
	n      int64
	h      string
	parent *chainBlk
	root   string
	txs    []*chainTx
	log    []int // of each transaction, -1 without one
	count  int
	puts   [chainKeys]int
	nonces []int // by sender, the next one
	canon  bool
}

type chainClient struct {
	process int64
	node    *chainNode
	sender  int
	tx      *chainTx
}

type chainNode struct {
	name    string
	head    *chainBlk
	shown   int64
	watcher int64
}

type chainRun struct {
	o       *Options
	r       *rand.Rand
	out     *journal
	blocks  []*chainBlk // the chain, by height
	nodes   []*chainNode
	clients []*chainClient
	pool    []*chainTx
	past    []*chainTx // included, the last ones
	nonce   []int
	serial  int
	ops     int
	next    int64
	plants  map[string]bool
	final   bool
}

// writeChain writes a history of the workload chain.
func writeChain(ctx context.Context, o *Options, r *rand.Rand, out *journal) error {
	c := &chainRun{o: o, r: r, out: out, plants: make(map[string]bool)}
	for _, name := range o.Plant {
		c.plants[name] = true
	}
	c.blocks = []*chainBlk{{h: c.hash(), root: c.hash(), nonces: make([]int, o.Clients), canon: true}}
	profile := "bft"
	if o.Reorg > 0 {
		profile = "longest-chain"
	}
	names := ""
	for i := range chainNodes {
		n := &chainNode{name: fmt.Sprintf("n%d", i+1), head: c.blocks[0], watcher: int64(1_000_000 + i)}
		c.nodes = append(c.nodes, n)
		names += fmt.Sprintf("%q ", n.name)
	}
	for i := range o.Clients {
		c.clients = append(c.clients, &chainClient{process: int64(i), node: c.nodes[i%chainNodes], sender: i})
	}
	c.nonce, c.next = make([]int, o.Clients), int64(o.Clients)
	c.own("test", fmt.Sprintf("{:profile :%s :workloads [:head :block :receipt :log :call-at :counter] :nodes [%s] :nemesis [] :seed %d :processes %d}", profile, names, o.Seed, o.Clients))
	c.own("phase", ":run")
	for c.ops < o.Ops {
		if c.ops%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		c.step()
		if out.err != nil {
			return out.err
		}
	}
	c.own("phase", ":heal")
	c.settle()
	c.own("phase", ":final")
	c.finish()
	c.own("phase", ":end")
	return out.err
}

func (c *chainRun) hash() string {
	c.serial++
	return fmt.Sprintf("0x%016x%016x%016x%016x", c.r.Uint64(), c.r.Uint64(), c.r.Uint64(), uint64(c.serial))
}

func (c *chainRun) tip() *chainBlk { return c.blocks[len(c.blocks)-1] }

// planted reports, once, that it is time for an anomaly.
func (c *chainRun) planted(name string, can bool) bool {
	if !can || !c.plants[name] || c.ops < c.o.Ops/2 {
		return false
	}
	delete(c.plants, name)
	return true
}

func (c *chainRun) step() {
	switch k := c.r.IntN(chainPace); {
	case k == 0:
		if c.o.Reorg > 0 && len(c.blocks) > 4 && c.r.Float64() < c.o.Reorg {
			c.reorg(1 + c.r.IntN(2))
		}
		c.produce()
	case k < 6:
		n := c.nodes[c.r.IntN(chainNodes)]
		c.advance(n, int64(c.r.IntN(3)))
		c.head(n)
	case k == 6 && c.o.Crash > 0 && c.r.IntN(20) == 0:
		c.restart(c.nodes[c.r.IntN(chainNodes)])
	default:
		c.client(c.clients[c.r.IntN(len(c.clients))])
	}
}

// produce makes a block of what waits, and executes it.
func (c *chainRun) produce() {
	last := c.tip()
	b := &chainBlk{n: last.n + 1, h: c.hash(), parent: last, root: c.hash(), count: last.count, puts: last.puts, nonces: slices.Clone(last.nonces), canon: true}
	logs := 0
	take := min(len(c.pool), c.r.IntN(chainBlock+1))
	for _, t := range c.pool[:take] {
		t.block, t.i, t.log = b, len(b.txs), -1
		if t.f == "emit" {
			t.log = logs
			logs++
		}
		c.execute(b, t)
		b.txs, b.log = append(b.txs, t), append(b.log, t.log)
		c.past = append(c.past, t)
	}
	c.pool = slices.Delete(c.pool, 0, take)
	if len(c.past) > 4*chainReread {
		c.past = slices.Delete(c.past, 0, 2*chainReread)
	}
	if n := len(last.txs); c.planted("transaction-twice", n > 0 && take > 0) {
		b.txs, b.log = append(b.txs, last.txs[n-1]), append(b.log, -1)
	}
	c.blocks = append(c.blocks, b)
}

func (c *chainRun) execute(b *chainBlk, t *chainTx) {
	b.nonces[t.from] = max(b.nonces[t.from], t.nonce+1)
	switch t.f {
	case "inc":
		b.count += t.inc
	case "put":
		b.puts[t.key] = t.element
	}
}

// reorg takes back some blocks. What was in them waits again, in front.
func (c *chainRun) reorg(depth int) {
	var back []*chainTx
	for range depth {
		b := c.tip()
		b.canon = false
		back = append(slices.Clone(b.txs), back...)
		c.blocks = c.blocks[:len(c.blocks)-1]
	}
	for _, t := range back {
		c.past = slices.DeleteFunc(c.past, func(p *chainTx) bool { return p == t })
		t.block = nil
	}
	c.pool = append(back, c.pool...)
	for range depth {
		c.produce()
	}
}

// advance moves a node up the chain; one whose head was taken back changes over
// as soon as there is a longer branch.
func (c *chainRun) advance(n *chainNode, by int64) {
	top := c.tip().n
	if !n.head.canon {
		if top > n.head.n {
			n.head = c.blocks[min(top, n.head.n+max(by, 1))]
		}
		return
	}
	n.head = c.blocks[min(top, n.head.n+by)]
}

func (c *chainRun) own(f, value string) {
	c.out.begin(0, "info", f)
	line := string(c.out.line)
	at := len(line) - len(", :process 0, :f :"+f+", :value ")
	c.out.line = append(c.out.line[:at], ", :process :jepgo, :f :"+f+", :value "+value...)
	c.out.end()
}

func (c *chainRun) restart(n *chainNode) {
	c.own("exit", fmt.Sprintf("{:node %q :state \"signal: killed\"}", n.name))
	for range c.r.IntN(3) {
		if n.head.parent != nil && c.o.Reorg > 0 { // what is final stays
			n.head = n.head.parent
		}
	}
	n.shown = min(n.shown, n.head.n)
}

// ask writes a whole operation of one process.
func (c *chainRun) ask(process int64, n *chainNode, f, asked, answer, extra string) {
	c.op(process, "invoke", f, asked, " :node \""+n.name+"\"")
	if !c.final && c.r.Float64() < c.o.Fail {
		c.op(process, "fail", f, asked, " :node \""+n.name+"\" :error [:refused \"no\"]")
		return
	}
	c.op(process, "ok", f, answer, " :node \""+n.name+"\""+extra)
}

func (c *chainRun) op(process int64, kind, f, value, extra string) {
	if kind == "invoke" {
		c.ops++
	}
	c.out.begin(process, kind, f)
	c.out.line = append(c.out.line, value...)
	c.out.line = append(c.out.line, extra...)
	c.out.end()
}

func (b *chainBlk) header(root string) string {
	parent := "0x00"
	if b.parent != nil {
		parent = b.parent.h
	}
	return `{:n ` + strconv.FormatInt(b.n, 10) + ` :h "` + b.h + `" :parent "` + parent + `" :root "` + root + `" :ts ` + strconv.FormatInt(1_760_000_000+2*b.n, 10)
}

func place(b *chainBlk) string { return fmt.Sprintf(" :height %d :hash %q", b.n, b.h) }

func (c *chainRun) head(n *chainNode) {
	b := n.head
	root := b.root
	if c.planted("root-mismatch", !c.final && b.n > 0 && c.shownElsewhere(n, b)) {
		root = c.hash()
	}
	text := b.header(root) + "}"
	value := "{:latest " + text
	if c.o.Reorg == 0 {
		value += " :safe " + text + " :finalized " + text
	}
	if b.n > n.shown+1 {
		var walk []string
		for up := b.parent; up != nil && up.n > n.shown; up = up.parent {
			walk = append(walk, up.header(up.root)+"}")
		}
		slices.Reverse(walk)
		value += " :walk ["
		for i, w := range walk {
			if i > 0 {
				value += " "
			}
			value += w
		}
		value += "]"
	}
	n.shown = max(n.shown, b.n)
	c.ask(n.watcher, n, "head", "nil", value+"}", "")
}

func (c *chainRun) shownElsewhere(n *chainNode, b *chainBlk) bool {
	return slices.ContainsFunc(c.nodes, func(o *chainNode) bool { return o != n && o.shown >= b.n && b.canon })
}

func (c *chainRun) client(a *chainClient) {
	if a.tx != nil {
		c.wait(a)
		return
	}
	n := a.node
	switch c.r.IntN(10) {
	case 0, 1, 2:
		c.send(a)
	case 3, 4:
		c.receipt(a.process, n, c.r.IntN(max(1, len(c.past))))
	case 5:
		c.body(a.process, c.nodes[c.r.IntN(chainNodes)])
	case 6:
		c.logs(a.process, n)
	case 7:
		c.callAt(a.process, n)
	case 8:
		b := n.head
		count := b.count
		if c.planted("state-mismatch", b.n > 0) {
			c.ask(a.process, n, "count", "nil", strconv.Itoa(count), " :tag :latest"+place(b))
			count++
		}
		c.ask(a.process, n, "count", "nil", strconv.Itoa(count), " :tag :latest"+place(b))
	case 9:
		c.account(a.process, n, c.r.IntN(len(c.clients)))
	}
}

func (c *chainRun) send(a *chainClient) {
	c.serial++
	t := &chainTx{f: []string{"emit", "emit", "inc", "put", "pay"}[c.r.IntN(5)], hash: c.hash(), from: a.sender, nonce: c.nonce[a.sender], client: a, element: c.serial, log: -1}
	switch t.f {
	case "emit":
		t.value = strconv.Itoa(t.element)
	case "inc":
		t.inc = 1 + c.r.IntN(5)
		t.value = strconv.Itoa(t.inc)
	case "put":
		t.key = c.r.IntN(chainKeys)
		t.value = fmt.Sprintf("[%d %d]", t.key, t.element)
	case "pay":
		t.value = fmt.Sprintf("{:to %q :amount %d}", "0xfeed", 1+c.r.IntN(9))
	}
	if len(c.past) > 0 && c.planted("effect-twice", t.f == "emit" && c.lastEmit() != nil) {
		t.element = c.lastEmit().element
		t.value = strconv.Itoa(t.element)
	}
	if t.nonce > 0 && c.planted("nonce-twice", c.o.Reorg == 0) {
		t.nonce--
		c.nonce[a.sender]--
	}
	c.nonce[a.sender]++
	a.tx = t
	c.pool = append(c.pool, t)
	c.op(a.process, "invoke", t.f, t.value, " :node \""+a.node.name+"\"")
}

func (c *chainRun) lastEmit() *chainTx {
	for i := len(c.past) - 1; i >= 0; i-- {
		if c.past[i].f == "emit" && c.past[i].block.canon {
			return c.past[i]
		}
	}
	return nil
}

// wait completes a client's transaction when its node has the block, or in doubt.
func (c *chainRun) wait(a *chainClient) {
	t := a.tx
	extra := fmt.Sprintf(" :node %q :tx %q :from \"0x%040x\" :nonce %d", a.node.name, t.hash, 0xa0000+t.from, t.nonce)
	if t.block == nil || !t.block.canon || t.block.n > a.node.head.n || !a.node.head.canon {
		if c.r.Float64() < c.o.Crash/4 {
			c.op(a.process, "info", t.f, t.value, extra+` :error [:timeout "no receipt"]`)
			a.tx = nil
			a.process = c.next
			c.next++
		} else {
			c.advance(a.node, 1)
		}
		return
	}
	if c.planted("lost-transaction", true) {
		b := t.block
		b.txs = slices.Delete(slices.Clone(b.txs), t.i, t.i+1)
		b.log = slices.Delete(slices.Clone(b.log), t.i, t.i+1)
		c.past = slices.DeleteFunc(c.past, func(o *chainTx) bool { return o == t })
	}
	extra += place(t.block)
	if t.log >= 0 {
		extra += fmt.Sprintf(" :log %d", t.log)
	}
	a.tx, t.told = nil, true
	c.op(a.process, "ok", t.f, t.value, extra)
}

// settle lets every node catch up and every client end.
func (c *chainRun) settle() {
	for len(c.pool) > 0 {
		c.produce()
	}
	c.produce()
	for _, n := range c.nodes {
		n.head = c.tip()
		c.head(n)
	}
	for _, a := range c.clients {
		if a.tx != nil {
			c.wait(a)
		}
	}
}

// finish reads everything again, from every node.
func (c *chainRun) finish() {
	c.final = true
	for at, n := range c.nodes {
		c.head(n)
		for _, b := range c.blocks[1:] {
			c.bodyOf(n.watcher, n, b)
			c.txs(n, b, at == 0)
		}
		for i := range min(len(c.past), chainReread) {
			c.receipt(n.watcher, n, i)
		}
		for i := range c.clients {
			c.account(n.watcher, n, i)
		}
		b := c.tip()
		count := b.count
		if c.planted("counter-bounds", true) {
			count += 1_000_000
		}
		c.ask(n.watcher, n, "count", "nil", strconv.Itoa(count), " :tag :latest"+place(b))
	}
}

func (c *chainRun) txs(n *chainNode, b *chainBlk, whole bool) {
	value := fmt.Sprintf("{:n %d :h %q :parent %q", b.n, b.h, b.parent.h)
	if whole {
		value += " :ops ["
		first := true
		for _, t := range b.txs {
			if t.f == "pay" || t.block != b {
				continue
			}
			if !first {
				value += " "
			}
			first = false
			value += fmt.Sprintf("[%q :%s %s :ok]", t.hash, t.f, t.value)
		}
		value += "]"
	}
	c.ask(n.watcher, n, "txs", strconv.FormatInt(b.n, 10), value+"}", "")
}
