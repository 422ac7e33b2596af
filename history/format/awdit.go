package format

import (
	"bytes"
	"errors"
	"io"
)

// readAWDIT reads the text of AWDIT's own tests: lines "r KEY VALUE" and "w KEY
// VALUE", a line of dashes after a transaction, one of equals signs after a
// session. Transactions and sessions without a line are none. There is no initial
// state: a 0 that is read is a value like any other.
func readAWDIT(r io.Reader) (*sessions, error) {
	s := &sessions{}
	l := newLines(r)
	var txn []sessionEvent
	session, used := int64(0), false
	end := func() {
		if len(txn) > 0 {
			s.add(session, false, txn...)
			txn, used = txn[:0], true
		}
	}
	for {
		err := l.readSome()
		if err == io.EOF {
			break
		}
		if err == nil {
			switch {
			case isRule(l.text, '-'):
				end()
				continue
			case isRule(l.text, '='):
				if end(); used {
					session, used = session+1, false
				}
				continue
			}
			var e sessionEvent
			if e, err = awditEvent(l); err == nil {
				txn = append(txn, e)
				continue
			}
		}
		if errors.As(err, &s.found) {
			// The transaction under way lacks its end, and is not known.
			txn = nil
			break
		}
		return nil, err
	}
	end()
	s.finish()
	return s, nil
}

// isRule reports whether the line consists of that character.
func isRule(line []byte, c byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && bytes.Count(line, []byte{c}) == len(line)
}

// awditEvent reads the line that l is at.
func awditEvent(l *lines) (sessionEvent, error) {
	const sample = `"r 3 1" or "w 3 1": key, value`
	text := l.text
	var e sessionEvent
	at := skipBlank(text, 0)
	switch {
	case at < len(text) && text[at] == 'r':
	case at < len(text) && text[at] == 'w':
		e.kind = writeEvent
	default:
		return e, l.fail(at, at+1, "expected a line such as %s; found %s", sample, quote(text))
	}
	at++
	for _, field := range [...]*int64{&e.key, &e.value} {
		from := skipBlank(text, at)
		n, end, ok := integer(text, from)
		if !ok || from == at {
			return e, l.fail(from, end, "expected an integer in a line such as %s; found %s", sample, quote(text))
		}
		*field, at = n, end
	}
	if at = skipBlank(text, at); at != len(text) {
		return e, l.fail(at, 0, "expected a line such as %s; found %s", sample, quote(text))
	}
	return e, nil
}
