package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

// errLocked says that another process holds the ledger's lock.
var errLocked = errors.New("locked by another process")

// OwnerError is returned by Heal while the process that owns the ledger lives.
type OwnerError struct {
	Path  string // of the ledger
	Owner devnet.Identity
}

func (e *OwnerError) Error() string {
	return fmt.Sprintf("ledger %q: its jepgo, pid %d, still runs, and takes its faults back by itself: stop that one instead", e.Path, e.Owner.PID)
}

// HealReport is what Heal did.
type HealReport struct {
	Path    string          `json:"path"` // of the ledger
	Owner   devnet.Identity `json:"owner,omitzero"`
	Actions []HealAction    `json:"actions"` // in the order in which they were done
}

// HealAction is one undo step that Heal took.
type HealAction struct {
	Fault string `json:"fault"`
	Step  Step   `json:"step"`
	// Did is what was seen and done, in words.
	Did string `json:"did"`
	// Error says why the undo could not be verified, "" when it was.
	Error string `json:"error,omitempty"`
}

// String renders the action as one line.
func (a HealAction) String() string {
	if a.Error != "" {
		return fmt.Sprintf("%s: %s", a.Fault, a.Error)
	}
	return fmt.Sprintf("%s: %s", a.Fault, a.Did)
}

const (
	// healWait bounds the wait for one step.
	healWait = 10 * time.Second
	// ownerGrace is for an owner that was sent a signal just before: it takes a
	// process some milliseconds to end.
	ownerGrace = 500 * time.Millisecond
)

// Heal takes back, newest first, whatever a ledger still holds after the process
// that owned it has ended. path is the ledger or the directory of the run; a
// directory without a ledger has nothing to heal. It is safe to call again, also
// when an earlier call was itself ended half-way.
//
// A resume step is a SIGCONT to the process that was stopped, if that very one
// still lives. Links are gone with their owner. A node that was killed stays so:
// the nodes of a run end with its owner.
//
// It returns an *OwnerError while the owner lives, and an error, beside the
// report, when the undoing of any step could not be verified: what is then left
// stays on the ledger. It waits at most 10 seconds for a step.
func Heal(ctx context.Context, path string) (HealReport, error) {
	given := path
	path, err := ledgerPath(path)
	report := HealReport{Path: path}
	if err != nil {
		return report, fmt.Errorf("ledger: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if errors.Is(err, os.ErrNotExist) && path != given {
		return report, nil
	}
	if err != nil {
		if j, unread := readJournal(path); unread == nil && len(j.pending) == 0 {
			return report, nil // a file system that cannot be written, and nothing to write
		}
		return report, fmt.Errorf("ledger: %w", err)
	}
	defer f.Close()
	j, err := readJournal(path)
	if err != nil {
		return report, err
	}
	if j.owner != nil {
		report.Owner = j.owner.Identity
		if j.owner.Boot == bootID() && outlives(ctx, j.owner.Identity, ownerGrace) {
			return report, &OwnerError{path, j.owner.Identity}
		}
	}
	if err := seize(ctx, f); err != nil {
		return report, fmt.Errorf("ledger %q: %w", path, err)
	}
	// Whoever had the lock until now may have healed.
	if j, err = readJournal(path); err != nil || len(j.pending) == 0 {
		return report, err
	}
	if err := f.Truncate(j.size); err != nil { // what a torn line leaves would spoil the next
		return report, fmt.Errorf("ledger: %w", err)
	}
	l := &Ledger{file: f, next: j.next, pending: j.pending}
	sameBoot := j.owner.Boot == bootID()
	var errs []error
	for _, p := range slices.Backward(l.Pending()) {
		clean := true
		for _, s := range slices.Backward(p.Steps) {
			did, err := s.takeBack(ctx, sameBoot)
			action := HealAction{Fault: p.Fault, Step: s, Did: did}
			if err != nil {
				clean = false
				action.Error = err.Error()
				errs = append(errs, fmt.Errorf("%s: %w", p.Fault, err))
			}
			report.Actions = append(report.Actions, action)
		}
		if clean {
			errs = append(errs, l.Done(p.ID))
		}
	}
	return report, errors.Join(errs...)
}

func readJournal(path string) (*journal, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	j, err := replay(text)
	var broken *LedgerError
	if errors.As(err, &broken) {
		broken.Path = path
	}
	return j, err
}

// outlives reports whether the process still runs after that time.
func outlives(ctx context.Context, id devnet.Identity, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return await(ctx, look, func() (string, error) {
		if devnet.Alive(id) {
			return id.String(), nil
		}
		return "", nil
	}) != nil
}

// seize takes the lock. It waits, because the last threads of a process that was
// just killed hold on to it for a moment, and so does another heal.
func seize(ctx context.Context, f *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, healWait)
	defer cancel()
	return await(ctx, look, func() (string, error) {
		err := lock(f)
		if errors.Is(err, errLocked) {
			return err.Error(), nil
		}
		return "", err
	})
}
