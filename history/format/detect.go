package format

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/history"
)

// detect returns the name of the format of a text by its start, of which it says
// what it saw where it cannot tell. An empty text is EDN's empty history.
func detect(text []byte, whole bool) (string, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if whole && len(bytes.TrimSpace(text)) == 0 {
		return "edn", nil
	}
	var names []string
	for _, k := range kinds() {
		if k.looks(text) {
			names = append(names, k.name)
		}
	}
	switch len(names) {
	case 1:
		return names[0], nil
	case 0:
		return "", fmt.Errorf("%w: it starts with %s%s; say with --format which of %s it is", ErrUnknown,
			start(text), hint(text), list(Names()))
	}
	return "", fmt.Errorf("format could be %s: it starts with %s; say with --format which it is", list(names), start(text))
}

// start quotes the first line.
func start(text []byte) string { return quote(bytes.TrimRight(firstLine(text), "\r")) }

// hint says more of some files that people may take for histories.
func hint(text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte("JEPSEN")):
		return ", as Jepsen's own test.jepsen does: give the history.edn beside it"
	case bytes.IndexByte(text, 0) >= 0:
		return ", and is no text"
	case looksObject(text):
		return fmt.Sprintf(`, whose first object has the keys %s and no "type" of an op`, list(objectKeys(text)))
	}
	return ""
}

func list(names []string) string { return strings.Join(names, ", ") }

// firstLine returns the first line that is not blank.
func firstLine(text []byte) []byte {
	text = bytes.TrimLeft(text, " \t\r\n")
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
}

// significant returns text from its first byte that EDN takes neither for white
// space nor for a comment.
func significant(text []byte) []byte {
	for {
		text = bytes.TrimLeft(text, " \t\r\n,\v\f")
		if len(text) == 0 || text[0] != ';' {
			return text
		}
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
}

func looksEDN(text []byte) bool {
	text = significant(text)
	if len(text) == 0 {
		return true // nothing but comments
	}
	switch text[0] {
	case '(', '^':
		return true
	case '#': // of a record, a comment of scripts, a discarded form; not of a heading
		return len(text) > 1 && bytes.IndexByte([]byte(" \t\r\n#"), text[1]) < 0
	case '{', '[':
		return !looksObject(text) && !looksDBCop(text) && !isKVLog(firstLine(text))
	}
	return false
}

// startsEDNMap reports whether text starts with a map whose first key is a keyword:
// what no other format does but a log of a store of strings, which its first line
// tells.
func startsEDNMap(text []byte) bool {
	rest := bytes.TrimLeft(text, " \t\r\n")
	if len(rest) == 0 || rest[0] != '{' {
		return false
	}
	rest = bytes.TrimLeft(rest[1:], " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

func looksKVLog(text []byte) bool { return isKVLog(firstLine(text)) }

// looksObject reports whether text starts with a JSON object, or an array of them.
func looksObject(text []byte) bool {
	rest := bytes.TrimLeft(text, " \t\r\n")
	if len(rest) > 0 && rest[0] == '[' {
		rest = bytes.TrimLeft(rest[1:], " \t\r\n")
	}
	if len(rest) == 0 || rest[0] != '{' {
		return false
	}
	rest = bytes.TrimLeft(rest[1:], " \t\r\n")
	if len(rest) == 0 || rest[0] != '"' {
		return false
	}
	end := bytes.IndexByte(rest[1:], '"')
	if end < 0 {
		return false
	}
	rest = rest[end+2:]
	after := bytes.TrimLeft(rest, " \t\r\n")
	if len(after) == 0 || after[0] != ':' {
		return false
	}
	// In EDN a string may be a key, and a keyword its value: {"type" :ok}.
	return len(after) == len(rest) || len(after) == 1 || bytes.IndexByte([]byte(" \t\r\n\"[{-0123456789"), after[1]) >= 0
}

// firstObject reads the first JSON object of text as far as it goes, and returns
// its keys and values.
func firstObject(text []byte) []history.Value {
	p := jsonValues{buf: text}
	if c, ok := p.skip(); ok && c == '[' {
		p.pos++
	}
	if c, ok := p.skip(); !ok || c != '{' {
		return nil
	}
	p.pos++
	for first := true; ; first = false {
		key, more, err := p.member(first)
		if err != nil || !more {
			return p.stack
		}
		height := len(p.stack)
		p.push(history.Text(string(key)))
		if err := p.value(1, false); err != nil {
			p.stack = p.stack[:height+1]
			if errors.Is(err, errMore) {
				p.push(history.Value{})
			}
			return p.stack
		}
	}
}

func objectKeys(text []byte) []string {
	var keys []string
	kvs := firstObject(text)
	for i := 0; i < len(kvs) && len(keys) < 8; i += 2 {
		keys = append(keys, fmt.Sprintf("%q", kvs[i].Text()))
	}
	return keys
}

// objectType returns what the first JSON object has as its type, and whether it
// has what an op has.
func objectType(text []byte) (typ string, isOp bool) {
	if !looksObject(text) {
		return "", false
	}
	kvs := firstObject(text)
	has := make(map[string]bool)
	for i := 0; i+1 < len(kvs); i += 2 {
		key := kvs[i].Text()
		has[key] = true
		if key == "type" {
			typ = kvs[i+1].Text()
		}
	}
	_, known := history.ParseType(strings.ToLower(typ))
	return typ, known || !has["type"] && (has["process"] || has["f"]) && has["value"]
}

func looksJSON(text []byte) bool {
	typ, isOp := objectType(text)
	return isOp && (typ == "" || typ != strings.ToUpper(typ))
}

func looksJava(text []byte) bool {
	typ, isOp := objectType(text)
	return isOp && typ != "" && typ == strings.ToUpper(typ)
}

func looksHistoryTxt(text []byte) bool {
	fields := bytes.Split(firstLine(text), []byte("\t"))
	if len(fields) < 4 {
		return false
	}
	_, isClient := plainInt(fields[0])
	return (isClient || fields[0][0] == ':') && slices.Contains([]string{":invoke", ":ok", ":fail", ":info"}, string(fields[1]))
}

func looksEtcdLog(text []byte) bool {
	for line := range bytes.Lines(text) {
		if from, ok := logOp(line); ok {
			l := lines{text: line, whole: true}
			op := newOp()
			_, err := l.names(&op, from, isBlank)
			return err == nil
		}
		if len(bytes.TrimSpace(line)) > 0 && !isOtherLog(line) {
			return false
		}
	}
	return false
}

func looksPlume(text []byte) bool {
	l := lines{text: firstLine(text), whole: true}
	l.text = bytes.TrimRight(l.text, "\r")
	_, err := plumeEvent(&l)
	return err == nil
}

func looksAWDIT(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || isRule(line, '-') || isRule(line, '=') {
			continue
		}
		l := lines{text: line, whole: true}
		_, err := awditEvent(&l)
		return err == nil
	}
	return false
}

// looksDBCop reports whether text starts with lists in which there are transactions,
// or has such under data.
func looksDBCop(text []byte) bool {
	if startsEDNMap(text) || !bytes.Contains(text, []byte("events")) {
		return false
	}
	const (
		inJSON = `(?s)^\s*(\{.*?"data"\s*:\s*)?\[\s*\[\s*\{\s*"(events|success|committed)"\s*:`
		inYAML = `(?s)^\s*(---\s)?\s*(\w.*?\bdata:\s*)?-\s+-\s+(events|success|committed):`
	)
	return regexp.MustCompile(inJSON).Match(text) || regexp.MustCompile(inYAML).Match(text)
}
