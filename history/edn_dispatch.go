package history

import (
	"math"
	"strings"
)

// dispatch reads what stands behind a #.
func (f *forms) dispatch(depth int) error {
	c, ok := f.peek()
	if !ok {
		return f.ended()
	}
	switch c {
	case '_':
		f.pos++
		return f.discard(depth + 1)
	case '!':
		f.comment()
		return nil
	case '^':
		return f.form(c, depth)
	case '{':
		return f.collection(Set, '}', depth)
	case '"':
		f.pos++
		return f.pattern()
	case '#':
		return f.symbolic()
	case ':':
		return f.namespaced(depth)
	case '<':
		f.pos++
		return f.unreadable()
	case '\'':
		// A var: what matters is its name.
		f.pos++
		c, ok := f.peek()
		if !ok {
			return f.ended()
		}
		return f.form(c, depth+1)
	}
	tag, err := f.tag()
	if err != nil {
		return err
	}
	if err := f.one(depth + 1); err != nil {
		return err
	}
	list := f.keepAll(f.stack[len(f.stack)-1:])
	f.stack[len(f.stack)-1] = Value{kind: Tagged, str: tag, list: list}
	return nil
}

// tag reads the name behind a #.
func (f *forms) tag() (string, error) {
	token, ok := f.token()
	if !ok {
		return "", f.ended()
	}
	if !isTag(string(token)) {
		return "", f.fail(f.start, "tag %s cannot be read", quote(append([]byte{'#'}, token...)))
	}
	return f.keep(token), nil
}

// pattern reads a regular expression, which EDN lacks but Clojure prints, as the
// string of its source.
func (f *forms) pattern() error {
	text, _, ok := f.quoted()
	if !ok {
		return f.ended()
	}
	f.push(Value{kind: String, str: f.keep(text)})
	return nil
}

// unreadableTag is the tag of what Clojure before 1.7 prints as #<Foo bar>, with
// the text between the marks as its form.
const unreadableTag = "unreadable"

// unreadable reads the rest of #<Foo bar>. Its text follows no rule: a < that
// begins a word is taken to be closed by a > that ends one.
func (f *forms) unreadable() error {
	f.start = f.pos
	open := 1
	for {
		c, ok := f.peek()
		if !ok {
			return f.ended()
		}
		f.pos++
		switch next, _ := f.peek(); {
		case c == '<' && next != '>' && !isDelimiter(next):
			open++
		case c == '>' && (next == '>' || isDelimiter(next)):
			open--
		}
		if open == 0 {
			text := f.keep(f.buf[f.start : f.pos-1])
			f.push(Value{kind: Tagged, str: unreadableTag, list: f.keepAll([]Value{Text(text)})})
			return nil
		}
		if f.pos-f.start > maxUnreadable {
			return f.fail(f.start, "object that starts with %s has no end", quote(f.buf[f.start:f.pos]))
		}
	}
}

// symbolic reads ##NaN and its like.
func (f *forms) symbolic() error {
	token, ok := f.token()
	if !ok {
		return f.ended()
	}
	switch string(token) {
	case "#NaN":
		f.push(FloatOf(math.NaN()))
	case "#Inf":
		f.push(FloatOf(math.Inf(1)))
	case "#-Inf":
		f.push(FloatOf(math.Inf(-1)))
	default:
		return f.fail(f.start, "number %s is none of ##NaN, ##Inf, ##-Inf", quote(append([]byte{'#'}, token...)))
	}
	return nil
}

// namespaced reads a map like #:ns{:a 1}, which means {:ns/a 1}.
func (f *forms) namespaced(depth int) error {
	space, err := f.namespace()
	if err != nil {
		return err
	}
	if err := f.collection(Map, '}', depth); err != nil {
		return err
	}
	list := f.stack[len(f.stack)-1].list
	for i := 0; i < len(list); i += 2 {
		if k := &list[i]; k.kind == KeywordKind || k.kind == Symbol {
			k.str = qualify(space, k.str)
		}
	}
	return nil
}

// namespace reads the :ns of a namespaced map and stops at its brace.
func (f *forms) namespace() (string, error) {
	space, err := f.keyword()
	if err != nil {
		return "", err
	}
	c, ok := f.skip()
	if !ok {
		return "", f.ended()
	}
	if c != '{' {
		return "", f.fail(f.pos, "namespace #:%s is followed by %q, not by a map", space, c)
	}
	return space, nil
}

// qualify puts a name into a namespace unless it says where it belongs; _ stands
// for none.
func qualify(space, name string) string {
	if rest, found := strings.CutPrefix(name, "_/"); found && rest != "" {
		return rest
	}
	if len(name) > 1 && strings.IndexByte(name, '/') >= 0 {
		return name
	}
	return space + "/" + name
}
