package checker

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/jepgo/jepgo/history"
)

// kafkaJudge looks at the logs when all of the history is known.
type kafkaJudge struct {
	*kafka
	found  findings
	proof  []int32   // transaction in doubt → an ok one that polled a message of it, or none
	sorted [][]int64 // key → offsets in order
	lost   int
	unseen int
	warned map[string]int
}

func (k *kafka) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: k.Name()}
	if ctx.Err() != nil {
		return Ended(ctx, k.Name())
	}
	j := &kafkaJudge{kafka: k, warned: make(map[string]int)}
	j.settle()
	messages, acked, twice := 0, 0, 0
	for key := range k.logs {
		if ctx.Err() != nil {
			return Ended(ctx, k.Name())
		}
		log := &k.logs[key]
		messages += len(log.messages)
		for id := range log.messages {
			m := &log.messages[id]
			if m.sender != none && k.txns[m.sender].outcome == history.OK {
				acked++
			}
			if m.sentTwice {
				twice++
			}
		}
		j.places(int32(key))
		j.senders(int32(key))
		j.missing(int32(key))
	}
	for i := range k.precommit {
		if j.found.room("precommitted-read") {
			p := k.precommits[i]
			j.explain("precommitted-read", j.ops(p.txn), "%s polls %s, which it sent itself and has not committed yet.", j.op(p.txn), j.name(p.key, p.message))
		}
	}
	if err := j.order(ctx, src); err != nil {
		return Result{Checker: k.Name(), Reason: fmt.Sprintf("operations could not be looked at again: %v", err)}
	}
	r.Facts = acked + k.polled
	r.Stats = []Stat{{"messages", fmt.Sprint(messages)}, {"acknowledged", fmt.Sprint(acked)}, {"polled", fmt.Sprint(k.polled)}, {"lost", fmt.Sprint(j.lost)}, {"unseen", fmt.Sprint(j.unseen)}}
	for _, name := range sortedKeys(j.found.counts) {
		if name != "lost-write" && name != "unseen" {
			r.Stats = append(r.Stats, Stat{name, fmt.Sprint(j.found.count(name))})
		}
	}
	for _, name := range sortedKeys(j.warned) {
		r.Stats = append(r.Stats, Stat{name, fmt.Sprint(j.warned[name])})
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %d, which are allowed here", name, j.warned[name]))
	}
	r.Anomalies = j.found.anomalies(src)
	odd := ""
	if k.odd > 0 {
		odd = fmt.Sprintf("%s of operations cannot be read, such as in op %d", plural(k.odd, "part"), k.oddAt)
		if len(r.Anomalies) > 0 {
			r.Warnings = append(r.Warnings, odd)
		}
	}
	switch {
	case len(r.Anomalies) > 0:
		r.Verdict = Invalid
		r.Reason = strings.Join(sortedKeys(j.found.counts), ", ")
	case odd != "":
		r.Reason = odd
	case r.Facts == 0:
		r.Reason = "no send is ok, and nothing was polled"
	case twice > 0:
		r.Reason = plural(twice, "message") + " sent more than once to one key, so they cannot be told apart"
	default:
		r.Verdict = Valid
		r.Reason = fmt.Sprintf("%s sent, %s polled", plural(acked, "message"), plural(k.polled, "time"))
	}
	return r
}

// settle finds out which sends in doubt happened, and where their messages are.
func (j *kafkaJudge) settle() {
	j.proof = make([]int32, len(j.txns))
	for i := range j.proof {
		j.proof[i] = none
	}
	for key := range j.logs {
		for id := range j.logs[key].messages {
			if m := &j.logs[key].messages[id]; m.sender != none && m.reader != none && j.proof[m.sender] == none {
				j.proof[m.sender] = m.reader
			}
		}
	}
	for _, p := range j.pending {
		if j.happened(p.txn) {
			j.logs[p.key].place(p)
		}
	}
	j.sorted = make([][]int64, len(j.logs))
	for key := range j.logs {
		j.sorted[key] = slices.Sorted(slices.Values(j.logs[key].offsets.ints))
	}
}

// happened reports whether a transaction certainly happened.
func (j *kafkaJudge) happened(txn int32) bool {
	switch j.txns[txn].outcome {
	case history.OK:
		return true
	case history.Fail:
		return false
	}
	return j.proof[txn] != none
}

// places looks for messages at several offsets and offsets of several messages.
func (j *kafkaJudge) places(key int32) {
	log := &j.logs[key]
	for id := range log.slots {
		if s := &log.slots[id]; s.other != none && j.found.room("inconsistent-offsets") {
			j.explain("inconsistent-offsets", j.ops(s.by, s.otherBy), "Offset %d of key %s holds %s according to %s, and %s according to %s.",
				log.offsets.ints[id], j.keys.name(key), log.values.name(s.message), j.op(s.by), log.values.name(s.other), j.op(s.otherBy))
		}
	}
	for id := range log.messages {
		if m := &log.messages[id]; m.second != none && !m.sentTwice && j.found.room("duplicate") {
			first := m.low
			if first == m.anotherPlace {
				first = m.high
			}
			j.explain("duplicate", j.ops(m.placer, m.second), "%s is at several offsets, such as %d (%s) and %d (%s).",
				j.name(key, int32(id)), first, j.op(m.placer), m.anotherPlace, j.op(m.second))
		}
	}
}

// senders looks for messages that should not be there.
func (j *kafkaJudge) senders(key int32) {
	log := &j.logs[key]
	for id := range log.messages {
		switch m := &log.messages[id]; {
		case m.sender == none && m.seer != none:
			if j.found.room("unexpected") {
				j.explain("unexpected", j.ops(m.seer), "%s was polled by %s, but nobody sent it.", j.name(key, int32(id)), j.op(m.seer))
			}
		case m.sender != none && m.reader != none && j.txns[m.sender].outcome == history.Fail && !m.sentTwice:
			if j.found.room("G1a") {
				j.explain("G1a", j.ops(m.sender, m.reader), "%s was polled by %s, but its send (%s) failed.", j.name(key, int32(id)), j.op(m.reader), j.op(m.sender))
			}
		}
	}
}

// missing looks for messages that were not polled. Whoever polled a message has
// passed all that are nowhere but at lower offsets.
func (j *kafkaJudge) missing(key int32) {
	log := &j.logs[key]
	top, highest := none, unplaced
	for id := range log.messages {
		if m := &log.messages[id]; m.reader != none && m.placer != none && m.low > highest {
			top, highest = int32(id), m.low
		}
	}
	for id := range log.messages {
		m := &log.messages[id]
		if m.sender == none || m.reader != none || !j.happened(m.sender) {
			continue
		}
		if m.placer != none && m.high <= highest {
			j.lost++
			if j.found.room("lost-write") {
				read := &log.messages[top]
				j.explain("lost-write", j.ops(m.sender, m.placer, read.reader, read.placer),
					"%s was sent (%s) to offset %d and never polled, though %s polled %s at offset %d.",
					j.name(key, int32(id)), j.op(m.sender), m.high, j.op(read.reader), log.values.name(top), highest)
			}
			continue
		}
		if j.txns[m.sender].outcome != history.OK {
			continue
		}
		j.unseen++
		switch {
		case j.options.AllowUnseen:
		case j.found.room("unseen"):
			j.explain("unseen", j.ops(m.sender), "%s was sent (%s), and nobody polled it to the end of the history.", j.name(key, int32(id)), j.op(m.sender))
		}
	}
}

// order looks at the pairs of polls and sends that do not follow each other at
// once.
func (j *kafkaJudge) order(ctx context.Context, src history.Source) error {
	var inner []jump // polls that a rebalance may excuse
	names := map[jumpKind][2]string{
		pollJump: {"poll-skip", "nonmonotonic-poll"}, sendJump: {"", "nonmonotonic-send"},
		innerPoll: {"int-poll-skip", "int-nonmonotonic-poll"}, innerSend: {"int-send-skip", "int-nonmonotonic-send"},
	}
	for i, jump := range j.jumps {
		if i%CheckEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name := j.wrong(jump, names[jump.kind])
		switch {
		case name == "":
		case name == "int-send-skip", j.subscribes && jump.kind == pollJump:
			j.warned[name]++
		case jump.kind == innerPoll:
			inner = append(inner, jump)
		case j.found.room(name):
			j.explainJump(name, jump)
		}
	}
	slices.SortStableFunc(inner, func(a, b jump) int { return j.txns[a.to.txn].at - j.txns[b.to.txn].at })
	var at []int
	for _, jump := range inner {
		at = append(at, j.txns[jump.to.txn].at)
	}
	next := 0
	return eachOp(ctx, src, slices.Compact(at), func(op *history.Op) {
		log, _ := op.Lookup("rebalance-log")
		for txn := inner[next].to.txn; next < len(inner) && inner[next].to.txn == txn; next++ {
			if name := j.wrong(inner[next], names[innerPoll]); !j.rebalanced(log, inner[next].to.key) && j.found.room(name) {
				j.explainJump(name, inner[next])
			}
		}
	})
}

// rebalanced reports whether a :rebalance-log has the key.
func (j *kafkaJudge) rebalanced(log history.Value, key int32) bool {
	var tape history.Tape
	for _, event := range log.Elems() {
		keys, _ := event.Field("keys")
		for _, k := range keys.Elems() {
			if keyNumber(&j.keys, tape.Append(k)) == key {
				return true
			}
		}
	}
	return false
}

// wrong names what is wrong with a pair: a skip, an order that is not that of the
// log, or nothing.
func (j *kafkaJudge) wrong(p jump, names [2]string) string {
	from, to := j.offset(p.kind, p.from), j.offset(p.kind, p.to)
	switch {
	case from == unplaced || to == unplaced:
		return ""
	case to <= from:
		return names[1]
	case len(j.between(p.from.key, from, to)) > 0:
		return names[0]
	}
	return ""
}

// between returns the known offsets of a log between two.
func (j *kafkaJudge) between(key int32, from, to int64) []int64 {
	offsets := j.sorted[key]
	low := sort.Search(len(offsets), func(i int) bool { return offsets[i] > from })
	high := sort.Search(len(offsets), func(i int) bool { return offsets[i] >= to })
	return offsets[low:max(low, high)]
}

// offset is where a message that was polled or sent is, or unplaced if that is not
// certain.
func (j *kafkaJudge) offset(kind jumpKind, m mark) int64 {
	sent := kind == sendJump || kind == innerSend
	if m.offset != unplaced && (!sent || j.happened(m.txn)) {
		return m.offset
	}
	if at := &j.logs[m.key].messages[m.message]; at.placer != none && at.low == at.high {
		return at.low
	}
	return unplaced
}

func (j *kafkaJudge) explainJump(name string, p jump) {
	from, to := j.offset(p.kind, p.from), j.offset(p.kind, p.to)
	log := &j.logs[p.from.key]
	txns := []int32{p.from.txn, p.to.txn, log.messages[p.from.message].placer, log.messages[p.to.message].placer}
	key, did := j.keys.name(p.from.key), "polled"
	if p.kind == sendJump || p.kind == innerSend {
		did = "sent"
	}
	who := fmt.Sprintf("%s, after %s,", j.op(p.to.txn), j.op(p.from.txn))
	if p.from.txn == p.to.txn {
		who = j.op(p.to.txn)
	}
	a, b := log.values.name(p.from.message), log.values.name(p.to.message)
	if to <= from {
		j.explain(name, j.ops(txns...), "%s %s %s of key %s at offset %d, then %s at offset %d.", who, did, a, key, from, b, to)
		return
	}
	skipped := j.between(p.from.key, from, to)
	id := log.offsets.numberInt(skipped[0])
	txns = append(txns, log.slots[id].by)
	j.explain(name, j.ops(txns...), "%s %s %s of key %s at offset %d, then %s at offset %d, and passed over %s, such as %s at offset %d.",
		who, did, a, key, from, b, to, plural(len(skipped), "message"), log.values.name(log.slots[id].message), skipped[0])
}

// explain adds an anomaly; its sentence may begin with what op and name return.
func (j *kafkaJudge) explain(name string, at []int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	j.found.explain(name, at, "%s", strings.ToUpper(text[:1])+text[1:])
}

// ops returns the positions of transactions, and of what proves that those in
// doubt happened.
func (j *kafkaJudge) ops(txns ...int32) []int {
	var at []int
	for _, txn := range txns {
		if txn == none {
			continue
		}
		at = append(at, j.txns[txn].call, j.txns[txn].at)
		if proof := j.proof[txn]; proof != none && j.txns[txn].outcome != history.OK {
			at = append(at, j.txns[proof].call, j.txns[proof].at)
		}
	}
	return at
}

// op names a transaction by its completion.
func (j *kafkaJudge) op(txn int32) string {
	if t := j.txns[txn]; t.at != nowhere {
		return fmt.Sprintf("op %d", t.at)
	}
	return fmt.Sprintf("op %d", j.txns[txn].call)
}

func (j *kafkaJudge) name(key, message int32) string {
	return fmt.Sprintf("message %s of key %s", j.logs[key].values.name(message), j.keys.name(key))
}
