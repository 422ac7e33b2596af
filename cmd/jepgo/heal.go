package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/cmd/cli"
	"github.com/jepgo/jepgo/nemesis"
	"github.com/jepgo/jepgo/runner"
	"github.com/jepgo/jepgo/usage"
)

func newHeal() *cobra.Command {
	var root string
	var bound time.Duration
	cmd := &cobra.Command{
		Use:   "heal",
		Short: "Undo every fault that a dead run left behind",
		Long: `Undo what the ledgers of the runs in the store still hold, and end node
processes whose jepgo is gone. It is safe to run at any time, and twice. Exit 0
only when each undo was verified. A run that is still alive heals by itself and
is left alone: then the exit status is 3 if it has a fault in force.

` + cli.ExitTable,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if bound <= 0 {
				return usage.Errorf("--timeout %v: want more than 0", bound)
			}
			noStore := isStore(cmd, root) // what is left on the machine is found all the same
			healed, err := runner.Heal(cmd.Context(), root, bound, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
			for _, line := range healed {
				fmt.Fprintln(cmd.OutOrStdout(), line)
			}
			switch {
			case alive(err):
				fmt.Fprintf(cmd.ErrOrStderr(), "jepgo: not healed: %v\n", err)
				return cli.Status(cli.Dirty)
			case err != nil:
				fmt.Fprintf(cmd.ErrOrStderr(), "jepgo: dirty: %v\n", err)
				return cli.Status(cli.Dirty)
			case noStore != nil:
				return fmt.Errorf("%w; whatever the store, %d leftovers of dead runs were found on this machine, and removed", noStore, len(healed))
			case len(healed) == 0:
				fmt.Fprintln(cmd.OutOrStdout(), "nothing to heal: no ledger in the store has a fault in force, and no dead run left anything on this machine")
				if log := runner.Guarded(root); log != "" {
					fmt.Fprintf(cmd.OutOrStdout(), "what the newest run had in force when it died its guardian took back: see %s\n", log)
				}
			}
			return nil
		},
	}
	storeFlag(cmd, &root)
	cmd.Flags().DurationVar(&bound, "timeout", 30*time.Second, "time for all undoing")
	return cmd
}

// alive is whether all that stands in the way are runs that live, and heal by
// themselves.
func alive(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return !slices.ContainsFunc(joined.Unwrap(), func(e error) bool { return !alive(e) })
	}
	var owner *nemesis.OwnerError
	return errors.As(err, &owner)
}
