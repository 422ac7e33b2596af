package main

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/cmd/cli"
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
			if info, err := os.Stat(root); cmd.Flags().Changed("store") && (err != nil || !info.IsDir()) {
				return usage.Errorf("--store %q: want the directory of a store", root)
			}
			if bound <= 0 {
				return usage.Errorf("--timeout %v: want more than 0", bound)
			}
			healed, err := runner.Heal(cmd.Context(), root, bound, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
			for _, line := range healed {
				fmt.Fprintln(cmd.OutOrStdout(), line)
			}
			if err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "jepgo: dirty: %v\n", err)
				return cli.Status(cli.Dirty)
			}
			if len(healed) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "nothing to heal")
			}
			return nil
		},
	}
	storeFlag(cmd, &root)
	cmd.Flags().DurationVar(&bound, "timeout", 30*time.Second, "time for all undoing")
	return cmd
}
