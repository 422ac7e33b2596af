//go:build live

package validator

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/jepgo/jepgo/devnet/link"
)

func TestLiveStart(t *testing.T) {
	c := newCluster(t, 4, false, "")
	took := c.firstBlock()
	t.Logf("nothing to block 1 on four nodes: %v", took)
	c.await("agreement", 30*time.Second, c.agree)

	// The pace over 20 blocks, and EVM time against the clock.
	from, _ := c.head(0)
	begun := time.Now()
	c.await("20 blocks", time.Minute, func() error {
		if h, err := c.head(0); err != nil || h < from+20 {
			return fmt.Errorf("head %d: %v", h, err)
		}
		return nil
	})
	t.Logf("block interval: %v", time.Since(begun)/20)
	ec, err := ethclient.Dial("http://" + c.cfgs[0].Listen.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	head, err := ec.HeaderByNumber(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if lag := time.Since(time.Unix(int64(head.Time), 0)); lag < 0 {
		t.Errorf("EVM time is ahead of the clock by %v", -lag)
	} else {
		t.Logf("EVM time is behind the clock by %v", lag)
	}
	for i := range c.cfgs {
		for url, want := range map[string]string{
			"http://" + c.cfgs[i].Listen.GethMetrics + "/debug/metrics/prometheus": "chain_head_block",
			"http://" + c.cfgs[i].Listen.CometMetrics + "/metrics":                 "cometbft_consensus_height",
		} {
			resp, err := http.Get(url)
			if err != nil {
				t.Error(err)
				continue
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if !strings.Contains(string(body), want) {
				t.Errorf("%s does not report %q", url, want)
			}
		}
		if n, err := rpcCall[string](c.cfgs[i].Listen.HTTP, "net_peerCount"); err != nil || n != "0x3" {
			t.Errorf("%s devp2p peers: %q %v, want 0x3", c.cfgs[i].Name, n, err)
		}
	}
	if ws, err := ethclient.Dial("ws://" + c.cfgs[1].Listen.WS); err != nil {
		t.Error(err)
	} else {
		heads := make(chan *types.Header)
		sub, err := ws.SubscribeNewHead(t.Context(), heads)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-heads:
		case err := <-sub.Err():
			t.Error(err)
		case <-time.After(30 * time.Second):
			t.Error("no new head over WebSocket")
		}
		ws.Close()
	}
	for i := range c.cfgs {
		t.Logf("%s: %s", c.cfgs[i].Name, c.usage(i))
	}
	// An ordered end.
	begun = time.Now()
	for i := range c.cfgs {
		_ = c.procs[i].Process.Signal(syscall.SIGTERM)
	}
	for i := range c.cfgs {
		if err := c.procs[i].Wait(); err != nil {
			t.Errorf("%s ended with %v\n%s", c.cfgs[i].Name, err, c.log(i))
		}
		c.procs[i] = nil
	}
	t.Logf("ordered end of all: %v", time.Since(begun))
	t.Logf("log of n1:\n%s", c.log(0))
}

func TestLiveTwentyKills(t *testing.T) {
	c := newCluster(t, 4, false, "")
	c.firstBlock()
	c.await("agreement", 30*time.Second, c.agree)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tally := c.load(ctx)
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		victim := rng.IntN(4)
		before, err := c.head(victim)
		if err != nil {
			t.Fatal(err)
		}
		c.kill(victim)
		time.Sleep(time.Duration(rng.IntN(4000)) * time.Millisecond)
		c.start(victim)
		again := ""
		if rng.IntN(3) == 0 { // and once more while it starts
			time.Sleep(time.Duration(rng.IntN(900)) * time.Millisecond)
			c.kill(victim)
			c.start(victim)
			again = ", twice"
		}
		var first uint64
		ready := c.await("RPC", 30*time.Second, func() (err error) {
			first, err = c.head(victim)
			return err
		})
		if first < before {
			t.Errorf("kill %d: %s served %d before and %d after", round, c.cfgs[victim].Name, before, first)
		}
		caught := c.await("agreement", time.Minute, c.agree)
		t.Logf("kill %2d of %s%s: head %d, back at %d after %v, agreed after %v", round, c.cfgs[victim].Name, again, before, first, ready.Round(time.Millisecond), (ready + caught).Round(time.Millisecond))
	}
	// All at once.
	before, err := c.head(0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.cfgs {
		c.kill(i)
	}
	for i := range c.cfgs {
		c.start(i)
	}
	t.Logf("all killed: next block after %v", c.await("next block", time.Minute, func() error {
		if h, err := c.head(0); err != nil || h <= before {
			return fmt.Errorf("head %d, was %d: %v", h, before, err)
		}
		return nil
	}))
	cancel()
	sent := tally()
	if sent == 0 {
		t.Error("no transaction was sent")
	}
	t.Logf("transactions sent, all of them mined: %d", sent)
	top, err := c.head(0)
	if err != nil {
		t.Fatal(err)
	}
	c.await("agreement", time.Minute, c.agree)
	for h := range top + 1 {
		if err := c.same(h); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("blocks 0 to %d are the same on all nodes", top)
}

// TestLiveHeal cuts one validator off, heals, and measures until both layers
// are whole again and everybody agrees.
func TestLiveHeal(t *testing.T) {
	c := newCluster(t, 4, true, "")
	t.Logf("nothing to block 1 through proxies: %v", c.firstBlock())
	whole := func() error {
		for i := range c.cfgs {
			if d, k, err := c.peers(i); err != nil || d != 3 || k != 3 {
				return fmt.Errorf("%s has %d devp2p and %d cometbft peers, want 3: %v", c.cfgs[i].Name, d, k, err)
			}
		}
		return nil
	}
	c.await("all peers", 30*time.Second, whole)
	c.await("agreement", 30*time.Second, c.agree)
	for _, cut := range []struct {
		name string
		side []string // cut off from the others
		last time.Duration
	}{
		{"one for 5 s", []string{"n1"}, 5 * time.Second},
		{"halves for 10 s", []string{"n1", "n3"}, 10 * time.Second},
		{"one for 50 s", []string{"n2"}, 50 * time.Second},            // beyond devp2p's read timeout of 30 s
		{"halves for 150 s", []string{"n2", "n4"}, 150 * time.Second}, // beyond CometBFT's pong timeout of 105 s
	} {
		if testing.Short() && cut.last > 20*time.Second {
			t.Logf("%s: left out, this is -short", cut.name)
			continue
		}
		before, _ := c.head(slices.Index(c.cfgs[0].Names, cut.side[0]))
		var edges []link.Edge
		for _, e := range c.links.Edges() {
			if slices.Contains(cut.side, e.From) != slices.Contains(cut.side, e.To) {
				edges = append(edges, e)
			}
		}
		for _, e := range edges {
			if err := c.links.Cut(e); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(cut.last)
		during, _ := c.head(slices.Index(c.cfgs[0].Names, cut.side[0]))
		if during > before+2 {
			t.Errorf("%s: the cut-off side went from %d to %d", cut.name, before, during)
		}
		for _, e := range edges {
			if err := c.links.Heal(e); err != nil {
				t.Fatal(err)
			}
		}
		healed := time.Now()
		c.await("next block", time.Minute, func() error {
			for i := range c.cfgs {
				if h, err := c.head(i); err != nil || h <= during {
					return fmt.Errorf("%s at %d: %v", c.cfgs[i].Name, h, err)
				}
			}
			return nil
		})
		next := time.Since(healed)
		c.await("agreement", time.Minute, c.agree)
		agreed := time.Since(healed)
		c.await("all peers", time.Minute, whole)
		t.Logf("%s: next block everywhere %v, agreement %v, all peers %v after the heal", cut.name, next.Round(time.Millisecond), agreed.Round(time.Millisecond), time.Since(healed).Round(time.Millisecond))
	}
}

// TestLiveFork has the last validator lie about its blocks: it contradicts the
// others, and the network does not notice.
func TestLiveFork(t *testing.T) {
	c := newCluster(t, 4, false, "fork")
	c.await("block of the fork", time.Minute, func() error {
		for i := range c.cfgs {
			if h, err := c.head(i); err != nil || h < forkHeight+2 {
				return fmt.Errorf("%s at %d: %v", c.cfgs[i].Name, h, err)
			}
		}
		return nil
	})
	for h := uint64(forkHeight - 2); h <= forkHeight+2; h++ {
		var got [4]blockID
		for i := range got {
			b, err := c.block(i, fmt.Sprintf("%#x", h))
			if err != nil {
				t.Fatal(err)
			}
			got[i] = b
		}
		if got[0] != got[1] || got[0] != got[2] {
			t.Errorf("block %d: honest nodes differ: %v", h, got)
		}
		if (got[0].Hash == got[3].Hash) != (h < forkHeight) || (got[0].StateRoot == got[3].StateRoot) != (h < forkHeight) {
			t.Errorf("block %d: n1 %v, n4 %v", h, got[0], got[3])
		}
	}
}

// TestLiveRewind kills a validator, which then serves older blocks for a while.
func TestLiveRewind(t *testing.T) {
	c := newCluster(t, 4, false, "rewind")
	c.await("block 8", time.Minute, func() error {
		if h, err := c.head(1); err != nil || h < 8 {
			return fmt.Errorf("head %d: %v", h, err)
		}
		return nil
	})
	before, err := c.head(1)
	if err != nil {
		t.Fatal(err)
	}
	c.kill(1)
	c.start(1)
	var after uint64
	c.await("RPC", 30*time.Second, func() (err error) {
		after, err = c.head(1)
		return err
	})
	if after >= before {
		t.Errorf("head after the restart is %d, was %d", after, before)
	}
	c.await("agreement", time.Minute, c.agree)
}
