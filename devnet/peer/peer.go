// Package peer is a hostile devp2p peer: it connects to a go-ethereum node as
// anybody could and breaks the rules of the eth protocol, in one way at a time.
//
// Guarantees: everything it does is on its own connections to the one target,
// which end with Close; every message is counted, and so is every time that the
// target hung up, with the reason it gave. Random bytes follow from the seed.
//
// Bounds: one connection at a time; at most some hundreds of messages a second.
// It learns the chain's genesis and fork from the target's own Status, so it
// needs to know nothing but the target's key and address.
//
// It is not for consensus layers, which have protocols of their own, and not for
// networks of others.
package peer

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	gethlog "github.com/ethereum/go-ethereum/log"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"

	"github.com/jepgo/jepgo/devnet"
)

// Options describe an attack.
type Options struct {
	Target *enode.Node // key and address of the node
	Kind   string      // one of Kinds
	Seed   uint64      // of the random bytes
	// Dial opens a connection to the target; nil dials its address.
	Dial func(ctx context.Context) (net.Conn, error)
}

// Attack is a hostile peer at work.
type Attack struct {
	kind   Kind
	server *p2p.Server
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	rng  *rand.Rand
	seen devnet.Hostility
}

const (
	redial      = 200 * time.Millisecond // between the end of a connection and the next
	dialTimeout = 2 * time.Second
	// ethVersion is the oldest version that go-ethereum still speaks, with its
	// number of messages.
	ethVersion, ethLength = 69, 18
)

// Start connects to the target and attacks it until Close, again and again when
// the target hangs up. It does not wait for the first connection.
func Start(opts Options) (*Attack, error) {
	at := slices.IndexFunc(Kinds(), func(k Kind) bool { return k.Name == opts.Kind })
	if at < 0 {
		var names []string
		for _, k := range Kinds() {
			names = append(names, k.Name)
		}
		return nil, fmt.Errorf("attack %q: unknown; expected one of %s", opts.Kind, strings.Join(names, ", "))
	}
	key, err := crypto.GenerateKey()
	if err != nil {
		return nil, fmt.Errorf("hostile peer: %w", err)
	}
	a := &Attack{
		kind: Kinds()[at], done: make(chan struct{}),
		rng:  rand.New(rand.NewPCG(opts.Seed, uint64(at))),
		seen: devnet.Hostility{Reasons: make(map[string]int64)},
	}
	a.server = &p2p.Server{Config: p2p.Config{
		PrivateKey: key, Name: "jepgo-hostile", MaxPeers: 4, NoDial: true, NoDiscovery: true,
		Protocols:       []p2p.Protocol{{Name: "eth", Version: ethVersion, Length: ethLength, Run: a.run}},
		EnableMsgEvents: false, Logger: gethlog.NewLogger(slog.DiscardHandler),
	}}
	if err := a.server.Start(); err != nil {
		return nil, fmt.Errorf("hostile peer: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	events := make(chan *p2p.PeerEvent, 16)
	sub := a.server.SubscribeEvents(events)
	go func() {
		defer close(a.done)
		defer sub.Unsubscribe()
		var wg sync.WaitGroup
		wg.Go(func() { a.keep(ctx, opts) })
		wg.Go(func() { a.watch(ctx, events) })
		wg.Wait()
	}()
	return a, nil
}

// keep connects whenever there is no connection.
func (a *Attack) keep(ctx context.Context, opts Options) {
	tick := time.NewTicker(redial)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if a.server.PeerCount() > 0 {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, dialTimeout)
		conn, err := opts.dial(bounded)
		cancel()
		if err == nil {
			// The flag of a connection to a configured peer, which p2p does not export.
			const staticDial = 1 << 1
			_ = a.server.SetupConn(conn, staticDial, opts.Target) // it closes conn on an error
		}
	}
}

func (o Options) dial(ctx context.Context) (net.Conn, error) {
	if o.Dial != nil {
		return o.Dial(ctx)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", net.JoinHostPort(o.Target.IP().String(), fmt.Sprint(o.Target.TCP())))
}

// run is one connection, from the eth handshake on.
func (a *Attack) run(_ *p2p.Peer, rw p2p.MsgReadWriter) error {
	a.mu.Lock()
	a.seen.Connections++
	a.mu.Unlock()
	return a.talk(rw)
}

// watch counts the ends of connections until ctx ends, with what devp2p says of
// them.
func (a *Attack) watch(ctx context.Context, events <-chan *p2p.PeerEvent) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			if e.Type != p2p.PeerEventTypeDrop {
				continue
			}
			a.mu.Lock()
			a.seen.HungUp++
			a.seen.Reasons[e.Error]++
			a.mu.Unlock()
		}
	}
}

// Counters returns what has happened so far.
func (a *Attack) Counters() devnet.Hostility {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.seen
	c.Reasons = make(map[string]int64, len(a.seen.Reasons))
	for k, v := range a.seen.Reasons {
		c.Reasons[k] = v
	}
	return c
}

// Bites returns what is still missing for the attack to count, "" for nothing:
// the target must have let it in, and have been sent what breaks the rules.
func (a *Attack) Bites() string {
	c := a.Counters()
	switch {
	case c.Connections == 0:
		return "the target has not taken a connection"
	case c.Sent < a.kind.enough:
		return fmt.Sprintf("%d hostile messages were sent, expected %d", c.Sent, a.kind.enough)
	}
	return ""
}

// Close ends the attack and its connections. It is called once.
func (a *Attack) Close() {
	a.cancel()
	<-a.done
	a.server.Stop()
}
