package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/runner"
)

func newCheck() *cobra.Command {
	var (
		o      runner.JudgeOptions
		nilIs  string
		asJSON bool
		full   bool
	)
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Judge histories offline",
		Long: `Judge one or more histories: files, run directories of the store, or - for
standard input. A history that jepgo recorded says itself which claims are fair.
For another one the rules are --model, or what its operations look like.

One line a file: FILE, verdict and reason with tabs between them.

` + exitTable,
		Example: "  jepgo check store/latest\n  jepgo check --model cas-register history.edn",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("no file to check: want jepgo check FILE... (- for standard input)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch nilIs {
			case "any", "absent":
				o.NilAny = nilIs == "any"
			default:
				return usageError("--nil %q: want any or absent", nilIs)
			}
			if o.Timeout < 0 {
				return usageError("--timeout %s: want a duration of zero or more", o.Timeout)
			}
			worst := exitValid
			for _, path := range args {
				status := checkOne(cmd, path, o, asJSON, full)
				worst = worseStatus(worst, status)
			}
			if worst == exitValid {
				return nil
			}
			return exitError(worst)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Model, "model", "", "rules for a history that jepgo did not record: "+runner.ModelNames())
	f.BoolVar(&o.Keyed, "independent", false, "values are [key value]: judge each key on its own")
	f.StringVar(&nilIs, "nil", "any", "what a read of nil says: any (nothing, as in Knossos) or absent (never written)")
	f.StringVar(&o.Initial, "initial", "", "initial value as EDN (default nil)")
	f.DurationVar(&o.Timeout, "timeout", time.Minute, "time for one file, 0 for no limit; what is not decided by then is unknown")
	f.BoolVar(&asJSON, "json", false, "print one JSON object a file")
	completeWith(cmd, "model", strings.Split(runner.ModelNames(), ", "))
	f.BoolVarP(&full, "verbose", "v", false, "print every checker with its witnesses to standard error")
	return cmd
}

func checkOne(cmd *cobra.Command, path string, o runner.JudgeOptions, asJSON, full bool) int {
	j, err := runner.JudgeFile(cmd.Context(), path, o)
	if err != nil {
		return statusOf(asUsage(err), cmd.ErrOrStderr())
	}
	if full {
		j.Text(cmd.ErrOrStderr())
	}
	line := append([]byte(j.Line()), '\n')
	if asJSON {
		line = j.JSON()
	}
	if _, err := cmd.OutOrStdout().Write(line); err != nil {
		return statusOf(err, cmd.ErrOrStderr())
	}
	return statusOf(verdictStatus(j.Verdict), cmd.ErrOrStderr())
}

// asUsage marks an error about the user's file as the user's.
func asUsage(err error) error {
	var usage *runner.UsageError
	if errors.As(err, &usage) {
		return err
	}
	return usageError("%w", err)
}

func verdictStatus(v checker.Verdict) error {
	switch v {
	case checker.Valid:
		return nil
	case checker.Invalid:
		return exitError(exitInvalid)
	}
	return exitError(exitUnknown)
}

// worseStatus returns the status that wins when there are several files or runs.
func worseStatus(a, b int) int {
	order := []int{exitInternal, exitUsage, exitInterrupted, exitDirty, exitInvalid, exitUnknown, exitValid}
	return order[min(slices.Index(order, a), slices.Index(order, b))]
}
