package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jepgo/jepgo/devnet/child"
	"github.com/jepgo/jepgo/devnet/embedded"
	"github.com/jepgo/jepgo/nemesis"
	"github.com/jepgo/jepgo/store"
	"github.com/jepgo/jepgo/usage"
)

// Heal undoes what the ledgers of the runs below root still hold, removes what
// dead jepgos left on the machine, whatever their store, and ends the node
// processes of runs below root whose jepgo is gone. It returns one line for each thing that it
// did, and an error when something could not be verified undone. It is safe at
// any time, and twice.
func Heal(ctx context.Context, root string, bound time.Duration, log *slog.Logger) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	runs, err := store.List(root)
	if err != nil {
		return nil, err
	}
	var did []string
	var errs []error
	for _, run := range runs {
		healed, err := nemesis.Heal(ctx, run.Dir)
		for _, a := range healed.Actions {
			did = append(did, fmt.Sprintf("%s: %s", run.Dir, a))
		}
		var owner *nemesis.OwnerError
		if errors.As(err, &owner) && !pending(run) {
			continue // alive and well
		}
		errs = append(errs, err)
	}
	left, err := nemesis.Sweep(ctx)
	did, errs = append(did, left...), append(errs, err)
	swept, err := embedded.Sweep(ctx, root)
	for _, s := range swept {
		did = append(did, fmt.Sprintf("node process without a jepgo ended: %v", s))
	}
	errs = append(errs, err)
	marked, err := child.Sweep(ctx, root)
	for _, s := range marked {
		did = append(did, fmt.Sprintf("node process without a jepgo ended: %v", s))
	}
	return did, errors.Join(append(errs, err)...)
}

// Guarded names the guardian's log of the newest run below root, where that guardian
// has taken something back; "" where it has not.
func Guarded(root string) string {
	runs, err := store.List(root)
	if err != nil || len(runs) == 0 {
		return ""
	}
	log := runs[0].Path(nemesis.GuardianLog)
	if info, err := os.Stat(log); err != nil || info.Size() == 0 {
		return ""
	}
	return log
}

func pending(run *store.Run) bool {
	faults, err := nemesis.ReadPending(run.Path(nemesis.LedgerName))
	return err != nil || len(faults) > 0
}

// healLeftovers takes back what an earlier run in the store left behind; a new
// run does not start on a network, or a machine, that is still broken.
func healLeftovers(ctx context.Context, root string, log *slog.Logger) error {
	runs, err := store.List(root)
	if err != nil {
		return usage.Errorf("--store: %w", err)
	}
	for _, run := range runs {
		healed, err := nemesis.Heal(ctx, run.Dir)
		for _, a := range healed.Actions {
			log.Warn("an earlier run left a fault, healed now", "run", run.Dir, "fault", a.String())
		}
		var owner *nemesis.OwnerError
		if err != nil && !errors.As(err, &owner) {
			return fmt.Errorf("an earlier run is dirty, see jepgo heal --store %s: %w", root, err)
		}
	}
	return nil
}
