package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/cmd/cli"
	"github.com/jepgo/jepgo/judge"
	"github.com/jepgo/jepgo/store"
	"github.com/jepgo/jepgo/usage"
)

func newShow() *cobra.Command {
	var root string
	cmd := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show one run: its configuration, its files and its judgement",
		Long:  "Show one run. RUN is a run directory, or latest (the default), NAME or NAME/STAMP\nin the store. The judgement is made anew from the history.\n\n" + cli.ExitTable,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage.Errorf("argument %q is one too many: want one run", args[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			arg := "latest"
			if len(args) == 1 {
				arg = args[0]
			}
			run, err := store.Find(root, arg)
			if err != nil {
				return usage.Errorf("%w", err)
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "run %s\n", run.Dir)
			if data, err := os.ReadFile(run.Path(store.TestFile)); err == nil {
				fmt.Fprintf(out, "%s", data)
			}
			entries, err := os.ReadDir(run.Dir)
			if err != nil {
				return err
			}
			for _, e := range entries {
				fmt.Fprintf(out, "  %s\n", e.Name())
			}
			j, err := judge.File(cmd.Context(), run.Dir, judge.Options{})
			if err != nil {
				return usage.Errorf("%w", err)
			}
			j.Text(out)
			return cli.VerdictStatus(j.Verdict)
		},
	}
	storeFlag(cmd, &root)
	return cmd
}
