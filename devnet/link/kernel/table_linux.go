package kernel

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	nfnl "github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet/link/netns"
)

const (
	tableName = "jepgo"
	// flagOwner (NFT_TABLE_F_OWNER) gives the table to the socket that makes it:
	// nobody else can change it, and it vanishes with the socket.
	flagOwner = 2
	// beforeTracking is ahead of connection tracking, which no rule here uses.
	beforeTracking = -310
	headerIPv4     = 20
	headerUDP      = 8
)

// openOwned makes a table that belongs to the connection, in the namespace of the
// calling thread.
func openOwned() (*nftables.Conn, *nftables.Table, error) {
	t := &nftables.Table{Name: tableName, Family: nftables.TableFamilyINet}
	conn, err := nftables.New(nftables.AsLasting(), nftables.WithSockOptions(func(c *nfnl.Conn) error { return addOwned(c, t) }))
	if err != nil {
		return nil, nil, fmt.Errorf("nftables: make a table: %w", err)
	}
	return conn, t, nil
}

// addOwned sends by hand what the library has no flag for.
func addOwned(c *nfnl.Conn, t *nftables.Table) error {
	attrs, err := nfnl.MarshalAttributes([]nfnl.Attribute{
		{Type: unix.NFTA_TABLE_NAME, Data: append([]byte(t.Name), 0)},
		{Type: unix.NFTA_TABLE_FLAGS, Data: binary.BigEndian.AppendUint32(nil, flagOwner)},
	})
	if err != nil {
		return err
	}
	header := func(family byte, id uint16) []byte { return binary.BigEndian.AppendUint16([]byte{family, 0}, id) }
	edge := func(kind nfnl.HeaderType) nfnl.Message {
		return nfnl.Message{Header: nfnl.Header{Type: kind, Flags: nfnl.Request}, Data: header(0, unix.NFNL_SUBSYS_NFTABLES)}
	}
	_, err = c.SendMessages([]nfnl.Message{
		edge(unix.NFNL_MSG_BATCH_BEGIN),
		{
			Header: nfnl.Header{
				Type:  nfnl.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_NEWTABLE),
				Flags: nfnl.Request | nfnl.Acknowledge | nfnl.Create,
			},
			Data: append(header(byte(t.Family), 0), attrs...),
		},
		edge(unix.NFNL_MSG_BATCH_END),
	})
	if err != nil {
		return err
	}
	_, err = c.Receive()
	return err
}

// table holds the rules for what one node receives: a chain for each other node.
type table struct {
	mu   sync.Mutex // one exchange at a time on the socket
	conn *nftables.Conn
	t    *nftables.Table
}

// rules is what is done to the packets of one edge.
type rules struct {
	cut         bool
	loss, reset float64
}

// tally is a counter of the kernel.
type tally struct{ packets, bytes int64 }

// newTable makes the table in the namespace of the calling thread.
func newTable(self int, peers []netns.Peer) (*table, error) {
	conn, t, err := openOwned()
	if err != nil {
		return nil, err
	}
	tb := &table{conn: conn, t: t}
	if err := tb.build(self, peers); err != nil {
		tb.close()
		return nil, fmt.Errorf("nftables: make rules: %w", err)
	}
	return tb, nil
}

func (tb *table) build(self int, peers []netns.Peer) error {
	priority := nftables.ChainPriority(beforeTracking)
	in := tb.conn.AddChain(&nftables.Chain{
		Name: "in", Table: tb.t, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookInput, Priority: &priority,
	})
	if err := tb.conn.Flush(); err != nil {
		return err
	}
	var ways []nftables.SetElement
	for i, p := range peers {
		if i == self {
			continue
		}
		tb.conn.AddChain(&nftables.Chain{Name: chainOf(i), Table: tb.t})
		for _, what := range tallies() {
			tb.conn.AddObj(&nftables.NamedObj{Table: tb.t, Name: nameOf(i, what), Type: nftables.ObjTypeCounter, Obj: &expr.Counter{}})
		}
		tb.fill(i, rules{})
		if err := tb.conn.Flush(); err != nil { // one by one: the answers must fit the socket's buffer
			return err
		}
		ways = append(ways, nftables.SetElement{Key: p.Addr.AsSlice(), VerdictData: &expr.Verdict{Kind: expr.VerdictGoto, Chain: chainOf(i)}})
	}
	if len(ways) == 0 {
		return nil
	}
	set := &nftables.Set{Table: tb.t, Name: "senders", IsMap: true, KeyType: nftables.TypeIPAddr, DataType: nftables.TypeVerdict}
	if err := tb.conn.AddSet(set, ways); err != nil {
		return err
	}
	tb.conn.AddRule(&nftables.Rule{Table: tb.t, Chain: in, Exprs: []expr.Any{
		&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.NFPROTO_IPV4}},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 12, Len: 4}, // the source
		&expr.Lookup{SourceRegister: 1, DestRegister: unix.NFT_REG_VERDICT, IsDestRegSet: true, SetName: set.Name, SetID: set.ID},
	}})
	return tb.conn.Flush()
}

// set replaces the rules for what comes from the peer with that index, at once.
func (tb *table) set(i int, r rules) error {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.conn.FlushChain(&nftables.Chain{Name: chainOf(i), Table: tb.t})
	tb.fill(i, r)
	if err := tb.conn.Flush(); err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	return nil
}

// The kinds of counters of an edge: what became of its packets. Those of dropped and
// delivered packets are one for each length of a TCP header, as the kernel counts
// whole packets and Counters.Bytes is about payload.
const (
	units, connections, refused, lost = "units", "connections", "refused", "lost"
	dropped, delivered                = "dropped", "delivered"
	otherwise                         = "other"
	datagram                          = "udp"
)

// offsets are the lengths of TCP headers in words, the usual one first.
func offsets() []int { return []int{8, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15} }

func tallies() []string {
	all := []string{units, connections, refused, lost}
	for _, fate := range []string{dropped, delivered} {
		for _, words := range offsets() {
			all = append(all, fate+strconv.Itoa(words))
		}
		all = append(all, fate+datagram, fate+otherwise)
	}
	return all
}

func chainOf(i int) string             { return "from-" + strconv.Itoa(i) }
func nameOf(i int, what string) string { return strconv.Itoa(i) + "." + what }

// fill queues the rules of a chain that is empty.
func (tb *table) fill(i int, r rules) {
	add := func(exprs ...[]expr.Any) {
		rule := &nftables.Rule{Table: tb.t, Chain: &nftables.Chain{Name: chainOf(i), Table: tb.t}}
		for _, es := range exprs {
			rule.Exprs = append(rule.Exprs, es...)
		}
		tb.conn.AddRule(rule)
	}
	count := func(what string) []expr.Any {
		return []expr.Any{&expr.Objref{Type: int(nftables.ObjTypeCounter), Name: nameOf(i, what)}}
	}
	end := func(kind expr.VerdictKind) []expr.Any { return []expr.Any{&expr.Verdict{Kind: kind}} }
	counted := func(fate string, kind expr.VerdictKind) {
		for _, words := range offsets() {
			add(protocol(unix.IPPROTO_TCP), transport(12, 0xf0, byte(words<<4)), count(fate+strconv.Itoa(words)), end(kind))
		}
		add(protocol(unix.IPPROTO_UDP), count(fate+datagram), end(kind))
		add(count(fate+otherwise), end(kind))
	}
	add(count(units))
	opens := transport(13, flagSYN|flagACK, flagSYN)
	if r.cut {
		add(protocol(unix.IPPROTO_TCP), opens, count(refused))
		counted(dropped, expr.VerdictDrop)
		return
	}
	if r.loss > 0 {
		add(drawn(r.loss), count(lost), end(expr.VerdictDrop))
	}
	if r.reset > 0 {
		add(protocol(unix.IPPROTO_TCP), transport(13, flagRST, 0), drawn(r.reset), []expr.Any{&expr.Log{
			Key:   1<<unix.NFTA_LOG_GROUP | 1<<unix.NFTA_LOG_SNAPLEN | 1<<unix.NFTA_LOG_QTHRESHOLD,
			Group: logGroup, Snaplen: logSnap, QThreshold: 1,
		}}, end(expr.VerdictDrop))
	}
	add(protocol(unix.IPPROTO_TCP), opens, count(connections))
	counted(delivered, expr.VerdictAccept)
}

const flagSYN, flagRST, flagACK = 2, 4, 16

// protocol matches what IP carries.
func protocol(number byte) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{number}},
	}
}

// transport matches a byte of the transport header under a mask.
func transport(offset uint32, mask, want byte) []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: offset, Len: 1},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 1, Mask: []byte{mask}, Xor: []byte{0}},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{want}},
	}
}

// drawn matches a share of packets. The kernel compares bytes, so the number drawn
// is turned to the network's order first.
func drawn(share float64) []expr.Any {
	const modulus = 1 << 24
	return []expr.Any{
		&expr.Numgen{Register: 1, Modulus: modulus, Type: unix.NFT_NG_RANDOM},
		&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
		&expr.Cmp{Op: expr.CmpOpLt, Register: 1, Data: binary.BigEndian.AppendUint32(nil, uint32(share*modulus))},
	}
}

// read returns the counters of the edge from the peer with that index.
func (tb *table) read(i int) (map[string]tally, error) {
	tb.mu.Lock()
	objs, err := tb.conn.GetNamedObjects(tb.t)
	tb.mu.Unlock()
	if err != nil {
		return nil, err
	}
	all := make(map[string]tally)
	for _, o := range objs {
		named, ok := o.(*nftables.NamedObj)
		if !ok {
			continue
		}
		what, mine := strings.CutPrefix(named.Name, nameOf(i, ""))
		if c, ok := named.Obj.(*expr.Counter); ok && mine {
			all[what] = tally{int64(c.Packets), int64(c.Bytes)}
		}
	}
	if len(all) != len(tallies()) {
		return nil, fmt.Errorf("nftables: %d counters, expected %d", len(all), len(tallies()))
	}
	return all, nil
}

// payload is how many bytes with that fate were the applications'.
func payload(all map[string]tally, fate string) int64 {
	var sum int64
	for _, words := range offsets() {
		t := all[fate+strconv.Itoa(words)]
		sum += t.bytes - t.packets*int64(headerIPv4+4*words)
	}
	t := all[fate+datagram]
	sum += t.bytes - t.packets*(headerIPv4+headerUDP)
	t = all[fate+otherwise]
	return sum + t.bytes - t.packets*headerIPv4
}

// close ends the table with its socket.
func (tb *table) close() error {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return tb.conn.CloseLasting()
}
