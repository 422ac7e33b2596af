package peer

import (
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rlp"
)

// Kind is one way to break the rules.
type Kind struct {
	Name string
	Doc  string // one sentence

	enough int64 // messages after which it has been tried
	// spoil changes the Status that would have been right.
	spoil func(*Attack, *status)
	// flood sends one message more; nil: the Status was all.
	flood func(*Attack, *status, p2p.MsgWriter) error
}

// The messages of the eth protocol that are used here.
const (
	statusMsg          = 0x00
	newBlockHashesMsg  = 0x01
	transactionsMsg    = 0x02
	getBlockHeadersMsg = 0x03
	newHashesMsg       = 0x08
	rangeUpdateMsg     = 0x11
)

// status is the first message of both sides in eth/69.
type status struct {
	Version    uint32
	Network    uint64
	Genesis    common.Hash
	Fork       struct{ Hash, Next rlp.RawValue }
	Earliest   uint64
	Latest     uint64
	LatestHash common.Hash
}

const (
	floodPeriod = 10 * time.Millisecond
	floodSize   = 1024 // hashes or headers a message
	floodEnough = 50
)

// Kinds lists the ways to break the rules.
func Kinds() []Kind {
	return []Kind{
		{Name: "bad-genesis", Doc: "a Status of another chain", enough: 1,
			spoil: func(a *Attack, s *status) { s.Genesis = a.hash() }},
		{Name: "bad-network", Doc: "a Status with another network id", enough: 1,
			spoil: func(_ *Attack, s *status) { s.Network++ }},
		{Name: "bad-range", Doc: "a Status whose range of blocks ends before it begins", enough: 1,
			spoil: func(_ *Attack, s *status) { s.Earliest = s.Latest + 10 }},
		{Name: "second-status", Doc: "a good Status and then another one", enough: 1,
			flood: func(_ *Attack, s *status, w p2p.MsgWriter) error { return p2p.Send(w, statusMsg, s) }},
		{Name: "bad-range-update", Doc: "announcements of impossible ranges of blocks", enough: 1,
			flood: func(a *Attack, s *status, w p2p.MsgWriter) error {
				return p2p.Send(w, rangeUpdateMsg, []any{s.Latest + 10, s.Latest, a.hash()})
			}},
		{Name: "hash-flood", Doc: "announcements of transactions that nobody has", enough: floodEnough, flood: (*Attack).announceNothing},
		{Name: "transaction-flood", Doc: "transactions with worthless signatures", enough: 1, flood: (*Attack).sendWorthless},
		{Name: "header-flood", Doc: "requests for headers, a thousand at a time", enough: floodEnough, flood: (*Attack).askHeaders},
		{Name: "block-hashes", Doc: "announcements of blocks that conflict, as before the merge", enough: 1,
			flood: func(a *Attack, s *status, w p2p.MsgWriter) error {
				type entry struct {
					Hash   common.Hash
					Number uint64
				}
				return p2p.Send(w, newBlockHashesMsg, []entry{{a.hash(), s.Latest + 1}, {a.hash(), s.Latest + 1}})
			}},
		{Name: "garbage", Doc: "messages that are not what their number says", enough: 1,
			flood: func(a *Attack, _ *status, w p2p.MsgWriter) error {
				h := a.hash()
				return p2p.Send(w, transactionsMsg, h[:])
			}},
	}
}

// talk shakes hands and attacks until the connection ends, and returns why it
// did.
func (a *Attack) talk(rw p2p.MsgReadWriter) error {
	msg, err := rw.ReadMsg()
	if err != nil {
		return err
	}
	var s status
	if err := msg.Decode(&s); err != nil || msg.Code != statusMsg {
		return fmt.Errorf("first message %d: %w", msg.Code, errors.Join(err, errors.New("expected a Status of eth/69")))
	}
	if a.kind.spoil != nil {
		a.kind.spoil(a, &s)
	}
	if err := p2p.Send(rw, statusMsg, &s); err != nil {
		return err
	}
	if a.kind.spoil != nil {
		a.sent()
	}
	ended := make(chan error, 1)
	go func() { ended <- swallow(rw) }()
	tick := time.NewTicker(floodPeriod)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-tick.C:
		}
		if a.kind.flood == nil {
			continue
		}
		if err := a.kind.flood(a, &s, rw); err != nil {
			return <-ended // says why, where the write only says that it failed
		}
		a.sent()
	}
}

// swallow reads and forgets what the target says, until the connection ends.
func swallow(r p2p.MsgReader) error {
	for {
		msg, err := r.ReadMsg()
		if err != nil {
			return err
		}
		if err := msg.Discard(); err != nil {
			return err
		}
	}
}

func (a *Attack) sent() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen.Sent++
}

func (a *Attack) hash() (h common.Hash) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range h {
		h[i] = byte(a.rng.Uint32())
	}
	return h
}

func (a *Attack) announceNothing(_ *status, w p2p.MsgWriter) error {
	var packet struct {
		Types  []byte
		Sizes  []uint32
		Hashes []common.Hash
	}
	for range floodSize {
		packet.Types = append(packet.Types, types.DynamicFeeTxType)
		packet.Sizes = append(packet.Sizes, 120)
		packet.Hashes = append(packet.Hashes, a.hash())
	}
	return p2p.Send(w, newHashesMsg, packet)
}

// sendWorthless sends transactions that decode and whose signature is a number
// drawn at random.
func (a *Attack) sendWorthless(_ *status, w p2p.MsgWriter) error {
	var txs []*types.Transaction
	for nonce := range uint64(8) {
		to, r, s := a.hash(), a.hash(), a.hash()
		s[0] &= 0x3f // the lower half, as the rules ask
		txs = append(txs, types.NewTx(&types.LegacyTx{
			Nonce: nonce, Gas: 21000, GasPrice: r.Big(), To: (*common.Address)(to[:20]),
			V: common.Big2, R: r.Big(), S: s.Big(),
		}))
	}
	return p2p.Send(w, transactionsMsg, txs)
}

func (a *Attack) askHeaders(s *status, w p2p.MsgWriter) error {
	type query struct {
		Origin  uint64
		Amount  uint64
		Skip    uint64
		Reverse bool
	}
	return p2p.Send(w, getBlockHeadersMsg, []any{uint64(1), query{s.Latest, floodSize, 0, true}})
}
