package nemesis

import (
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/jepgo/jepgo/history"
)

// fileTruncate cuts off the end of files.
type fileTruncate struct {
	fileChoice
	most int64
}

func fileTruncateEntry() Entry {
	return harmEntry("file-truncate", "cut off the end of files of stopped nodes", "#85929E", func() harmKind { return &fileTruncate{most: 4096} })
}

func (f *fileTruncate) params() []param {
	return []param{size(&f.most, "the most bytes to cut such as 64KiB", 1), f.param()}
}

func (f *fileTruncate) parts() string {
	if f.most != 4096 {
		return fmt.Sprintf(":%dB", f.most) + f.fileChoice.parts()
	}
	return f.fileChoice.parts()
}

func (*fileTruncate) explain() string {
	return "Stops nodes with SIGKILL and cuts a drawn number of bytes off the end of files in their data directories, up to 4 KiB when nothing else is asked for, as a file system does that lost a size. " +
		fileChoiceText + "It bites when the files are seen to be that much shorter."
}

func (f *fileTruncate) do(dir string, rng *rand.Rand) (harm, error) {
	return f.eachFile(dir, rng, func(path string, size int64) (harm, error) {
		cut := 1 + rng.Int64N(min(size, f.most))
		if err := os.Truncate(path, size-cut); err != nil {
			return harm{}, err
		}
		return harm{
			evidence: []history.Value{history.Keyword("cut-bytes"), history.Int(cut)},
			seen: func() error {
				info, err := os.Lstat(path)
				if err == nil && info.Size() != size-cut {
					err = fmt.Errorf("file %q: has %d bytes, expected %d", path, info.Size(), size-cut)
				}
				return err
			},
		}, nil
	})
}
