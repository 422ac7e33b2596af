package cli

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/jepgo/jepgo/usage"
)

// writeFile writes the file of that path, or stdout when there is none. A file
// gets its name only when all of it is there, so that one that is read meanwhile,
// or was there before, is not lost to a failure.
func writeFile(path string, stdout io.Writer, write func(io.Writer) error) (err error) {
	if path == "" {
		return write(stdout)
	}
	if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		// A device or a pipe keeps its name.
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return usage.Errorf("--output: %w", err)
		}
		return errors.Join(write(file), file.Close())
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return usage.Errorf("--output: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // the first error is the one to tell
		}
	}()
	out := bufio.NewWriterSize(file, 1<<20)
	if err := errors.Join(write(out), out.Flush(), file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
