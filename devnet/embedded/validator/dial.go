package validator

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	cmtp2p "github.com/cometbft/cometbft/p2p"
	gethp2p "github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/p2p/enode"
)

const (
	// dialPeriod is how often missing peers are looked for.
	dialPeriod = 500 * time.Millisecond
	// dialTimeout bounds the TCP part of a dial; the handshakes have their own
	// bounds (devp2p 5 s, CometBFT 3 s).
	dialTimeout = 2 * time.Second
	// patience is how many periods the node with the higher index leaves the
	// dialling to the other one. Two dials that cross can kill each other.
	patience = 3
	// staticDial is geth's flag for a connection to a configured peer, which
	// its p2p package does not export.
	staticDial = 1 << 1
)

// dialPeers keeps connections to all peers on both peer-to-peer layers until ctx
// ends. It replaces the diallers of both: geth remembers every attempt for 35 s
// and dials no sooner again, CometBFT dials ever more rarely. Here a link that
// heals carries both layers again within about a second.
func dialPeers(ctx context.Context, cfg Config, devp2p *gethp2p.Server, comet *cmtp2p.Switch) error {
	for _, p := range cfg.Peers {
		wait := 0
		if p.Index < cfg.Index {
			wait = patience
		}
		n, err := peerEnode(cfg, p)
		if err != nil {
			return fmt.Errorf("peer %d devp2p: %w", p.Index, err)
		}
		go keep(ctx, wait, func() bool { return hasPeer(devp2p, n.ID()) }, func() { dialDevP2P(ctx, devp2p, n, p.DevP2P) })

		id := cometNodeKey(cfg.Seed, p.Index).ID()
		addr, err := cmtp2p.NewNetAddressString(cmtp2p.IDAddressString(id, p.CometP2P))
		if err != nil {
			return fmt.Errorf("peer %d cometbft: %w", p.Index, err)
		}
		go keep(ctx, wait, func() bool { return comet.Peers().Has(id) }, func() {
			// Whatever went wrong, the next period tries again.
			_ = comet.DialPeerWithAddress(addr)
		})
	}
	return nil
}

// keep calls dial whenever connected has been false for more than wait periods,
// one dial at a time.
func keep(ctx context.Context, wait int, connected func() bool, dial func()) {
	tick := time.NewTicker(dialPeriod)
	defer tick.Stop()
	var busy atomic.Bool
	for missing := 0; ; {
		if connected() {
			missing = 0
		} else if missing++; missing > wait && busy.CompareAndSwap(false, true) {
			go func() {
				defer busy.Store(false)
				dial()
			}()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func hasPeer(srv *gethp2p.Server, id enode.ID) bool {
	for _, p := range srv.Peers() {
		if p.ID() == id {
			return true
		}
	}
	return false
}

// dialDevP2P opens a connection and hands it to geth, past its dial scheduler.
// SetupConn closes the connection when a handshake fails.
func dialDevP2P(ctx context.Context, srv *gethp2p.Server, n *enode.Node, addr string) {
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return
	}
	_ = srv.SetupConn(conn, staticDial, n)
}
