package chain

import "github.com/jepgo/jepgo/history"

// op is an :f that some checker here knows.
type op uint8

const (
	opOther op = iota
	opHead
	opBlock
	opTxs
	opBody
	opReceipt
	opLogs
	opPeek
	opCount
	opElements
	opBalances
	opAccount
	opCallAt
	opEvents
	opPool
	opStatus
	opValidators
	opVotes
	// The others are transactions.
	opWrite
	opCas
	opRead
	opInc
	opAdd
	opTxn
	opMove
	opEmit
	opPut
	opPay
	opSubmit
	opReplace
	opCancel
)

func opOf(f string) op {
	switch f {
	case "head":
		return opHead
	case "block":
		return opBlock
	case "txs":
		return opTxs
	case "body":
		return opBody
	case "receipt":
		return opReceipt
	case "logs":
		return opLogs
	case "peek":
		return opPeek
	case "count":
		return opCount
	case "elements":
		return opElements
	case "balances":
		return opBalances
	case "account":
		return opAccount
	case "call-at":
		return opCallAt
	case "events":
		return opEvents
	case "pool":
		return opPool
	case "status":
		return opStatus
	case "validators":
		return opValidators
	case "votes":
		return opVotes
	case "write":
		return opWrite
	case "cas":
		return opCas
	case "read":
		return opRead
	case "inc":
		return opInc
	case "add":
		return opAdd
	case "txn":
		return opTxn
	case "move":
		return opMove
	case "emit":
		return opEmit
	case "put":
		return opPut
	case "pay":
		return opPay
	case "submit":
		return opSubmit
	case "replace":
		return opReplace
	case "cancel":
		return opCancel
	}
	return opOther
}

// isTx reports whether the op is a transaction.
func (o op) isTx() bool { return o >= opWrite }

// isLocalRead reports whether the op is answered from the state of one node at a
// tag.
func (o op) isLocalRead() bool { return o >= opPeek && o <= opAccount }

// isConsensus reports whether the blocks that it names are those of the consensus
// layer, whose hashes are others.
func (o op) isConsensus() bool { return o >= opStatus && o <= opVotes }

// decode reads the value of a completion as far as several checkers need it, and
// lists what it says of blocks.
func (r *Reader) decode(it *item) {
	if it.typ == history.OK {
		switch it.f {
		case opHead:
			r.decodeHead(it)
			return
		case opBlock, opTxs, opBody:
			if it.block, it.isBlock = r.readBlock(it.value); it.isBlock {
				it.see(it.block, it.tag)
			}
			return
		case opReceipt:
			if it.block, it.isBlock = r.readBlock(it.value); it.isBlock {
				it.see(told{n: it.block.n, h: it.block.h}, it.tag)
			}
		case opLogs:
			list, _ := it.value.Field("logs")
			r.seeRows(it, list)
		case opEvents:
			list, _ := it.value.Field("events")
			r.seeRows(it, list)
		}
	}
	if it.placed && it.tag != pendingTag && !it.f.isConsensus() {
		it.see(it.place, it.tag)
	}
}

func (it *item) see(b told, t tag) {
	it.sightings = append(it.sightings, sighting{told: b, op: it.at, node: it.node, tag: t})
}

// seeRows lists the blocks of rows [n "0xhash" …], each hash once in a row of
// equal ones.
func (r *Reader) seeRows(it *item, rows history.View) {
	if !rows.IsSequence() {
		return
	}
	heads := false
	if stream, ok := it.value.Field("stream"); ok {
		heads = stream.Is("heads")
	}
	last := id(0)
	for row := range rows.Elems() {
		if !row.IsSequence() || row.Len() < 3 {
			continue
		}
		first := row.First()
		second := first.Next()
		n, ok := first.Int()
		h := r.of(second.Bytes())
		if !ok || h == 0 || h == last {
			continue
		}
		last = h
		b := told{n: n, h: h}
		if heads {
			b.parent = r.of(second.Next().Bytes())
		}
		it.see(b, noTag)
	}
}

func (r *Reader) decodeHead(it *item) {
	it.isHead = it.value.Kind() == history.Map
	n := it.value.Len() / 2
	if !it.isHead || n == 0 {
		return
	}
	var walk history.View
	for key := it.value.First(); n > 0; n-- {
		v := key.Next()
		switch string(key.Bytes()) {
		case "latest":
			it.head[2], _ = r.readBlock(v)
		case "safe":
			it.head[1], _ = r.readBlock(v)
		case "finalized":
			it.head[0], _ = r.readBlock(v)
		case "walk":
			walk = v
		}
		if n > 1 {
			key = v.Next()
		}
	}
	if walk.Len() > 0 {
		for e := range walk.Elems() {
			if b, ok := r.readBlock(e); ok {
				it.see(b, it.tag)
			}
		}
	}
	for t := range it.head {
		if it.head[t].h != 0 {
			it.see(it.head[t], headTags[t])
		} else {
			it.head[t] = told{}
		}
	}
}

// headTags lists the tags of a head in the order in which their heights may grow.
var headTags = [3]tag{finalizedTag, safeTag, latestTag}

// readBlock decodes {:n … :h … :parent … :root … :ts …}; ok is false, and the
// block empty, without a height and a hash.
func (r *Reader) readBlock(v history.View) (b told, ok bool) {
	n := v.Len() / 2
	if v.Kind() != history.Map || n == 0 {
		return b, false
	}
	height := false
	for key := v.First(); n > 0; n-- {
		value := key.Next()
		switch string(key.Bytes()) {
		case "n":
			b.n, height = value.Int()
		case "h":
			b.h = r.of(value.Bytes())
		case "parent":
			b.parent = r.of(value.Bytes())
		case "root":
			b.root = r.of(value.Bytes())
		case "receipts":
			b.receipts = r.of(value.Bytes())
		case "miner":
			b.miner = r.of(value.Bytes())
		case "ts":
			b.ts, _ = value.Int()
		}
		if n > 1 {
			key = value.Next()
		}
	}
	if !height || b.h == 0 {
		return told{}, false
	}
	return b, true
}

// String is the :f.
func (o op) String() string {
	switch o {
	case opHead:
		return "head"
	case opBlock:
		return "block"
	case opTxs:
		return "txs"
	case opBody:
		return "body"
	case opReceipt:
		return "receipt"
	case opLogs:
		return "logs"
	case opPeek:
		return "peek"
	case opCount:
		return "count"
	case opElements:
		return "elements"
	case opBalances:
		return "balances"
	case opAccount:
		return "account"
	case opCallAt:
		return "call-at"
	case opEvents:
		return "events"
	case opPool:
		return "pool"
	case opStatus:
		return "status"
	case opValidators:
		return "validators"
	case opVotes:
		return "votes"
	case opWrite:
		return "write"
	case opCas:
		return "cas"
	case opRead:
		return "read"
	case opInc:
		return "inc"
	case opAdd:
		return "add"
	case opTxn:
		return "txn"
	case opMove:
		return "move"
	case opEmit:
		return "emit"
	case opPut:
		return "put"
	case opPay:
		return "pay"
	case opSubmit:
		return "submit"
	case opReplace:
		return "replace"
	case opCancel:
		return "cancel"
	}
	return ""
}
