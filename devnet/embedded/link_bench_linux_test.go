package embedded

import (
	"context"
	"crypto/ecdsa"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/jepgo/jepgo/devnet/link/mechanism"
)

var (
	benchClients = flag.Int("clients", 256, "clients of BenchmarkLinks, each with one transaction under way")
	benchLength  = flag.Duration("length", 20*time.Second, "what BenchmarkLinks measures of each devnet, after a few blocks to get warm")
	benchLinks   = flag.String("links", mechanism.Proxy+","+mechanism.Emulator, "mechanisms that BenchmarkLinks compares with "+mechanism.Direct)
)

// BenchmarkLinks is what links cost while no fault is active. A round starts one
// devnet of four nodes on each mechanism, one after the other, and puts the same
// load on them; the order moves on from round to round, so that what else the
// machine does meets all alike. Every client sends one transaction to its node,
// waits until another node has it in a block, and sends the next. What is reported
// are the geometric means, over the rounds, of each figure's ratio to that of
// direct in the same round; every figure is logged.
//
//	go test ./devnet/embedded -run '^$' -bench Links -benchtime 8x -timeout 1h
func BenchmarkLinks(b *testing.B) {
	mechanisms := append([]string{mechanism.Direct}, strings.Split(*benchLinks, ",")...)
	ratios := make(map[string][]float64) // by unit: one a round
	for round := range b.N {
		got := make(map[string]figures)
		for i := range mechanisms {
			m := mechanisms[(i+round)%len(mechanisms)]
			got[m] = measureLinks(b, m, round)
		}
		for _, m := range mechanisms {
			b.Logf("round %d of %d: %-8s %v", round+1, b.N, m, got[m])
			if m == mechanism.Direct {
				continue
			}
			for unit, of := range figureUnits() {
				unit = m + "/direct-" + unit
				ratios[unit] = append(ratios[unit], of(got[m])/of(got[mechanism.Direct]))
			}
		}
	}
	for unit, rs := range ratios {
		mean, spread := geometric(rs)
		b.Logf("%-26s %.3f, ± %.3f (standard error of %d rounds)", unit, mean, spread, len(rs))
		b.ReportMetric(mean, unit)
	}
	b.ReportMetric(0, "ns/op")
}

// figures are what was measured of one devnet.
type figures struct {
	transactions int
	rate         float64 // transactions a second
	mean, p99    time.Duration
	block        time.Duration // between two blocks
}

func (f figures) String() string {
	return fmt.Sprintf("%6.1f transactions/s, latency mean %v, p99 %v, block interval %v, %d transactions", f.rate,
		f.mean.Round(100*time.Microsecond), f.p99.Round(100*time.Microsecond), f.block.Round(100*time.Microsecond), f.transactions)
}

func figureUnits() map[string]func(figures) float64 {
	return map[string]func(figures) float64{
		"tx/s":  func(f figures) float64 { return f.rate },
		"mean":  func(f figures) float64 { return f.mean.Seconds() },
		"p99":   func(f figures) float64 { return f.p99.Seconds() },
		"block": func(f figures) float64 { return f.block.Seconds() },
	}
}

// geometric is the geometric mean and its standard error.
func geometric(rs []float64) (mean, spread float64) {
	var sum, squares float64
	for _, r := range rs {
		sum += math.Log(r)
	}
	n := float64(len(rs))
	for _, r := range rs {
		squares += (math.Log(r) - sum/n) * (math.Log(r) - sum/n)
	}
	mean = math.Exp(sum / n)
	return mean, mean * math.Sqrt(squares/max(1, n-1)/n)
}

// measureLinks runs one devnet under load.
func measureLinks(b *testing.B, made string, round int) figures {
	b.Helper()
	if err := mechanism.Probe(made); err != nil {
		b.Skipf("NOT MEASURED: links %s: %v", made, err)
	}
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute+*benchLength)
	defer cancel()
	l := &benchLoad{waits: make(map[common.Hash]chan time.Time)}
	var funded []string
	for i := range *benchClients {
		key, err := crypto.ToECDSA(crypto.Keccak256(binary.BigEndian.AppendUint64(nil, uint64(i))))
		if err != nil {
			b.Fatal(err)
		}
		l.keys = append(l.keys, key)
		funded = append(funded, crypto.PubkeyToAddress(key.PublicKey).Hex())
	}
	n, err := Start(ctx, Options{Dir: b.TempDir(), Link: made, Alloc: funded, Seed: fmt.Sprint(round)})
	if err != nil {
		b.Fatal(err)
	}
	defer n.Close(context.Background())
	f, err := l.run(ctx, n)
	if err != nil {
		b.Fatalf("links %s: %v", made, err)
	}
	return f
}

// benchBlock is a block as the first node showed it.
type benchBlock struct {
	at           time.Time
	transactions int
}

// benchLoad is the load on one devnet.
type benchLoad struct {
	keys []*ecdsa.PrivateKey

	mu        sync.Mutex
	waits     map[common.Hash]chan time.Time // by transaction: when the watching node showed it
	heads     []benchBlock                   // of the first node
	latencies []time.Duration
	count     bool // this counts, the devnet is warm
}

const warmBlocks = 4

func (l *benchLoad) run(ctx context.Context, n *Network) (figures, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	nodes := n.Nodes()
	warm := make(chan struct{})
	for i, node := range nodes {
		wg.Go(func() {
			if err := l.watch(ctx, node.WS, i, warm); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		})
	}
	for i, key := range l.keys {
		wg.Go(func() {
			if err := l.client(ctx, nodes[i%len(nodes)].HTTP, i%len(nodes), key); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		})
	}
	select {
	case <-ctx.Done():
	case <-warm:
	}
	l.mu.Lock()
	l.count, l.heads = true, l.heads[:0]
	l.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(*benchLength):
	}
	l.mu.Lock()
	l.count = false
	heads := slices.Clone(l.heads)
	l.mu.Unlock()
	err := context.Cause(ctx)
	cancel(nil)
	wg.Wait()
	if err != nil {
		return figures{}, err
	}
	if len(l.latencies) == 0 || len(heads) < 2 {
		return figures{}, fmt.Errorf("%d transactions in %d blocks", len(l.latencies), len(heads))
	}
	slices.Sort(l.latencies)
	var sum time.Duration
	for _, d := range l.latencies {
		sum += d
	}
	// From block to block: a part of an interval at the ends would be noise.
	count, took, included := len(l.latencies), heads[len(heads)-1].at.Sub(heads[0].at), 0
	for _, block := range heads[1:] {
		included += block.transactions
	}
	return figures{
		transactions: included,
		rate:         float64(included) / took.Seconds(),
		mean:         sum / time.Duration(count),
		p99:          l.latencies[min(count-1, count*99/100)],
		block:        took / time.Duration(len(heads)-1),
	}, nil
}

// watch tells the clients of the node before this one what is in its blocks.
func (l *benchLoad) watch(ctx context.Context, url string, i int, warm chan<- struct{}) error {
	c, err := rpc.DialContext(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close()
	heads := make(chan *types.Header, 64)
	sub, err := c.EthSubscribe(ctx, heads, "newHeads")
	if err != nil {
		return err
	}
	defer sub.Unsubscribe()
	for seen := 1; ; seen++ {
		var head *types.Header
		select {
		case <-ctx.Done():
			return nil
		case err := <-sub.Err():
			return err
		case head = <-heads:
		}
		now := time.Now()
		var block struct {
			Transactions []common.Hash `json:"transactions"`
		}
		if err := c.CallContext(ctx, &block, "eth_getBlockByNumber", hexutil.EncodeBig(head.Number), false); err != nil {
			return err
		}
		l.mu.Lock()
		if i == 0 {
			l.heads = append(l.heads, benchBlock{now, len(block.Transactions)})
		}
		for _, hash := range block.Transactions {
			if w := l.waits[waitKey(hash, i)]; w != nil {
				w <- now
			}
		}
		l.mu.Unlock()
		if i == 0 && seen == warmBlocks {
			close(warm)
		}
	}
}

// waitKey makes the hash one that only node i knows to look for.
func waitKey(hash common.Hash, i int) common.Hash {
	hash[0] = byte(i)
	return hash
}

// client sends to node i and waits for the next one to have it.
func (l *benchLoad) client(ctx context.Context, url string, i int, key *ecdsa.PrivateKey) error {
	c, err := rpc.DialContext(ctx, url)
	if err != nil {
		return err
	}
	defer c.Close()
	signer := types.LatestSignerForChainID(big.NewInt(DefaultChainID))
	to := crypto.PubkeyToAddress(key.PublicKey)
	for nonce := uint64(0); ; nonce++ {
		tx, err := types.SignNewTx(key, signer, &types.DynamicFeeTx{
			ChainID: big.NewInt(DefaultChainID), Nonce: nonce, Gas: 21000, To: &to,
			GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(1e12),
		})
		if err != nil {
			return err
		}
		raw, err := tx.MarshalBinary()
		if err != nil {
			return err
		}
		at, there := waitKey(tx.Hash(), (i+1)%defaultNodes), make(chan time.Time, 1)
		l.mu.Lock()
		l.waits[at] = there
		l.mu.Unlock()
		sent := time.Now()
		if err := c.CallContext(ctx, nil, "eth_sendRawTransaction", hexutil.Encode(raw)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case seen := <-there:
			l.mu.Lock()
			delete(l.waits, at)
			if l.count {
				l.latencies = append(l.latencies, seen.Sub(sent))
			}
			l.mu.Unlock()
		}
	}
}
