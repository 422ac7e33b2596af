package main

import (
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/cmd/cli"
	"github.com/jepgo/jepgo/devnet/embedded"
	"github.com/jepgo/jepgo/nemesis"
)

// newValidator is how jepgo starts each node of its devnet: itself, as another
// process.
func newValidator() *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use:    "validator",
		Short:  "Run one validator of the embedded devnet in this process",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
			defer stop()
			return embedded.RunValidator(ctx, config)
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "configuration file")
	return cmd
}

// newGuardian is the process that undoes the faults of a run whose jepgo died.
func newGuardian() *cobra.Command {
	var ledger string
	cmd := &cobra.Command{
		Use:    nemesis.GuardianCommand,
		Short:  "Undo the faults on a ledger when its owner dies",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			return nemesis.Guard(cmd.Context(), ledger, cmd.InOrStdin(), log)
		},
	}
	cmd.Flags().StringVar(&ledger, "ledger", "", "ledger to guard")
	return cmd
}

// newSupervisor is the process behind jepgo devnet up.
func newSupervisor() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:    "devnet-supervisor",
		Short:  "Own the links and nodes of a devnet until SIGTERM",
		Hidden: true,
		Args:   cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
			defer stop()
			return embedded.Supervise(ctx, dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory of the devnet")
	return cmd
}
