package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/jepgo/jepgo/history"
)

// alarms are pieces of lines that a healthy node never logs, by what they mean.
// The first that fits counts.
var alarms = []struct{ kind, text string }{
	{"data-race", "WARNING: DATA RACE"},
	{"bad-block", "BAD BLOCK"},
	{"bad-block", "invalid merkle root"},
	{"consensus-failure", "CONSENSUS FAILURE"},
	{"panic", "panic:"},
	{"panic", "fatal error:"},
	{"panic", "unexpected fault address"},
	{"panic", "thread 'main' panicked"},
	{"panic", "java.lang.OutOfMemoryError"},
}

const (
	logInterval = 500 * time.Millisecond
	longestLine = 1 << 10 // bytes of a line that are looked at and kept
	mostLines   = 50      // of one node; a node that panics in a circle would fill the history
)

// nodeLog follows the log file of one node, which outlives its processes.
type nodeLog struct {
	node, path, name string
	offset           int64
	line             int    // number of the last whole line
	rest             []byte // the beginning of a line
	found            int
}

// watchLogs records, as :line ops, what alarms the logs of the nodes have, until
// ctx ends and once more then, and as :watched ops how many lines it has read. A
// file that is not there yet is looked for again.
func (t *test) watchLogs(ctx context.Context) {
	var logs []*nodeLog
	for _, n := range t.net.Nodes() {
		if n.Log != "" {
			logs = append(logs, &nodeLog{node: n.Name, path: n.Log, name: filepath.Join(n.Name, filepath.Base(n.Log))})
		}
	}
	tick := time.NewTicker(logInterval)
	defer tick.Stop()
	for done := false; !done; {
		select {
		case <-ctx.Done():
			done = true
		case <-tick.C:
		}
		for _, l := range logs {
			if err := l.follow(t.alarm); err != nil {
				t.log.Warn("node's log cannot be followed any more", "node", l.node, "log", l.path, "err", err)
				l.found = mostLines
			}
		}
	}
	// Without this nobody knows whether silence is that of the nodes or ours.
	for _, l := range logs {
		if t.journal.note("watched", history.MapOf(
			history.Keyword("node"), history.Text(l.node),
			history.Keyword("log"), history.Text(l.name),
			history.Keyword("lines"), history.Int(int64(l.line)))) != nil {
			return
		}
	}
}

func (t *test) alarm(value history.Value) error { return t.journal.note("line", value) }

// follow reads what was added to the file and gives each alarm to found.
func (l *nodeLog) follow(found func(history.Value) error) error {
	if l.found >= mostLines {
		return nil
	}
	f, err := os.Open(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || fi.Size() < l.offset {
		l.offset, l.line, l.rest = 0, 0, nil // begun anew
	}
	buffer := make([]byte, 1<<16)
	for l.found < mostLines {
		n, err := f.ReadAt(buffer, l.offset)
		l.offset += int64(n)
		if e := l.take(buffer[:n], found); e != nil {
			return e
		}
		if err == io.EOF || n == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// take looks at the whole lines in text and keeps the beginning of the last one.
func (l *nodeLog) take(text []byte, found func(history.Value) error) error {
	for len(text) > 0 {
		line, after, whole := bytes.Cut(text, []byte{'\n'})
		if free := longestLine - len(l.rest); len(line) > free {
			line = line[:free]
		}
		l.rest = append(l.rest, line...)
		if !whole {
			return nil
		}
		l.line++
		if kind := alarmOf(l.rest); kind != "" && l.found < mostLines {
			l.found++
			err := found(history.MapOf(
				history.Keyword("node"), history.Text(l.node),
				history.Keyword("kind"), history.Keyword(kind),
				history.Keyword("text"), history.Text(string(bytes.ToValidUTF8(bytes.TrimRight(l.rest, "\r"), []byte("?")))),
				history.Keyword("log"), history.Text(fmt.Sprintf("%s:%d", l.name, l.line))))
			if err != nil {
				return err
			}
		}
		l.rest, text = l.rest[:0], after
	}
	return nil
}

func alarmOf(line []byte) string {
	for _, a := range alarms {
		if bytes.Contains(line, []byte(a.text)) {
			return a.kind
		}
	}
	return ""
}
