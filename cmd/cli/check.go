package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jepgo/jepgo/checker/txn/lattice"
	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/history/format"
	"github.com/jepgo/jepgo/judge"
	"github.com/jepgo/jepgo/report"
	"github.com/jepgo/jepgo/report/explain"
	"github.com/jepgo/jepgo/usage"
)

// checkMemory is the default of --memory.
const checkMemory Size = 4 << 30

type checkFlags struct {
	judge.Options
	memory  Size
	asJSON  bool
	verbose bool
}

// NewCheck returns the command that judges histories.
func NewCheck() *cobra.Command {
	f := checkFlags{memory: checkMemory}
	cmd := &cobra.Command{
		Use:     "check FILE...",
		Short:   "Judge histories offline",
		Example: "  jepgo check store/latest\n  jepgo check --model cas-register history.edn\n  jepgo check --consistency-model snapshot-isolation append.edn",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf("no file to check: want %s (- for standard input)", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd.Flags())
	explainWith(cmd, checkHelp)
	CompleteWith(cmd, "model", judge.Models)
	CompleteWith(cmd, "claim", claims.Levels)
	CompleteWith(cmd, "checker", judge.Checkers)
	CompleteWith(cmd, "consistency-model", lattice.Models)
	CompleteWith(cmd, "anomalies", lattice.Anomalies)
	CompleteWith(cmd, "format", formats)
	CompleteWith(cmd, "nil", func() []string { return []string{"any", "absent"} })
	CompleteWith(cmd, "queue-model", func() []string { return []string{"unordered", "fifo"} })
	return cmd
}

func checkHelp() string {
	return `Judge one or more histories: files, run directories of the store, directories
with histories below them, or - for standard input. A history that jepgo recorded
says itself which claims are fair. For another one the rules are --model, or what
its operations look like.

One line a file: FILE, verdict and reason with tabs between them.

Models:
` + modelTable() + `
Consistency models of transactions:
` + columns(lattice.Models()) + `
Anomalies:
` + columns(lattice.Anomalies()) + `
` + ExitTable
}

// formats lists what --format takes.
func formats() []string { return append([]string{format.Auto}, format.Names()...) }

func (f *checkFlags) add(fs *pflag.FlagSet) {
	fs.SortFlags = false
	fs.StringVar(&f.Model, "model", "", "rules for a history that jepgo did not record (default: by its operations)")
	fs.StringVar(&f.Claim, "claim", "", "hold a history that jepgo recorded to this instead of what its network promises: "+strings.Join(claims.Levels(), ", "))
	fs.StringVar(&f.Workload, "workload", "", "a model with the checkers that usually go with it")
	fs.StringSliceVar(&f.Checkers, "checker", nil, "checkers beside the model's: "+strings.Join(judge.Checkers(), ", "))
	fs.StringVar(&f.Format, "format", format.Auto, "format of the file: "+strings.Join(format.Names(), ", ")+" (default: by its content)")
	fs.BoolVar(&f.Keyed, "independent", false, "values are [key value]: judge each key on its own")
	fs.StringVar(&f.Initial, "initial", "", "initial value as EDN (default nil)")
	fs.StringVar(&f.Nil, "nil", "", "what a read of nil says: any (nothing, as in Knossos) or absent (never written) (default: absent for etcd logs, else any)")
	fs.StringSliceVar(&f.Consistency, "consistency-model", nil, "what transactions or registers are held to: NAME,... of Elle's lattice (default strict-serializable, linearizable)")
	fs.StringSliceVar(&f.Anomalies, "anomalies", nil, "look for these besides; without --consistency-model for these only: NAME,...")
	fs.BoolVar(&f.Sequential, "sequential-keys", false, "rw-register: a process meets the versions of a key in their order")
	fs.BoolVar(&f.LinearizableKeys, "linearizable-keys", false, "rw-register: each key is linearizable")
	fs.BoolVar(&f.WritesFollow, "wfr-keys", false, "rw-register: a transaction's write of a key follows its read of it")
	fs.StringVar(&f.VersionOrder, "version-order", "", "rw-register: file with the order of commits")
	fs.IntVar(&f.GroupSize, "group-size", 0, "long-fork: keys in a group (default 2)")
	fs.StringVar(&f.Queue, "queue-model", "", "queue: unordered or fifo (default unordered)")
	fs.BoolVar(&f.Negative, "negative-balances", false, "bank: accounts may be overdrawn")
	fs.BoolVar(&f.LinearizableSet, "linearizable", false, "set-full: an element is seen by every read after its add")
	fs.DurationVar(&f.Timeout, "timeout", time.Minute, "time for one file, 0 for no limit; what is not decided by then is unknown")
	fs.Var(&f.memory, "memory", "memory for all files together, 0 for no limit; what is not decided within it is unknown")
	fs.BoolVar(&f.asJSON, "json", false, "print one JSON object a file")
	fs.StringVar(&f.Explain, "explain", "", "write counterexamples as text, DOT and SVG to this directory")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "print every checker with its witnesses to standard error")
}

func (f *checkFlags) run(cmd *cobra.Command, args []string) error {
	f.Memory = int64(f.memory)
	if err := f.Check(); err != nil {
		return err
	}
	ctx, stop := Interruptible(cmd.Context())
	defer stop()
	worst := Valid
	progress := newProgress(cmd.ErrOrStderr())
	defer progress.end()
	err := judge.Files(ctx, args, f.Options, progress.at, func(path string, j *report.Judgement, err error) error {
		progress.end()
		status, err := f.show(cmd, path, j, err)
		worst = Worse(worst, status)
		return err
	})
	switch {
	case err != nil:
		return err
	case context.Cause(ctx) != nil && worst != Internal:
		return Status(Interrupted)
	case worst == Valid:
		return nil
	}
	return Status(worst)
}

// show prints what became of one file and returns its status.
func (f *checkFlags) show(cmd *cobra.Command, path string, j *report.Judgement, err error) (int, error) {
	program, errors := cmd.Root().Name(), cmd.ErrOrStderr()
	if err != nil {
		if f.asJSON {
			if _, err := cmd.OutOrStdout().Write(report.ErrorJSON(path, err)); err != nil {
				return Internal, err
			}
		}
		return StatusOf(err, program, errors), nil
	}
	if f.verbose {
		j.Text(errors)
	}
	line := append([]byte(j.Line()), '\n')
	if f.asJSON {
		line = j.JSON()
	}
	if _, err := cmd.OutOrStdout().Write(line); err != nil {
		return Internal, err
	}
	status := StatusOf(VerdictStatus(j.Verdict), program, errors)
	if f.Explain == "" {
		return status, nil
	}
	folder, err := explain.Write(f.Explain, j)
	switch {
	case err != nil:
		return Worse(status, StatusOf(usage.Errorf("--explain: %w", err), program, errors)), nil
	case folder != "":
		fmt.Fprintf(errors, "explained in %s\n", folder)
	}
	return status, nil
}
