package gen

import (
	"strconv"
	"strings"
)

// script is an anomaly, written out: the ops of a few processes of their own on
// keys of their own.
type script struct {
	name  string
	lines []scriptLine
}

type scriptLine struct {
	process int
	kind    string
	f       string
	value   string // EDN; x, y and z stand for the script's keys
}

// expand puts the script's keys into a value.
func expand(value string, key int) string {
	return strings.NewReplacer("x", strconv.Itoa(key), "y", strconv.Itoa(key+1), "z", strconv.Itoa(key+2)).Replace(value)
}

// txns writes a script of transactions: each text is a process number, how it
// ends (ok, fail, info) and its value, or ";" for a point that all transactions
// before it end before. Between those points all are concurrent.
func txns(name string, texts ...string) script {
	s := script{name: name}
	var open []scriptLine
	end := func() {
		s.lines = append(s.lines, open...)
		open = nil
	}
	for _, text := range texts {
		if text == ";" {
			end()
			continue
		}
		fields := strings.SplitN(text, " ", 3)
		process, _ := strconv.Atoi(fields[0])
		l := scriptLine{process: process, kind: fields[1], f: "txn", value: fields[2]}
		start := l
		start.kind, start.value = "invoke", unread(l.value)
		s.lines = append(s.lines, start)
		open = append(open, l)
	}
	end()
	return s
}

// unread takes the results out of the reads of a transaction.
func unread(value string) string {
	var out strings.Builder
	rest := value
	for {
		at := strings.Index(rest, "[:r ")
		if at < 0 {
			out.WriteString(rest)
			return out.String()
		}
		key := at + len("[:r ")
		space := key + strings.IndexByte(rest[key:], ' ')
		out.WriteString(rest[:space])
		out.WriteString(" nil]")
		// The read ends with the bracket that closes it.
		depth, end := 1, space
		for depth > 0 {
			switch rest[end] {
			case '[':
				depth++
			case ']':
				depth--
			}
			end++
		}
		rest = rest[end:]
	}
}

// appendScripts are the anomalies of list-append.
func appendScripts() []script {
	return []script{
		txns("G0", "0 ok [[:append x 1] [:append y 1]]", "1 ok [[:append x 2] [:append y 2]]", "2 ok [[:r x [1 2]]]", "3 ok [[:r y [2 1]]]"),
		txns("G1a", "0 fail [[:append x 1]]", "1 ok [[:r x [1]]]"),
		txns("G1b", "0 ok [[:append x 1] [:append x 2]]", "1 ok [[:r x [1]]]"),
		txns("G1c", "0 ok [[:append x 1] [:r y [1]]]", "1 ok [[:append y 1] [:r x [1]]]"),
		txns("G-single", "0 ok [[:append x 1] [:append y 1]]", "1 ok [[:r x nil] [:r y [1]]]", "2 ok [[:r x [1]]]"),
		txns("G-nonadjacent", "0 ok [[:append x 1]]", "1 ok [[:append y 1]]", "2 ok [[:r x [1]] [:r y nil]]", "3 ok [[:r x nil] [:r y [1]]]"),
		txns("G2-item", "0 ok [[:r x nil] [:append y 1]]", "1 ok [[:r y nil] [:append x 1]]"),
		txns("lost-update", "0 ok [[:r x nil] [:append x 1]]", "1 ok [[:r x nil] [:append x 2]]", "2 ok [[:r x [1 2]]]"),
		txns("internal", "0 ok [[:append x 1] [:r x [2]]]", "1 ok [[:append x 2]]"),
		txns("future-read", "0 ok [[:r x [1]] [:append x 1]]"),
		txns("incompatible-order", "0 ok [[:append x 1]]", "1 ok [[:append x 2]]", "2 ok [[:r x [1 2]]]", "3 ok [[:r x [2 1]]]"),
		txns("duplicate-elements", "0 ok [[:append x 1]]", "1 ok [[:r x [1 1]]]"),
		txns("dirty-update", "0 fail [[:append x 1]]", "1 ok [[:append x 2]]", "2 ok [[:r x [1 2]]]"),
		txns("G-single-process", "0 ok [[:append x 1]]", ";", "0 ok [[:r x nil]]", ";", "1 ok [[:r x [1]]]"),
		txns("G-single-realtime", "0 ok [[:append x 1]]", ";", "1 ok [[:r x nil]]", ";", "2 ok [[:r x [1]]]"),
	}
}

// registerScripts are those of rw-register that need no assumption about the
// order of versions.
func registerScripts() []script {
	return []script{
		txns("G1a", "0 fail [[:w x 1]]", "1 ok [[:r x 1]]"),
		txns("G1b", "0 ok [[:w x 1] [:w x 2]]", "1 ok [[:r x 1]]"),
		txns("G1c", "0 ok [[:w x 1] [:r y 1]]", "1 ok [[:w y 1] [:r x 1]]"),
		txns("G-single", "0 ok [[:w x 1] [:w y 1]]", "1 ok [[:r x nil] [:r y 1]]"),
		txns("G-nonadjacent", "0 ok [[:w x 1]]", "1 ok [[:w y 1]]", "2 ok [[:r x 1] [:r y nil]]", "3 ok [[:r x nil] [:r y 1]]"),
		txns("G2-item", "0 ok [[:r x nil] [:w y 1]]", "1 ok [[:r y nil] [:w x 1]]"),
		txns("lost-update", "0 ok [[:r x nil] [:w x 1]]", "1 ok [[:r x nil] [:w x 2]]"),
		txns("internal", "0 ok [[:w x 1] [:r x 2]]", "1 ok [[:w x 2]]"),
		txns("G-single-realtime", "0 ok [[:w x 1]]", ";", "1 ok [[:r x nil]]"),
	}
}
