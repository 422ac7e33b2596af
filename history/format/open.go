package format

import (
	"github.com/jepgo/jepgo/history"
)

// Auto is the name that lets Open find the format out.
const Auto = "auto"

// Names returns the names of all formats, in the order in which they are listed
// to a user.
func Names() []string {
	return []string{"edn", "json", "jsonl", "history-txt", "etcd-log", "kv-log", "plume", "awdit", "dbcop"}
}

// Open opens the history in the file of that path, "-" for standard input. name
// is one of Names, or Auto.
func Open(path, name string) (*File, error) {
	h, err := history.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return &File{format: "edn", body: &memory{h: h}}, nil
}
