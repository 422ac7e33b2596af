package nemesis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

// LedgerName is the ledger's file name in the directory of a run.
const LedgerName = "ledger.jsonl"

const ledgerVersion = 1

// Pending is a fault that was put on the ledger and not taken off.
type Pending struct {
	ID    int
	Fault string
	Steps []Step
}

// line is one line of the ledger. The first one has Owner, each later one
// either Add or Done.
type line struct {
	Version int       `json:"ledger,omitempty"`
	Owner   *owner    `json:"owner,omitempty"`
	Add     int       `json:"add,omitempty"`
	Done    int       `json:"done,omitempty"`
	Fault   string    `json:"fault,omitempty"`
	Steps   []Step    `json:"steps,omitempty"`
	At      time.Time `json:"at"` // for people; nothing is decided by it
}

// owner is the process that applies the faults. Pids and start times mean
// something only within one boot.
type owner struct {
	devnet.Identity
	Boot string `json:"boot,omitempty"`
}

// Ledger is the write-ahead list of the faults in force: one JSON line for each
// that is added and one for each whose undoing was verified, append-only, on
// disk before the call returns. A lock on the file shows that its owner lives;
// the kernel lets go of it when the owner ends, in whatever way. A Ledger is
// safe for concurrent use.
//
// It is not for what needs no undo, and not for file systems without flock.
type Ledger struct {
	mu      sync.Mutex
	file    *os.File
	next    int
	pending []Pending
	broken  error // a failed write may have left half a line: nothing may follow it
}

// CreateLedger starts the ledger of a new run, owned by this process. The file
// must not exist.
func CreateLedger(path string) (*Ledger, error) {
	self, err := devnet.Lookup(os.Getpid())
	if err != nil {
		return nil, fmt.Errorf("ledger %q: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	l := &Ledger{file: f, next: 1}
	err = lock(f)
	if err == nil {
		err = l.append(line{Version: ledgerVersion, Owner: &owner{self, bootID()}})
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ledger %q: %w", path, err), f.Close())
	}
	return l, nil
}

// syncDir makes a new name in a directory survive a loss of power.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Add puts a fault on the ledger, before it is applied, and returns its number.
// After an error the fault must not be applied. Cost: one fsync.
func (l *Ledger) Add(fault string, steps []Step) (id int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id = l.next
	if err := l.append(line{Add: id, Fault: fault, Steps: steps}); err != nil {
		return 0, fmt.Errorf("ledger: add %q: %w", fault, err)
	}
	l.next++
	l.pending = append(l.pending, Pending{id, fault, steps})
	return id, nil
}

// Done takes a fault off the ledger, after its undoing was verified. Cost: one
// fsync.
func (l *Ledger) Done(id int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.pending, func(p Pending) bool { return p.ID == id })
	if at < 0 {
		return fmt.Errorf("ledger: done %d: no such fault is pending", id)
	}
	if err := l.append(line{Done: id}); err != nil {
		return fmt.Errorf("ledger: done %d: %w", id, err)
	}
	l.pending = slices.Delete(l.pending, at, at+1)
	return nil
}

// Pending lists what was added and not done, oldest first.
func (l *Ledger) Pending() []Pending {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.pending)
}

// Close gives the ledger up. What is pending stays on disk for Heal.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

func (l *Ledger) append(entry line) error {
	if l.broken != nil {
		return fmt.Errorf("an earlier write failed: %w", l.broken)
	}
	entry.At = time.Now().UTC().Truncate(time.Millisecond)
	b, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	if _, err = l.file.Write(append(b, '\n')); err == nil {
		err = l.file.Sync()
	}
	l.broken = err
	return err
}

// LedgerError says that a ledger is not what a jepgo wrote, so that nobody knows
// what it holds. Nothing is undone by such a ledger.
type LedgerError struct {
	Path string
	Line int // from 1
	Err  error
}

// Error says what to do: nobody but its reader can tell what was in force.
func (e *LedgerError) Error() string {
	return fmt.Sprintf("ledger %q: line %d: %v; what it holds is not known, so none of it is undone: mend that line, "+
		"or, once you have seen that no fault of its run is left (jepgo heal still removes what carries our mark), move the file away; then run jepgo heal again",
		e.Path, e.Line, e.Err)
}

func (e *LedgerError) Unwrap() error { return e.Err }

// journal is what a ledger file says.
type journal struct {
	owner   *owner // nil when not even the first line is complete
	next    int
	pending []Pending
	size    int64 // bytes up to the end of the last complete line
}

// replay reads a ledger. A last line without its end was not on disk when its
// writer went on, so what it says did not happen, and it is left out.
func replay(text []byte) (*journal, error) {
	j := &journal{next: 1}
	for n := 1; ; n++ {
		end := bytes.IndexByte(text[j.size:], '\n')
		if end < 0 {
			return j, nil
		}
		var entry line
		if err := json.Unmarshal(text[j.size:j.size+int64(end)], &entry); err != nil {
			var kind *json.UnmarshalTypeError
			if errors.As(err, &kind) {
				err = fmt.Errorf("%s; expected a line as jepgo writes it", wrongKind(kind))
			} else {
				err = fmt.Errorf("expected JSON: %w", err)
			}
			return nil, &LedgerError{Line: n, Err: err}
		}
		if err := j.apply(n, entry); err != nil {
			return nil, &LedgerError{Line: n, Err: err}
		}
		j.size += int64(end) + 1
	}
}

func (j *journal) apply(n int, entry line) error {
	switch {
	case n == 1:
		if entry.Owner == nil || entry.Version != ledgerVersion {
			return fmt.Errorf("not a ledger of version %d", ledgerVersion)
		}
		j.owner = entry.Owner
	case entry.Add >= j.next:
		j.next = entry.Add + 1
		j.pending = append(j.pending, Pending{entry.Add, entry.Fault, entry.Steps})
	case entry.Done > 0:
		j.pending = slices.DeleteFunc(j.pending, func(p Pending) bool { return p.ID == entry.Done })
	default:
		return errors.New("neither a fault added nor one done")
	}
	return nil
}

// ReadPending lists what a ledger holds, without its lock: for looking at the
// ledger of a run, also while it goes on. path is the ledger or the directory
// of the run.
func ReadPending(path string) ([]Pending, error) {
	path, err := ledgerPath(path)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	j, err := readJournal(path)
	if err != nil {
		return nil, err
	}
	return j.pending, nil
}

// ledgerPath completes the directory of a run to its ledger.
func ledgerPath(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, LedgerName)
	}
	return path, err
}
