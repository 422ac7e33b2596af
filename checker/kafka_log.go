package checker

import "github.com/jepgo/jepgo/history"

// partition is one log.
type partition struct {
	values   interner
	messages []message // by value
	offsets  interner
	slots    []slot // by number of the offset
}

// message is what is known of one message. Transactions are none where there is
// none.
type message struct {
	sender       int32
	reader       int32 // the first ok one that polled it
	seer         int32 // the first one that polled it
	placer       int32 // the first one that says where it is
	second       int32 // the first one that says that it is elsewhere
	low, high    int64 // offsets
	sentTwice    bool
	anotherPlace int64
}

// slot is an offset, with the first two messages that are there and who says so.
type slot struct{ message, by, other, otherBy int32 }

// entry says that a message is at an offset.
type entry struct {
	key, message, txn int32
	offset            int64
}

// message returns the number of a message.
func (p *partition) message(v history.View) int32 {
	id := p.values.number(v)
	if int(id) == len(p.messages) {
		p.messages = append(p.messages, message{sender: none, reader: none, seer: none, placer: none, second: none})
	}
	return id
}

// place puts a message at an offset.
func (p *partition) place(at entry) {
	id := p.offsets.numberInt(at.offset)
	if int(id) == len(p.slots) {
		p.slots = append(p.slots, slot{at.message, at.txn, none, none})
	} else if s := &p.slots[id]; s.message != at.message && s.other == none {
		s.other, s.otherBy = at.message, at.txn
	}
	m := &p.messages[at.message]
	if m.placer == none {
		m.placer, m.low, m.high = at.txn, at.offset, at.offset
		return
	}
	if m.second == none && at.offset != m.low {
		m.second, m.anotherPlace = at.txn, at.offset
	}
	m.low, m.high = min(m.low, at.offset), max(m.high, at.offset)
}
