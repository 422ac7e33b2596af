package nemesis

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// sizeOfTree counts the regular files below a directory and their bytes.
func sizeOfTree(dir string) (files, bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files++
		bytes += info.Size()
		return nil
	})
	return files, bytes, err
}

// sameTree reports whether two directories hold the same regular files.
func sameTree(a, b string) (bool, error) {
	x, err := digestTree(a)
	if err != nil {
		return false, err
	}
	y, err := digestTree(b)
	return x == y, err
}

// digestTree hashes the paths and contents of the regular files below a
// directory.
func digestTree(dir string) (string, error) {
	all := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		one := sha256.New()
		if _, err := io.Copy(one, f); err != nil {
			return err
		}
		fmt.Fprintf(all, "%q %x\n", rel, one.Sum(nil)) // a hash does not fail
		return nil
	})
	return fmt.Sprintf("%x", all.Sum(nil)), err
}
