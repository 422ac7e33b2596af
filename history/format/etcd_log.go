package format

import (
	"bytes"
	"io"

	"github.com/jepgo/jepgo/history"
)

// casMiss is the operation of a compare-and-set that completed and found another
// value than the one it expected.
const casMiss = "cas-miss"

// logName marks the lines of a log that are ops.
const logName = "jepsen.util"

// etcdLog reads the log of a Jepsen of 2015, as Porcupine's tests have it: lines
// like
//
//	INFO  jepsen.util - 3	:invoke	:cas	[4 0]
//
// A cas that ended in :fail with its own value saw something else than it expected.
// That is a result: it becomes an ok op named cas-miss. What stands in the place
// of a value at the end of an op that failed or is in doubt is an error.
type etcdLog struct{ lines *lines }

func readEtcdLog(r io.Reader, _ bool) history.Reader { return &etcdLog{newLines(r)} }

// Read returns the next op.
func (l *etcdLog) Read() (history.Op, error) {
	for {
		if err := l.lines.readSome(); err != nil {
			return history.Op{}, err
		}
		text := l.lines.text
		from, isOp := logOp(text)
		if !isOp {
			if isOtherLog(text) {
				continue
			}
			return history.Op{}, l.lines.fail(0, len(text),
				`expected a line such as "INFO  jepsen.util - 3\t:invoke\t:read\tnil", found %s`, quote(text))
		}
		return l.op(from)
	}
}

// logOp returns where the op stands in a line that is one.
func logOp(line []byte) (from int, ok bool) {
	_, rest, found := bytes.Cut(line, []byte(logName))
	if !found {
		return 0, false
	}
	rest = bytes.TrimLeft(rest, " \t")
	if len(rest) < 2 || rest[0] != '-' || rest[1] != ' ' && rest[1] != '\t' {
		return 0, false
	}
	return len(line) - len(rest) + 2, true
}

// isOtherLog reports whether the line is one that another part of Jepsen logged.
func isOtherLog(line []byte) bool {
	if !bytes.Contains(line, []byte(" - ")) || bytes.Contains(line, []byte(logName)) {
		return false
	}
	for _, level := range [...]string{"TRACE ", "DEBUG ", "INFO ", "WARN ", "ERROR ", "FATAL "} {
		if bytes.Contains(line, []byte(level)) {
			return true
		}
	}
	return false
}

// op reads the op that begins at text[from].
func (l *etcdLog) op(from int) (history.Op, error) {
	op := newOp()
	at, err := l.lines.names(&op, from, isBlank)
	if err != nil {
		return op, err
	}
	value, err := l.lines.valueOf(&op, at, len(l.lines.text))
	if err != nil {
		return op, err
	}
	ended := op.Type == history.Fail || op.Type == history.Info && op.Process.IsClient()
	switch {
	case ended && value.Kind() == history.KeywordKind:
		op.Error = value
	case op.Type == history.Fail && op.F == "cas" && len(value.Elems()) == 2:
		op.Type, op.F, op.Value = history.OK, casMiss, value
	default:
		op.Value = value
	}
	return op, nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// names reads the first three fields of a line that is the print of an op, from
// text[from] on: process, type and operation. It returns where the value stands.
func (l *lines) names(op *history.Op, from int, isGap func(byte) bool) (at int, err error) {
	at = from
	for _, field := range [...]string{"process", "type", "f"} {
		for at < len(l.text) && isBlank(l.text[at]) {
			at++
		}
		end := at
		for end < len(l.text) && !isGap(l.text[end]) {
			end++
		}
		v, err := l.value(at, end)
		switch {
		case at == end:
			return at, l.fail(at, len(l.text), "line has no %s: expected process, type, f, value", field)
		case err != nil:
			return at, err
		}
		put(op, field, v)
		if field == "type" && op.Type == 0 {
			return at, l.fail(at, end, "type %s is none of :invoke, :ok, :fail, :info", quote(l.text[at:end]))
		}
		at = end
	}
	for at < len(l.text) && isBlank(l.text[at]) {
		at++
	}
	if at == len(l.text) {
		return at, l.fail(at, at, "line has no value: expected process, type, f, value")
	}
	return at, nil
}
