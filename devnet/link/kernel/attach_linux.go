package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

// Guest has rules in the network namespace of a process that somebody else started,
// such as a node in a container. They are in a table that belongs to a socket of
// this process, and vanish with it. Its methods are safe for concurrent use.
//
// Until Close the namespace stays, also without the process. It is not for nodes in
// the namespace of this process, such as those that share the host's network.
type Guest struct {
	mu     sync.Mutex
	conn   *nftables.Conn
	t      *nftables.Table
	chains [2]*nftables.Chain // of what comes in, and of what goes out
	rules  []Rule
	last   []Taken
}

// Attach prepares the namespace of that process for rules. Its errors say when the
// process is gone, shares our namespace, has rules of another jepgo, or is out of
// reach: it takes CAP_NET_ADMIN there.
func Attach(id devnet.Identity) (*Guest, error) {
	ns, err := openSpace(id)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", id.PID, err)
	}
	defer unix.Close(ns)
	conn, t, err := openOwned(ns)
	if errors.Is(err, unix.EPERM) {
		err = fmt.Errorf("%w: run as root; or another jepgo has its rules there", err)
	}
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", id.PID, err)
	}
	g := &Guest{conn: conn, t: t}
	priority := nftables.ChainPriority(beforeTracking)
	for i, hook := range [2]*nftables.ChainHook{nftables.ChainHookInput, nftables.ChainHookOutput} {
		g.chains[i] = conn.AddChain(&nftables.Chain{
			Name: [2]string{"in", "out"}[i], Table: t, Type: nftables.ChainTypeFilter, Hooknum: hook, Priority: &priority,
		})
	}
	if err := conn.Flush(); err != nil {
		conn.CloseLasting()
		return nil, fmt.Errorf("process %d: nftables: %w", id.PID, err)
	}
	return g, nil
}

// openSpace opens the namespace of the very process, unless it is ours.
func openSpace(id devnet.Identity) (int, error) {
	path := "/proc/" + strconv.Itoa(id.PID) + "/ns/net"
	ns, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("network namespace: %w", err)
	}
	var theirs, ours unix.Stat_t
	err = errors.Join(unix.Fstat(ns, &theirs), unix.Stat("/proc/self/ns/net", &ours))
	switch {
	case err != nil:
	case theirs.Dev == ours.Dev && theirs.Ino == ours.Ino:
		err = errors.New("network namespace: it is ours, expected one of its own")
	case !devnet.Alive(id): // and what we opened may be another's
		err = errors.New("it is gone")
	}
	if err != nil {
		unix.Close(ns)
		return -1, err
	}
	return ns, nil
}

// Set replaces all rules at once, and is in force when it returns; counting starts
// anew. Without rules everything passes.
func (g *Guest) Set(rules []Rule) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.t == nil {
		return net.ErrClosed
	}
	for _, r := range rules {
		if err := r.check(); err != nil {
			return err
		}
	}
	for _, c := range g.chains {
		g.conn.FlushChain(c)
	}
	for i := range g.rules {
		g.conn.DeleteObject(g.counter(i))
	}
	for i, r := range rules {
		g.conn.AddObj(g.counter(i))
		g.conn.AddRule(&nftables.Rule{Table: g.t, Chain: g.chain(r), Exprs: slices.Concat(
			r.match(), []expr.Any{&expr.Objref{Type: int(nftables.ObjTypeCounter), Name: strconv.Itoa(i)}, r.end()},
		)})
	}
	if err := g.conn.Flush(); err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	g.rules, g.last = slices.Clone(rules), make([]Taken, len(rules))
	settle()
	return nil
}

func (g *Guest) chain(r Rule) *nftables.Chain {
	if r.In {
		return g.chains[0]
	}
	return g.chains[1]
}

func (g *Guest) counter(i int) *nftables.NamedObj {
	return &nftables.NamedObj{Table: g.t, Name: strconv.Itoa(i), Type: nftables.ObjTypeCounter, Obj: &expr.Counter{}}
}

// Taken returns the evidence of the present rules, in their order; after Close what
// was read last.
func (g *Guest) Taken() []Taken {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.read()
	return slices.Clone(g.last)
}

func (g *Guest) read() {
	if g.t == nil {
		return
	}
	objs, err := g.conn.GetNamedObjects(g.t)
	if err != nil {
		return // the last reading stands
	}
	for _, o := range objs {
		named, ok := o.(*nftables.NamedObj)
		if !ok {
			continue
		}
		i, err := strconv.Atoi(named.Name)
		if c, ok := named.Obj.(*expr.Counter); ok && err == nil && i >= 0 && i < len(g.last) {
			g.last[i] = Taken{int64(c.Packets), int64(c.Bytes)}
		}
	}
}

// Close takes all rules away with their table; it is idempotent.
func (g *Guest) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.read()
	g.t = nil
	return g.conn.CloseLasting()
}

// match is what the packet must be.
func (r Rule) match() []expr.Any {
	family, at, size := byte(unix.NFPROTO_IPV4), uint32(12), uint32(4)
	peer := r.Peer.Unmap()
	if peer.Is6() {
		family, at, size = unix.NFPROTO_IPV6, 8, 16
	}
	theirs, mine := uint32(0), uint32(2) // offsets of the ports
	if !r.In {
		at += size // the destination
		theirs, mine = mine, theirs
	}
	es := []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{family}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: at, Len: size},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: peer.AsSlice()},
	}
	switch {
	case r.Reset:
		es = append(es, protocol(unix.IPPROTO_TCP)...)
	case r.Port != 0 || r.Local != 0: // what has no ports
		es = append(es, &expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
			&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: []byte{unix.IPPROTO_ICMP}},
			&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: []byte{unix.IPPROTO_ICMPV6}})
	}
	for _, p := range []struct {
		port uint16
		at   uint32
	}{{r.Port, theirs}, {r.Local, mine}} {
		if p.port != 0 {
			es = append(es,
				&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: p.at, Len: 2},
				&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binary.BigEndian.AppendUint16(nil, p.port)})
		}
	}
	if r.Share < 1 {
		es = append(es, drawn(r.Share)...)
	}
	return es
}

// end is what is done to a packet that is taken.
func (r Rule) end() expr.Any {
	if r.Reset {
		return &expr.Reject{Type: unix.NFT_REJECT_TCP_RST}
	}
	return &expr.Verdict{Kind: expr.VerdictDrop}
}
