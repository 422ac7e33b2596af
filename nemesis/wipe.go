package nemesis

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/jepgo/jepgo/history"
)

// wipe empties data directories.
type wipe struct{}

func wipeEntry() Entry {
	return harmEntry("wipe", "empty the data directories of stopped nodes", "#424949", func() harmKind { return wipe{} })
}

func (wipe) params() []param        { return nil }
func (wipe) parts() string          { return "" }
func (wipe) about() []history.Value { return nil }

func (wipe) explain() string {
	return "Stops nodes with SIGKILL and empties their data directories, as an operator does who replaces a machine: they begin anew, and have to fetch the whole chain. " +
		"A validator also forgets what it has signed, so it may sign another block at the same height: that is what is tested. " +
		"It bites when the directories are seen empty."
}

func (wipe) do(dir string, _ *rand.Rand) (harm, error) {
	files, bytes, err := sizeOfTree(dir)
	if err != nil {
		return harm{}, err
	}
	if err := emptyDir(dir); err != nil {
		return harm{}, err
	}
	return harm{
		evidence: []history.Value{history.Keyword("deleted-files"), history.Int(files), history.Keyword("deleted-bytes"), history.Int(bytes)},
		seen: func() error {
			entries, err := os.ReadDir(dir)
			if err == nil && len(entries) > 0 {
				err = fmt.Errorf("directory %q: holds %q after it was emptied", dir, entries[0].Name())
			}
			return err
		},
	}, nil
}

// emptyDir removes what is in a directory, and not the directory.
func emptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}
