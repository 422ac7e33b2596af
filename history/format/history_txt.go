package format

import (
	"bytes"
	"io"

	"github.com/jepgo/jepgo/history"
)

// historyTxt reads Jepsen's history.txt: process, type, f, value, and maybe an
// error, with tabs between them.
//
// The error is printed for people: text that is no EDN is kept as a string, and
// so is such a value of an op that no client did.
type historyTxt struct{ lines *lines }

func readHistoryTxt(r io.Reader, _ bool) history.Reader { return &historyTxt{newLines(r)} }

// Read returns the next op.
func (h *historyTxt) Read() (history.Op, error) {
	l := h.lines
	if err := l.readSome(); err != nil {
		return history.Op{}, err
	}
	op := newOp()
	at, err := l.names(&op, 0, isTab)
	if err != nil {
		return op, err
	}
	end := len(l.text)
	if tab := bytes.IndexByte(l.text[at:], '\t'); tab >= 0 {
		end = at + tab
		op.Error = printed(l.text[end+1:])
	}
	op.Value, err = l.valueOf(&op, at, end)
	return op, err
}

func isTab(c byte) bool { return c == '\t' }

// printed reads what Clojure's print made of a value, which need not be EDN.
func printed(text []byte) history.Value {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return history.Value{}
	}
	v, err := history.ParseValue(string(text))
	if err != nil || v.Kind() == history.Symbol {
		return history.Text(string(text))
	}
	return v
}
