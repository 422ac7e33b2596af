package format

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/jepgo/jepgo/history"
)

// Auto is the name that lets Open find the format out.
const Auto = "auto"

// kind is one format.
type kind struct {
	name   string
	traits Traits
	// looks reports whether a text that starts so is of this format.
	looks func(start []byte) bool
	// Either the ops are read one by one, each valid until the next one unless keep
	// is set, or all sessions at once.
	ops      func(r io.Reader, keep bool) history.Reader
	sessions func(r io.Reader) (*sessions, error)
}

// kinds is the registry of all formats, in the order in which a user sees them.
func kinds() []kind {
	sessions := Traits{Model: "rw-register", NoRealtime: true}
	return []kind{
		{name: "edn", looks: looksEDN, ops: readEDN},
		{name: "json", looks: looksJSON, ops: readJSON},
		{name: "jsonl", looks: looksJava, ops: readJava, traits: Traits{Model: "register"}},
		{name: "history-txt", looks: looksHistoryTxt, ops: readHistoryTxt},
		{name: "etcd-log", looks: looksEtcdLog, ops: readEtcdLog, traits: Traits{Model: "cas-register", NilAbsent: true}},
		{name: "kv-log", looks: looksKVLog, ops: readKVLog, traits: Traits{Model: "kv", Keyed: true}},
		{name: "plume", looks: looksPlume, sessions: readPlume, traits: sessions},
		{name: "awdit", looks: looksAWDIT, sessions: readAWDIT, traits: sessions},
		{name: "dbcop", looks: looksDBCop, sessions: readDBCop, traits: sessions},
	}
}

// Names returns the names of all formats, in the order in which they are listed
// to a user.
func Names() []string {
	var names []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	return names
}

// Open opens the history in the file of that path, "-" for standard input; it may
// be compressed with gzip or zstd. name is one of Names, or Auto: then what the
// file holds decides, and that it cannot be told is an error. What comes through a
// pipe is read to its end and kept in a temporary file until Close.
//
// A history of sessions is read by Open, any other one when it is asked for: then
// it takes no memory that grows with it, but for what Scan says of EDN.
func Open(path, name string) (*File, error) {
	return open(path, name, os.Stdin)
}

func open(path, name string, stdin io.Reader) (*File, error) {
	if name == "" {
		name = Auto
	}
	if _, known := find(name); !known && name != Auto {
		return nil, fmt.Errorf("format %q is not known: expected %s or %s", name, Auto, list(Names()))
	}
	in, err := newInput(path, stdin)
	if err != nil {
		return nil, err
	}
	f, err := fileOf(in, name)
	if err != nil {
		return nil, errors.Join(err, in.close())
	}
	return f, nil
}

// fileOf opens the history that in gives.
func fileOf(in *input, name string) (*File, error) {
	if name == Auto || name == "jsonl" {
		start, whole, err := in.sample()
		switch {
		case err != nil:
			return nil, err
		case looksJSON(start):
			name = "json" // what is not in capitals is not jepsen-in-java's
		case name == Auto:
			if name, err = detect(start, whole); err != nil {
				return nil, in.failed(err)
			}
		}
	}
	k, _ := find(name)
	f := &File{in: in, format: k.name, traits: k.traits}
	switch {
	case k.sessions != nil:
		text, err := in.open()
		if err != nil {
			return nil, err
		}
		defer text.Close()
		s, err := k.sessions(text)
		if err != nil {
			return nil, in.failed(err)
		}
		f.body = s
		f.traits.InitialTxn = s.startsWithInitial()
	case k.name == "edn":
		scan, err := openEDN(in)
		if err != nil {
			return nil, err
		}
		f.body = scan
	default:
		f.body = &stream{in: in, begin: k.ops}
	}
	return f, nil
}

func find(name string) (kind, bool) {
	for _, k := range kinds() {
		if k.name == name {
			return k, true
		}
	}
	return kind{}, false
}
