package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// place is where something is in a file.
type place struct{ line, column int }

// decoder reads YAML strictly: no field that is not known, none twice, nothing of
// another type than expected. It goes on after an error, to tell of all.
type decoder struct {
	path string
	errs []error
}

const (
	maxDepth  = 20      // aliases may make a tree without an end
	maxErrors = 20      // more do not help
	maxFile   = 1 << 20 // bytes
)

func (d *decoder) err() error { return errors.Join(d.errs...) }

func (d *decoder) fail(at place, format string, args ...any) {
	if len(d.errs) < maxErrors {
		d.errs = append(d.errs, fmt.Errorf("%s:%d:%d: %s", d.path, at.line, at.column, fmt.Sprintf(format, args...)))
	}
}

func at(n *yaml.Node) place { return place{n.Line, n.Column} }

// file decodes the one document of a file into a pointer to a struct.
func (d *decoder) file(b []byte, into any) {
	if len(b) > maxFile {
		d.fail(place{1, 1}, "file of %d bytes: expected at most %d", len(b), maxFile)
		return
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		d.fail(place{1, 1}, "file is empty: expected a devnet")
		return
	case err != nil:
		d.syntax(err)
		return
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		if err != nil {
			d.syntax(err)
			return
		}
		d.fail(at(&more), "second document: expected one")
	}
	d.value(doc.Content[0], reflect.ValueOf(into).Elem(), "file", 0)
}

// syntax tells of what is no YAML; the library knows the line only, in its text.
func (d *decoder) syntax(err error) {
	text, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, what, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				line, text = n, what
			}
		}
	}
	d.fail(place{line, 1}, "no YAML: %s", text)
}

// custom decodes itself.
type custom interface {
	decode(d *decoder, n *yaml.Node, name string)
}

func (d *decoder) value(n *yaml.Node, v reflect.Value, name string, depth int) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if depth > maxDepth {
		d.fail(at(n), "%s: nested too deep", name)
		return
	}
	if c, ok := v.Addr().Interface().(custom); ok {
		c.decode(d, n, name)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.fields(n, v, name, depth)
	case reflect.Map:
		d.entries(n, v, name, depth)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			d.wrong(n, name, "a list")
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
		for i, one := range n.Content {
			d.value(one, v.Index(i), fmt.Sprintf("%s[%d]", name, i), depth+1)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem(), name, depth+1)
	default:
		d.scalar(n, v, name)
	}
}

func (d *decoder) fields(n *yaml.Node, v reflect.Value, name string, depth int) {
	fields := make(map[string]reflect.Value)
	var known []string
	for i := range v.NumField() {
		if tag := v.Type().Field(i).Tag.Get("yaml"); tag != "" {
			fields[tag], known = v.Field(i), append(known, tag)
		}
	}
	d.pairs(n, name, func(key, value *yaml.Node) {
		field, ok := fields[key.Value]
		if !ok {
			d.fail(at(key), "%s: field %q is unknown, expected one of %s", name, key.Value, strings.Join(known, ", "))
			return
		}
		d.value(value, field, under(name, key.Value), depth+1)
	})
}

func (d *decoder) entries(n *yaml.Node, v reflect.Value, name string, depth int) {
	v.Set(reflect.MakeMap(v.Type()))
	d.pairs(n, name, func(key, value *yaml.Node) {
		one := reflect.New(v.Type().Elem()).Elem()
		d.value(value, one, under(name, key.Value), depth+1)
		v.SetMapIndex(reflect.ValueOf(key.Value), one)
	})
}

// pairs goes through a mapping whose keys must be different strings.
func (d *decoder) pairs(n *yaml.Node, name string, each func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.wrong(n, name, "fields")
		return
	}
	var seen []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode:
			d.wrong(key, name, "a name")
		case slices.Contains(seen, key.Value):
			d.fail(at(key), "%s: field %q: given twice", name, key.Value)
		default:
			seen = append(seen, key.Value)
			each(key, value)
		}
	}
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, name string) {
	want := "text"
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		want = "a duration such as 500ms or 2m"
	case v.Kind() == reflect.Bool:
		want = "true or false"
	case v.CanInt(), v.CanUint():
		want = "a whole number"
	}
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.wrong(n, name, want)
		return
	}
	var err error
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		var t time.Duration
		if t, err = time.ParseDuration(n.Value); err == nil {
			v.SetInt(int64(t))
		}
	case v.Kind() == reflect.Bool:
		if n.Value != "true" && n.Value != "false" {
			err = errors.New("no")
		}
		v.SetBool(n.Value == "true")
	case v.CanInt():
		var i int64
		if i, err = strconv.ParseInt(n.Value, 10, v.Type().Bits()); err == nil {
			v.SetInt(i)
		}
	case v.CanUint():
		var u uint64
		if u, err = strconv.ParseUint(n.Value, 10, v.Type().Bits()); err == nil {
			v.SetUint(u)
		}
	default:
		v.SetString(n.Value)
	}
	if err != nil {
		d.wrong(n, name, want)
	}
}

// wrong tells what is there and what would be right.
func (d *decoder) wrong(n *yaml.Node, name, want string) {
	is := strconv.Quote(n.Value)
	switch {
	case n.Kind == yaml.MappingNode:
		is = "fields"
	case n.Kind == yaml.SequenceNode:
		is = "a list"
	case n.Tag == "!!null":
		is = "nothing"
	}
	d.fail(at(n), "%s: %s, expected %s", name, is, want)
}

// fieldNames lists every field that a file can have.
func fieldNames() []string {
	var names []string
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		for i := range t.NumField() {
			f := t.Field(i)
			if tag := f.Tag.Get("yaml"); tag != "" {
				names = append(names, tag)
				if f.Type == reflect.TypeFor[spec]() || f.Type == reflect.TypeFor[ready]() {
					walk(f.Type)
				}
			}
		}
	}
	walk(reflect.TypeFor[File]())
	return names
}

func under(name, field string) string {
	if name == "file" {
		return field
	}
	return name + "." + field
}

// port is a number, or free to be drawn.
type port struct {
	number int
	free   bool
}

func (p *port) decode(d *decoder, n *yaml.Node, name string) {
	number, err := strconv.Atoi(n.Value)
	switch {
	case n.Kind == yaml.ScalarNode && n.Value == "free":
		p.free = true
	case n.Kind == yaml.ScalarNode && err == nil && number > 0 && number < 1<<16:
		p.number = number
	default:
		d.wrong(n, name, "a port from 1 to 65535, or free")
	}
}

// list is the nodes: a number of them, all as the template says, or one by one.
type list struct {
	at     place
	count  int
	specs  []spec
	places []place
}

func (l *list) decode(d *decoder, n *yaml.Node, name string) {
	l.at = at(n)
	if n.Kind == yaml.SequenceNode && len(n.Content) > 0 {
		l.specs = make([]spec, len(n.Content))
		for i, one := range n.Content {
			l.places = append(l.places, at(one))
			d.value(one, reflect.ValueOf(&l.specs[i]).Elem(), fmt.Sprintf("%s[%d]", name, i), 1)
		}
		return
	}
	count, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || count < 1 {
		d.wrong(n, name, "a number of nodes, or a list with one entry for each")
		return
	}
	l.count = count
}
