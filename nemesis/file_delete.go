package nemesis

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
)

// fileDelete removes files.
type fileDelete struct{ fileChoice }

func fileDeleteEntry() Entry {
	return harmEntry("file-delete", "delete files of stopped nodes", "#7B7D7D", func() harmKind { return new(fileDelete) })
}

func (f *fileDelete) params() []param { return []param{f.param()} }

func (*fileDelete) explain() string {
	return "Stops nodes with SIGKILL and deletes files of their data directories. " + fileChoiceText +
		"It bites when the files are seen gone."
}

func (f *fileDelete) do(dir string, rng *rand.Rand) (harm, error) {
	return f.eachFile(dir, rng, func(path string, _ int64) (harm, error) {
		if err := os.Remove(path); err != nil {
			return harm{}, err
		}
		return harm{seen: func() error {
			_, err := os.Lstat(path)
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return errors.Join(fmt.Errorf("file %q: is there after it was deleted", path), err)
		}}, nil
	})
}
