package child

import (
	"io"
	"os"
	"strings"
)

// Tail is the last lines of a log file after an offset, at most 20 lines and 4
// KiB; for a file that cannot be read, why.
func Tail(path string, from int64) string {
	const maxLines, maxBytes = 20, 4 << 10
	f, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err.Error()
	}
	begin := max(from, size-maxBytes)
	b, err := io.ReadAll(io.NewSectionReader(f, begin, size-begin))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if begin > from && len(lines) > 1 {
		lines = lines[1:] // cut in the middle
	}
	return strings.ToValidUTF8(strings.Join(lines[max(0, len(lines)-maxLines):], "\n"), "�")
}
