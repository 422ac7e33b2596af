// Package store owns the run directories. The layout is Jepsen's:
// ROOT/NAME/20060102T150405.000Z/ holds one run, and the symbolic links
// ROOT/current, ROOT/latest and ROOT/NAME/latest point at the newest one from
// the moment it starts, so that a run which is killed can still be found.
//
// Every file but the history (which its recorder writes) and the logs is
// written to a temporary name, fsynced and renamed, so that a reader never sees
// half of one.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

const stampLayout = "20060102T150405.000Z"

// Names of the files of a run.
const (
	HistoryFile = "history.edn"
	TextFile    = "history.txt"
	ResultsJSON = "results.json"
	ResultsEDN  = "results.edn"
	TestFile    = "test.json"
	LogFile     = "jepgo.log"
	FaultsFile  = "faults.edn"
	NodesDir    = "nodes"
)

// Run is one run directory.
type Run struct {
	Dir   string    // absolute
	Name  string    // name of the test
	Start time.Time // in UTC, to the millisecond
}

// Create makes the directory of a new run and points the links at it. When two
// runs start in the same millisecond the second takes the next free one.
func Create(root, name string, now time.Time) (*Run, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	parent := filepath.Join(root, name)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, fmt.Errorf("store %q cannot be used: %w", root, err)
	}
	now = now.UTC().Truncate(time.Millisecond)
	for {
		dir := filepath.Join(parent, now.Format(stampLayout))
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrExist) {
			now = now.Add(time.Millisecond)
			continue
		}
		if err != nil {
			return nil, err
		}
		run := &Run{Dir: dir, Name: name, Start: now}
		return run, run.link(root)
	}
}

// CheckName says why a test cannot have that name, nil when it can.
func CheckName(name string) error {
	if name == "" || name != filepath.Base(name) || strings.HasPrefix(name, ".") || name == "latest" || name == "current" {
		return fmt.Errorf("name %q is not usable: want one path element that is not hidden and not latest or current", name)
	}
	return nil
}

func (r *Run) link(root string) error {
	stamp := filepath.Base(r.Dir)
	for link, target := range map[string]string{
		filepath.Join(root, "current"):        filepath.Join(r.Name, stamp),
		filepath.Join(root, "latest"):         filepath.Join(r.Name, stamp),
		filepath.Join(root, r.Name, "latest"): stamp,
	} {
		if err := replaceLink(target, link); err != nil {
			return err
		}
	}
	return nil
}

func replaceLink(target, link string) error {
	temp := fmt.Sprintf("%s.%d", link, os.Getpid())
	os.Remove(temp)
	if err := os.Symlink(target, temp); err != nil {
		return err
	}
	if err := os.Rename(temp, link); err != nil {
		os.Remove(temp)
		return fmt.Errorf("link %q cannot be replaced: %w", link, err)
	}
	return nil
}

// Open returns the run at path, which may be a symbolic link.
func Open(path string) (*Run, error) {
	dir, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	start, err := time.Parse(stampLayout, filepath.Base(dir))
	if err != nil {
		return nil, fmt.Errorf("%q is not a run: want a directory named like %s", path, stampLayout)
	}
	return &Run{Dir: dir, Name: filepath.Base(filepath.Dir(dir)), Start: start}, nil
}

// Find returns the run that a person means by arg: latest, NAME, NAME/latest or
// NAME/STAMP in the store at root, else the path of a run directory or of a link
// to one.
func Find(root, arg string) (*Run, error) {
	for _, path := range []string{filepath.Join(root, arg), filepath.Join(root, arg, "latest"), arg} {
		if run, err := Open(path); err == nil {
			return run, nil
		}
	}
	return nil, fmt.Errorf("run %q not found: want a run directory, or latest, NAME or NAME/STAMP in store %q", arg, root)
}

// List returns the runs below root, the newest first. A root that does not
// exist holds no runs.
func List(root string) ([]*Run, error) {
	dirs, err := filepath.Glob(filepath.Join(escape(root), "*", "*Z"))
	if err != nil {
		return nil, err
	}
	var runs []*Run
	for _, dir := range dirs {
		if fi, err := os.Lstat(filepath.Dir(dir)); err != nil || !fi.IsDir() {
			continue // current and latest, which are links
		}
		if run, err := Open(dir); err == nil {
			runs = append(runs, run)
		}
	}
	sort.Slice(runs, func(i, j int) bool { return runs[i].Start.After(runs[j].Start) })
	return runs, nil
}

// escape makes a path literal for filepath.Glob.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Path returns the path of a file of the run.
func (r *Run) Path(elem ...string) string {
	return filepath.Join(append([]string{r.Dir}, elem...)...)
}

// Write replaces a file of the run as one step: it is complete on disk under
// its name or not there at all.
func (r *Run) Write(name string, data []byte) error {
	temp, err := os.CreateTemp(r.Dir, "."+name+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // fails after the rename, as it should
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Chmod(0o644), temp.Sync(), temp.Close())
	if err != nil {
		return fmt.Errorf("file %q cannot be written: %w", r.Path(name), err)
	}
	if err := os.Rename(temp.Name(), r.Path(name)); err != nil {
		return err
	}
	dir, err := os.Open(r.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
