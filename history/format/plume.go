package format

import (
	"errors"
	"io"
	"strconv"
)

// abortedTxn is the transaction of writes that were rolled back.
const abortedTxn = -1

// readPlume reads the text that PolySI, Plume, IsoVista and AWDIT share, one read
// or write a line:
//
//	w(key,value,session,transaction)
//
// The lines of a transaction need not stand together. Transaction -1 is none: each
// of its lines is an aborted transaction of its own.
func readPlume(r io.Reader) (*sessions, error) {
	s := &sessions{zeroIsInitial: true}
	l := newLines(r)
	var events []sessionEvent
	var txnOf []int // place in s.txns, for each event
	places := make(map[int64]int)
	for {
		err := l.readSome()
		if err == io.EOF {
			break
		}
		var e plumeLine
		if err == nil {
			e, err = plumeEvent(l)
		}
		if errors.As(err, &s.found) {
			break
		}
		if err != nil {
			return nil, err
		}
		place, known := places[e.txn]
		switch {
		case e.txn == abortedTxn || !known:
			place = len(s.txns)
			s.txns = append(s.txns, sessionTxn{session: e.session, aborted: e.txn == abortedTxn})
			places[e.txn] = place
		case s.txns[place].session != e.session:
			return nil, l.fail(0, 0, "transaction %d belongs to session %d on an earlier line, to session %d here",
				e.txn, s.txns[place].session, e.session)
		}
		events = append(events, e.event)
		txnOf = append(txnOf, place)
	}
	s.arrange(events, txnOf)
	s.finish()
	return s, nil
}

// arrange puts the events of each transaction together, in their order.
func (s *sessions) arrange(events []sessionEvent, txnOf []int) {
	for _, place := range txnOf {
		s.txns[place].to++
	}
	total := 0
	for i := range s.txns {
		count := s.txns[i].to
		s.txns[i].from, s.txns[i].to = total, total
		total += count
	}
	s.events = make([]sessionEvent, total)
	for i, place := range txnOf {
		s.events[s.txns[place].to] = events[i]
		s.txns[place].to++
	}
}

type plumeLine struct {
	event        sessionEvent
	session, txn int64
}

// plumeEvent reads the line that l is at.
func plumeEvent(l *lines) (plumeLine, error) {
	const sample = "r(1,0,2,3) or w(1,5,2,3): key, value, session, transaction"
	text := l.text
	at := skipBlank(text, 0)
	var e plumeLine
	if at == len(text) || text[at] != 'r' && text[at] != 'w' {
		return e, l.fail(at, at+1, "expected a line such as %s; found %s", sample, quote(text))
	}
	if text[at] == 'w' {
		e.event.kind = writeEvent
	}
	at++
	mark := byte('(')
	for _, field := range [...]*int64{&e.event.key, &e.event.value, &e.session, &e.txn} {
		at = skipBlank(text, at)
		if at == len(text) || text[at] != mark {
			return e, l.fail(at, at+1, "expected %q in a line such as %s; found %s", mark, sample, quote(text))
		}
		at = skipBlank(text, at+1)
		n, end, ok := integer(text, at)
		if !ok {
			return e, l.fail(at, end, "expected an integer in a line such as %s; found %s", sample, quote(text))
		}
		*field, at, mark = n, end, ','
	}
	at = skipBlank(text, at)
	if at == len(text) || text[at] != ')' {
		return e, l.fail(at, at+1, "expected ')' in a line such as %s; found %s", sample, quote(text))
	}
	if end := skipBlank(text, at+1); end != len(text) {
		return e, l.fail(end, 0, "expected nothing behind ')', found %s", quote(text[end:]))
	}
	return e, nil
}

func skipBlank(text []byte, at int) int {
	for at < len(text) && isBlank(text[at]) {
		at++
	}
	return at
}

// integer reads an integer of at most 64 bits at text[at].
func integer(text []byte, at int) (n int64, end int, ok bool) {
	end = at
	if end < len(text) && text[end] == '-' {
		end++
	}
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	n, ok = plainInt(text[at:end])
	return n, end, ok
}

// plainInt reads all of text as an integer.
func plainInt(text []byte) (int64, bool) {
	const short = 18 // so many digits fit for certain
	if len(text) == 0 || len(text) > short {
		n, err := strconv.ParseInt(string(text), 10, 64)
		return n, err == nil
	}
	digits := text
	if text[0] == '-' {
		digits = text[1:]
	}
	n := int64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if text[0] == '-' {
		n = -n
	}
	return n, len(digits) > 0
}
