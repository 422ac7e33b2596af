package checker

import (
	"github.com/jepgo/jepgo/history"
)

// KafkaOptions say what a log service promises.
type KafkaOptions struct {
	// AllowUnseen: messages that were sent and never polled are no anomaly. They
	// are one by default, for histories that poll everything in the end.
	AllowUnseen bool
}

// Kafka returns the checker kafka, for services of append-only logs like Kafka's.
// Each key is a log (a partition); messages are unique in it. Operations are
//
//	:send, :poll, :txn  [[:send k v] [:poll] …], completed as
//	                    [[:send k [offset v]] [:poll {k [[offset v] …]}] …]
//	:assign, :subscribe [k …], which set what a consumer polls from then on
//
// where an offset may be nil or left out. The log of a key is what sends and polls
// say stands at its offsets: all polls (even those of operations that failed: a
// consumer gets no uncommitted messages) and the sends that certainly happened: ok
// ones, and those in doubt of which some message was polled. Gaps between offsets
// are normal. It looks for
//
//   - inconsistent-offsets: two messages at one offset,
//   - duplicate: one message at two offsets,
//   - lost-write: a message that certainly was sent and that no ok poll returned,
//     though one returned a message of a higher offset,
//   - unseen: an acknowledged message, not lost, that no ok poll returned,
//   - G1a: an ok poll of a message whose send failed,
//   - precommitted-read: a poll of a message by the transaction that sent it,
//   - unexpected: a poll of a message that nobody sent,
//   - poll-skip, nonmonotonic-poll: a poll of a process that passes over a message,
//     or does not go beyond the last one, compared with its last ok poll of the key,
//   - int-poll-skip, int-nonmonotonic-poll: the same within one operation, unless
//     its :rebalance-log has the key,
//   - nonmonotonic-send, int-nonmonotonic-send: messages of one process, of one
//     operation, in the opposite order in the log.
//
// Within one operation skips between sends are normal and only counted. In
// histories that subscribe, consumers are rebalanced between operations, so
// poll-skip and nonmonotonic-poll are then warnings.
//
// The rules are those of Jepsen's kafka workload, with these differences: order is
// that of offsets, not of values, so conflicting offsets confuse nothing; messages
// without a sender are an anomaly instead of an exception; sends that never
// completed count as in doubt; messages sent twice make the answer Unknown. Not
// here: its cycles through transactions (G0, G1c), and the lag of consumers.
//
// O(n log n) time; some 60 bytes for each message, 20 for each offset and
// operation, 48 for each gap in what a consumer polls.
func Kafka(o KafkaOptions) Stream { return &kafka{options: o} }

type kafka struct {
	options    KafkaOptions
	keys       interner
	logs       []partition // by key
	txns       []kafkaTxn
	open       opened[int32] // transaction
	clients    map[int64]*kafkaClient
	pending    []entry // offsets that sends in doubt report
	jumps      []jump
	precommits []precommit
	precommit  int
	subscribes bool
	polled     int // messages by ok polls
	odd, oddAt int // parts of operations that cannot be read; the first of them

	polls, sends []mark // of one operation, by key
}

// kafkaTxn is one operation that sends or polls: positions, or nowhere, and how it
// ended; no type while it is open.
type kafkaTxn struct {
	call, at int
	outcome  history.Type
}

// mark is where a process, or an operation, last was in a log; offset is unplaced
// when it is not told.
type mark struct {
	key, message, txn int32
	offset            int64
}

const unplaced = int64(-1)

// jump is a pair of polls, or sends, that do not follow each other at once.
type jump struct {
	kind     jumpKind
	from, to mark
}

type jumpKind uint8

const (
	pollJump jumpKind = iota
	sendJump
	innerPoll
	innerSend
)

type precommit struct{ key, message, txn int32 }

// kafkaClient is where a process last polled, and sent to, each key.
type kafkaClient struct{ polls, sends []mark }

func (*kafka) Name() string { return "kafka" }

func (k *kafka) Take(e *history.Event) {
	if !ofClient(e) {
		return
	}
	switch e.F {
	case "send", "poll", "txn":
		k.transaction(e)
	case "subscribe", "assign":
		k.subscribes = k.subscribes || e.F == "subscribe"
		if e.Type == history.OK || e.Type == history.Info {
			k.assign(e)
		}
	}
}

// log returns the log of a key.
func (k *kafka) log(key int32) *partition {
	for len(k.logs) <= int(key) {
		k.logs = append(k.logs, partition{})
	}
	return &k.logs[key]
}

// client returns what a process did before; nil without a process.
func (k *kafka) client(p history.Process) *kafkaClient {
	n, ok := p.Client()
	if !ok {
		return nil
	}
	c := k.clients[n]
	if c == nil {
		if k.clients == nil {
			k.clients = make(map[int64]*kafkaClient)
		}
		c = new(kafkaClient)
		k.clients[n] = c
	}
	return c
}

// assign keeps of a process what it still polls.
func (k *kafka) assign(e *history.Event) {
	c := k.client(e.Process)
	if c == nil {
		return
	}
	keep := func(marks []mark) []mark {
		kept := marks[:0]
		for _, m := range marks {
			for key := range elements(e.Value) {
				if keyNumber(&k.keys, key) == m.key {
					kept = append(kept, m)
					break
				}
			}
		}
		return kept
	}
	c.polls, c.sends = keep(c.polls), keep(c.sends)
}

func (k *kafka) transaction(e *history.Event) {
	if e.Type == history.Invoke {
		txn := int32(len(k.txns))
		k.txns = append(k.txns, kafkaTxn{call: e.Position, at: nowhere})
		k.open.begin(e.Process, txn)
		k.send(e, txn, nil)
		return
	}
	txn, ok := k.open.end(e.Process)
	if !ok {
		txn = int32(len(k.txns))
		k.txns = append(k.txns, kafkaTxn{call: nowhere})
	}
	k.txns[txn].at, k.txns[txn].outcome = e.Position, e.Type
	if e.Type == history.OK && !e.Value.IsNil() && !e.Value.IsSequence() {
		k.unreadable(e)
	}
	c := k.client(e.Process)
	k.send(e, txn, c)
	k.poll(e, txn, c)
}

// unreadable notes a part of an operation that cannot be read.
func (k *kafka) unreadable(e *history.Event) {
	if k.odd++; k.odd == 1 {
		k.oddAt = e.Position
	}
}

// send takes the sends of an invocation, or of a completion by client c.
func (k *kafka) send(e *history.Event, txn int32, c *kafkaClient) {
	k.sends = k.sends[:0]
	for op := range elements(e.Value) {
		if op.Len() == 0 || !first(op).Is("send") {
			continue
		}
		_, to, value, ok := microOp(op)
		if !ok || op.Len() != 3 {
			k.unreadable(e)
			continue
		}
		offset := unplaced
		if e.Type != history.Invoke {
			if at, v, pair := value.Pair(); pair {
				value = v
				if n, isInt := at.Int(); isInt && n >= 0 {
					offset = n
				}
			}
		}
		key := keyNumber(&k.keys, to)
		log := k.log(key)
		id := log.message(value)
		switch m := &log.messages[id]; m.sender {
		case none:
			m.sender = txn
		case txn:
			// The completion repeats its invocation.
			m.sentTwice = m.sentTwice || e.Type == history.Invoke || k.txns[txn].call == nowhere
		default:
			m.sentTwice = true
		}
		if e.Type == history.Invoke {
			continue
		}
		at := mark{key, id, txn, offset}
		if offset != unplaced {
			switch e.Type {
			case history.OK:
				log.place(entry{key, id, txn, offset})
			case history.Info:
				k.pending = append(k.pending, entry{key, id, txn, offset})
			}
		}
		var before []mark
		if c != nil && e.Type != history.Fail {
			before = c.sends
		}
		k.step(&k.sends, before, sendJump, innerSend, at)
	}
	if c == nil || e.Type != history.OK && e.Type != history.Info {
		return
	}
	for _, last := range k.sends {
		setMark(&c.sends, last)
	}
}

// poll takes the polls of a completion.
func (k *kafka) poll(e *history.Event, txn int32, c *kafkaClient) {
	k.polls = k.polls[:0]
	for op := range elements(e.Value) {
		if op.Len() < 2 || !first(op).Is("poll") {
			continue
		}
		polled := first(op).Next()
		if polled.Kind() != history.Map && !polled.IsNil() && e.Type == history.OK {
			k.unreadable(e)
		}
		for of, pairs := range entries(polled) {
			if !isCollection(pairs) && !pairs.IsNil() {
				k.unreadable(e)
			}
			key := keyNumber(&k.keys, of)
			for pair := range elements(pairs) {
				at, value, ok := pair.Pair()
				if !ok {
					k.unreadable(e)
					continue
				}
				offset := unplaced
				if n, isInt := at.Int(); isInt && n >= 0 {
					offset = n
				}
				k.see(e, c, mark{key, k.log(key).message(value), txn, offset})
			}
		}
	}
	if c == nil || e.Type != history.OK {
		return // what fails, or may have, is polled again
	}
	for _, last := range k.polls {
		setMark(&c.polls, last)
	}
}

// see takes one message that a poll returned.
func (k *kafka) see(e *history.Event, c *kafkaClient, at mark) {
	log := k.log(at.key)
	m := &log.messages[at.message]
	if m.seer == none {
		m.seer = at.txn
	}
	if e.Type == history.OK {
		k.polled++
		if m.reader == none {
			m.reader = at.txn
		}
	}
	if m.sender == at.txn {
		if k.precommit++; k.precommit <= enough {
			k.precommits = append(k.precommits, precommit{at.key, at.message, at.txn})
		}
	}
	if at.offset != unplaced {
		log.place(entry{at.key, at.message, at.txn, at.offset})
	}
	var before []mark
	if c != nil {
		before = c.polls
	}
	k.step(&k.polls, before, pollJump, innerPoll, at)
}

// step moves an operation on in a log: from where it was, or else, if it is the
// first time, from where the process was before.
func (k *kafka) step(marks *[]mark, before []mark, outer, inner jumpKind, to mark) {
	for i := range *marks {
		if m := &(*marks)[i]; m.key == to.key {
			k.jump(inner, *m, to)
			*m = to
			return
		}
	}
	*marks = append(*marks, to)
	for _, m := range before {
		if m.key == to.key {
			k.jump(outer, m, to)
			return
		}
	}
}

// jump keeps a pair unless it certainly is in order.
func (k *kafka) jump(kind jumpKind, from, to mark) {
	if from.offset != unplaced && (to.offset == from.offset+1 || kind == sendJump && to.offset > from.offset) {
		return
	}
	k.jumps = append(k.jumps, jump{kind, from, to})
}

func setMark(marks *[]mark, to mark) {
	for i := range *marks {
		if (*marks)[i].key == to.key {
			(*marks)[i] = to
			return
		}
	}
	*marks = append(*marks, to)
}
