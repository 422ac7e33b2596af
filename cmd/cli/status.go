// Package cli holds what the programs of this module share on their command
// lines: exit statuses, and the commands that need no network. A command turns
// flags into an options struct and makes one call.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/usage"
)

// Exit statuses, as the README and the help promise them.
const (
	Valid       = 0
	Invalid     = 1
	Unknown     = 2
	Dirty       = 3
	Interrupted = 130
	Usage       = 254
	Internal    = 255
)

// ExitTable is the part of the help about exit statuses.
const ExitTable = `Exit status:
  0    valid
  1    invalid: an anomaly was found
  2    unknown: no data, a limit, a fault that never bit, too few successes
  3    dirty: a fault could not be undone, or was not seen undone
  130  interrupted
  254  usage
  255  jepgo could not do its work: an internal error, a full disk
With several files or runs the worst wins: 255, 254, 3, 1, 2, 0.
`

// Status carries an exit status through cobra; what there was to say has been
// said already.
type Status int

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// StatusOf prints err for the user, under the program's name, and maps it to an
// exit status.
func StatusOf(err error, program string, stderr io.Writer) int {
	if err == nil {
		return Valid
	}
	var status Status
	if errors.As(err, &status) {
		return int(status)
	}
	fmt.Fprintf(stderr, "%s: %v\n", program, err)
	var fault *usage.Error
	if errors.As(err, &fault) {
		return Usage
	}
	return Internal
}

// VerdictStatus is the error that ends a program with the status of a verdict.
func VerdictStatus(v checker.Verdict) error {
	switch v {
	case checker.Valid:
		return nil
	case checker.Invalid:
		return Status(Invalid)
	}
	return Status(Unknown)
}

// Worse returns the status that wins when there are several files or runs.
func Worse(a, b int) int {
	order := []int{Internal, Usage, Interrupted, Dirty, Invalid, Unknown, Valid}
	return order[min(slices.Index(order, a), slices.Index(order, b))]
}

// Run executes one command line. A panic is an internal error, never Go's own
// exit status 2, which here means unknown.
func Run(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) (status int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "%s: internal error: %v\n%s", root.Name(), p, debug.Stack())
			status = Internal
		}
	}()
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage.Errorf("%w (see %s --help)", err, cmd.CommandPath())
	})
	root.SetArgs(args)
	return StatusOf(root.ExecuteContext(ctx), root.Name(), stderr)
}

// Interruptible returns a context that ends with the first SIGINT or SIGTERM. The
// second one ends the program.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// NoArgs refuses arguments by name, as a usage error.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage.Errorf("argument %q is not expected: %s takes only flags", args[0], cmd.CommandPath())
	}
	return nil
}

// IsTerminal reports whether a person watches w.
func IsTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && isatty.IsTerminal(file.Fd()) && os.Getenv("TERM") != "dumb"
}

// CompleteWith lets the shell complete a flag's value from a list, which is made
// when it is asked for.
func CompleteWith(cmd *cobra.Command, flag string, names func() []string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, fixed(names)); err != nil {
		panic("completion of a flag that does not exist: " + err.Error())
	}
}

func fixed(names func() []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return names(), cobra.ShellCompDirectiveNoFileComp
	}
}

// explainWith gives a command its long help, which is made when it is asked for:
// a short command must not wait for it.
func explainWith(cmd *cobra.Command, long func() string) {
	help := cmd.HelpFunc()
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		cmd.Long = long()
		help(cmd, args)
	})
}
