package client

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// pollNode is a node as the poll sees it, which counts what it is asked. It is
// used in a synctest bubble, between waits only.
type pollNode struct {
	height         uint64
	broken         error         // what each look at the head gives
	lag            time.Duration // from a block to its receipts
	made           time.Time     // when height was reached
	mined          bool          // whether what is awaited is in the newest block
	looks, askings int           // requests
}

func (n *pollNode) poll() *receiptPoll {
	return &receiptPoll{
		head: func(context.Context) (uint64, error) { n.looks++; return n.height, n.broken },
		ask: func(_ context.Context, txs []common.Hash) []Answer[*Receipt] {
			n.askings++
			answers := make([]Answer[*Receipt], len(txs))
			for i := range answers {
				if n.mined && time.Since(n.made) >= n.lag {
					answers[i].Value = &Receipt{Tx: txs[i], Number: n.height}
				}
			}
			return answers
		},
	}
}

func (n *pollNode) mine() { n.height, n.made, n.mined = n.height+1, time.Now(), true }

// await makes n waiters and returns what they wait on.
func await(p *receiptPoll, n int) (arrives []<-chan *Receipt) {
	for i := range n {
		var tx common.Hash
		binary.BigEndian.PutUint64(tx[:], uint64(i))
		ch, _ := p.await(tx)
		arrives = append(arrives, ch)
	}
	return arrives
}

// Looks at the head are the same for one waiter and a thousand; receipts are
// asked for in full batches, twice a second while no block comes.
func TestWaitersDoNotMultiplyRequests(t *testing.T) {
	for _, waiters := range []int{1, 1000} {
		synctest.Test(t, func(t *testing.T) {
			batches := (waiters + pollBatch - 1) / pollBatch
			node := &pollNode{height: 7}
			arrives := await(node.poll(), waiters)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if want := int(10 * time.Second / pollHead); node.looks > want || node.looks < want-1 {
				t.Errorf("%d waiters: %d looks at the head in 10 s, want %d", waiters, node.looks, want)
			}
			// The first head with its repeats, then each half second.
			if most := (3 + 20) * batches; node.askings > most || node.askings < 18*batches {
				t.Errorf("%d waiters: %d askings in 10 s, want at most %d", waiters, node.askings, most)
			}
			node.askings = 0
			node.mine()
			for _, ch := range arrives {
				<-ch
			}
			if took := time.Since(node.made); took > pollHead {
				t.Errorf("%d waiters: receipts came %v after the block", waiters, took)
			}
			if node.askings != batches {
				t.Errorf("%d waiters: %d askings for a block, want %d", waiters, node.askings, batches)
			}
			synctest.Wait()
			looks := node.looks
			time.Sleep(time.Minute)
			if node.looks != looks {
				t.Errorf("%d looks while nobody waited", node.looks-looks)
			}
		})
	}
}

// Receipts that come after their block, without a new head, or from a node that
// does not tell its head are seen all the same.
func TestReceiptsWithoutAChangeOfTheHead(t *testing.T) {
	for _, test := range []struct {
		name string
		node pollNode
		do   func(*pollNode)
		most time.Duration
	}{
		{"index a little behind", pollNode{height: 7, lag: pollHead}, (*pollNode).mine, 2 * pollHead},
		{"index far behind", pollNode{height: 7, lag: time.Minute}, (*pollNode).mine, time.Minute + pollSlow + pollHead},
		{"same height, other block", pollNode{height: 7}, func(n *pollNode) { n.made, n.mined = time.Now(), true }, pollSlow + pollHead},
		{"genesis", pollNode{}, func(n *pollNode) { n.made, n.mined = time.Now(), true }, pollSlow + pollHead},
		{"lower height", pollNode{height: 7}, func(n *pollNode) { n.height, n.made, n.mined = 6, time.Now(), true }, pollHead},
		{"no head", pollNode{broken: errors.New("no such method")}, (*pollNode).mine, 2 * pollSlow},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node := test.node
				p := node.poll()
				arrives := await(p, 1)
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if err := p.lastError(); node.broken == nil && err != nil {
					t.Errorf("error %v", err)
				}
				test.do(&node)
				<-arrives[0]
				if took := time.Since(node.made); took > test.most {
					t.Errorf("receipt came after %v, want at most %v", took, test.most)
				}
			})
		})
	}
}
