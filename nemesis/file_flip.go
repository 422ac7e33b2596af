package nemesis

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/jepgo/jepgo/history"
)

// fileFlip flips a bit of files.
type fileFlip struct{ fileChoice }

func fileFlipEntry() Entry {
	return harmEntry("file-flip", "flip a bit in files of stopped nodes", "#A569BD", func() harmKind { return new(fileFlip) })
}

func (f *fileFlip) params() []param { return []param{f.param()} }

func (*fileFlip) explain() string {
	return "Stops nodes with SIGKILL and flips one drawn bit in files of their data directories, as bit rot does. " +
		fileChoiceText + "It bites when the byte is read back and differs from what it was in that bit."
}

func (f *fileFlip) do(dir string, rng *rand.Rand) (harm, error) {
	return f.eachFile(dir, rng, func(path string, size int64) (harm, error) {
		at, bit := rng.Int64N(size), rng.IntN(8)
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return harm{}, err
		}
		var was [1]byte
		_, err = file.ReadAt(was[:], at)
		if err == nil {
			_, err = file.WriteAt([]byte{was[0] ^ 1<<bit}, at)
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return harm{}, err
		}
		return harm{
			evidence: []history.Value{history.Keyword("offset"), history.Int(at), history.Keyword("bit"), history.Int(int64(bit))},
			seen: func() error {
				file, err := os.Open(path)
				if err != nil {
					return err
				}
				defer file.Close()
				var now [1]byte
				if _, err := file.ReadAt(now[:], at); err != nil {
					return err
				}
				if now[0]^was[0] != 1<<bit {
					return fmt.Errorf("file %q: byte %d is %#x, expected %#x", path, at, now[0], was[0]^1<<bit)
				}
				return nil
			},
		}, nil
	})
}
