// Command jepgo tests a blockchain network the way Jepsen tests a database, and
// judges histories. Each command is one file: flags, an options struct, one call.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/runner"
)

// Exit statuses, as the README and the help promise them.
const (
	exitValid       = 0
	exitInvalid     = 1
	exitUnknown     = 2
	exitDirty       = 3
	exitInterrupted = 130
	exitUsage       = 254
	exitInternal    = 255
)

const exitTable = `Exit status:
  0    valid
  1    invalid: an anomaly was found
  2    unknown: no data, a limit, a fault that never bit, too few successes
  3    dirty: a fault could not be undone, or was not seen undone
  130  interrupted
  254  usage
  255  internal error
With several files or runs the worst wins: 255, 254, 3, 1, 2, 0.
`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run executes one command line. A panic is an internal error, never Go's own
// exit status 2, which here means unknown.
func run(args []string, stdout, stderr io.Writer) (status int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "jepgo: internal error: %v\n%s", p, debug.Stack())
			status = exitInternal
		}
	}()
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	return statusOf(err, stderr)
}

// exitError carries a status through cobra; its text has been printed already
// where there was any.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// statusOf prints err for the user and maps it to an exit status.
func statusOf(err error, stderr io.Writer) int {
	if err == nil {
		return exitValid
	}
	var exit exitError
	if errors.As(err, &exit) {
		return int(exit)
	}
	fmt.Fprintf(stderr, "jepgo: %v\n", err)
	var usage *runner.UsageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitInternal
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "jepgo",
		Short:         "Find out whether a blockchain network keeps its promises",
		Long:          "jepgo submits transactions and reads to a live network of real nodes while a\nnemesis breaks things, records every operation in one history, and judges it.\n\n" + exitTable,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError("%w (see %s --help)", err, cmd.CommandPath())
	})
	root.AddCommand(
		newTest(), newCheck(), newDevnet(), newHeal(), newList(), newShow(), newVersion(),
		newValidator(), newSupervisor(),
	)
	root.InitDefaultCompletionCmd()
	return root
}

// usageError is a fault of the person at the terminal.
func usageError(format string, args ...any) error {
	return runner.Usage(format, args...)
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError("command %q does not exist: see %s --help", args[0], cmd.CommandPath())
	}
	return nil
}

// noArgs refuses arguments by name, as a usage error.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError("argument %q is not expected: %s takes only flags", args[0], cmd.CommandPath())
	}
	return nil
}
