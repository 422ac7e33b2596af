package format

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jepgo/jepgo/history"
	"go.yaml.in/yaml/v3"
)

// maxYAML bounds the bytes of a dbcop history: a tree of all of it is needed, some
// twenty times its size.
const maxYAML = 64 << 20

// readDBCop reads the sessions of dbcop, in YAML or JSON: a list of sessions, or a
// map that has it as data. A session is a list of transactions with events and
// success (committed in later versions); an event has write, variable, value and
// success, or is {"Read": {variable, version}}, {"Write": …}, ["r", variable,
// version], ["w", …]. A write that did not succeed is an aborted transaction of
// its own; such a read is left out.
func readDBCop(r io.Reader) (*sessions, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxYAML+1))
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("cannot be read beyond byte %d: %w", len(text), err)
	}
	if len(text) > maxYAML {
		return nil, fmt.Errorf("takes more than %d MiB: a dbcop history must fit into memory many times over", maxYAML>>20)
	}
	d := &dbcop{text: text}
	s, failed := d.read(text)
	if failed == nil && err == nil {
		return s, nil
	}
	if err == nil && bytes.HasSuffix(text, []byte("\n")) {
		return nil, failed
	}
	// The last transaction was not written to its end.
	cut := lastTransaction(text)
	if cut < 0 {
		return nil, failed
	}
	s, again := d.read(text[:cut])
	if again != nil {
		return nil, failed
	}
	s.found = &history.CutError{Offset: int64(cut)}
	return s, nil
}

// lastTransaction returns where the line is on which the last transaction begins,
// or -1.
func lastTransaction(text []byte) int {
	at := bytes.LastIndex(text, []byte("- events:"))
	if at < 0 {
		return -1
	}
	return bytes.LastIndexByte(text[:at], '\n') + 1
}

// dbcop makes sessions of a tree of YAML.
type dbcop struct {
	text   []byte
	s      *sessions
	places map[string]int64 // in s.names
}

func (d *dbcop) read(text []byte) (*sessions, error) {
	d.s = &sessions{zeroIsInitial: true, names: []history.Value{}}
	d.places = make(map[string]int64)
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var tree yaml.Node
	if err := decoder.Decode(&tree); err == io.EOF {
		return d.s, nil
	} else if err != nil {
		return nil, d.syntax(err)
	}
	var more yaml.Node
	if err := decoder.Decode(&more); err == nil {
		return nil, d.fail(&more, "expected one document, found another")
	} else if err != io.EOF {
		return nil, d.syntax(err)
	}
	list := &tree
	if tree.Kind == yaml.DocumentNode && len(tree.Content) == 1 {
		list = tree.Content[0]
	}
	if list.Kind == yaml.MappingNode {
		if list = field(list, "data"); list == nil {
			return nil, d.fail(tree.Content[0], "map has no data, which would be the list of sessions")
		}
	}
	if isNull(list) {
		return d.s, nil
	}
	if list.Kind != yaml.SequenceNode {
		return nil, d.fail(list, "expected a list of sessions, found %s", shown(list))
	}
	for session, n := range list.Content {
		if err := d.session(int64(session), n); err != nil {
			return nil, err
		}
	}
	d.s.finish()
	return d.s, nil
}

func (d *dbcop) session(session int64, n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return d.fail(n, "expected a session, which is a list of transactions; found %s", shown(n))
	}
	for _, txn := range n.Content {
		if err := d.transaction(session, txn); err != nil {
			return err
		}
	}
	return nil
}

func (d *dbcop) transaction(session int64, n *yaml.Node) error {
	events := field(n, "events")
	if events == nil || events.Kind != yaml.SequenceNode {
		return d.fail(n, "expected a transaction, which has a list of events; found %s", shown(n))
	}
	done, err := d.flag(n, "success", "committed")
	if err != nil {
		return err
	}
	var kept []sessionEvent
	for _, n := range events.Content {
		e, success, err := d.event(n)
		switch {
		case err != nil:
			return err
		case success || !done:
			kept = append(kept, e)
		case e.writes():
			d.s.add(session, true, e)
		}
	}
	d.s.add(session, !done, kept...)
	return nil
}

// event reads one event of a transaction, in any of its forms.
func (d *dbcop) event(n *yaml.Node) (e sessionEvent, success bool, err error) {
	if n.Kind == yaml.SequenceNode && len(n.Content) == 3 {
		switch n.Content[0].Value {
		case "r":
			e, err = d.access(n, readEvent, n.Content[1], n.Content[2])
			return e, true, err
		case "w":
			e, err = d.access(n, writeEvent, n.Content[1], n.Content[2])
			return e, true, err
		}
	}
	if read := field(n, "Read"); read != nil {
		e, err = d.access(n, readEvent, field(read, "variable"), field(read, "version"))
		return e, true, err
	}
	if write := field(n, "Write"); write != nil {
		e, err = d.access(n, writeEvent, field(write, "variable"), field(write, "version"))
		return e, true, err
	}
	write, err := d.flag(n, "write")
	if err != nil {
		return e, false, err
	}
	if success, err = d.flag(n, "success"); err != nil {
		return e, false, err
	}
	kind := readEvent
	if write {
		kind = writeEvent
	}
	e, err = d.access(n, kind, field(n, "variable"), field(n, "value"))
	return e, success, err
}

// access makes the event n of its key and its value. A read may lack the value.
func (d *dbcop) access(n *yaml.Node, kind eventKind, key, value *yaml.Node) (sessionEvent, error) {
	e := sessionEvent{kind: kind}
	if key == nil || key.Kind != yaml.ScalarNode || isNull(key) {
		return e, d.fail(n, "event has no variable that is a number or a string: %s", shown(n))
	}
	e.key = d.place(key)
	if kind == readEvent && (value == nil || isNull(value)) {
		e.kind = nilRead
		return e, nil
	}
	if value == nil || value.Kind != yaml.ScalarNode || value.ShortTag() != "!!int" || value.Decode(&e.value) != nil {
		return e, d.fail(n, "event has no value that is an integer: %s", shown(n))
	}
	return e, nil
}

// place returns the place in names of a key.
func (d *dbcop) place(key *yaml.Node) int64 {
	id := key.ShortTag() + key.Value
	place, known := d.places[id]
	if !known {
		name := history.Text(key.Value)
		var n int64
		if key.ShortTag() == "!!int" && key.Decode(&n) == nil {
			name = history.Int(n)
		}
		place = int64(len(d.s.names))
		d.places[id] = place
		d.s.names = append(d.s.names, name)
	}
	return place
}

// flag reads the first of those fields of n that it has.
func (d *dbcop) flag(n *yaml.Node, names ...string) (bool, error) {
	for _, name := range names {
		v := field(n, name)
		if v == nil {
			continue
		}
		var is bool
		if v.Kind != yaml.ScalarNode || v.ShortTag() != "!!bool" || v.Decode(&is) != nil {
			return false, d.fail(v, "%s is neither true nor false: %s", name, shown(v))
		}
		return is, nil
	}
	return false, d.fail(n, "expected a map that has %s, found %s", strings.Join(names, " or "), shown(n))
}

// field returns the value of a map under that name, or nil.
func field(n *yaml.Node, name string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// shown says what n is, for a message.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		var keys []string
		for i := 0; i+1 < len(n.Content) && len(keys) < 5; i += 2 {
			keys = append(keys, string(quote([]byte(n.Content[i].Value))))
		}
		return "a map of " + strings.Join(keys, ", ")
	case yaml.SequenceNode:
		return fmt.Sprintf("a list of %d", len(n.Content))
	case yaml.AliasNode:
		return "an alias, which a history has no use for"
	}
	return quote([]byte(n.Value))
}

// fail makes the error of a node.
func (d *dbcop) fail(n *yaml.Node, format string, args ...any) error {
	return d.at(max(n.Line, 1), max(n.Column, 1), fmt.Sprintf(format, args...))
}

// syntax makes the error of what is no YAML.
func (d *dbcop) syntax(err error) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if found := regexp.MustCompile(`^line (\d+): `).FindStringSubmatch(message); found != nil {
		line, _ = strconv.Atoi(found[1])
		message = message[len(found[0]):]
	}
	return d.at(max(line, 1), 1, message+": this is no YAML, here or a little further on")
}

// at makes the error of a place in the text; the column counts characters.
func (d *dbcop) at(line, column int, message string) error {
	offset := 0
	for range line - 1 {
		end := bytes.IndexByte(d.text[offset:], '\n')
		if end < 0 {
			break
		}
		offset += end + 1
	}
	for i := 1; i < column && offset < len(d.text); i++ {
		_, size := utf8.DecodeRune(d.text[offset:])
		offset += size
	}
	return &history.SyntaxError{Offset: int64(offset), Line: line, Column: column, Message: message}
}
