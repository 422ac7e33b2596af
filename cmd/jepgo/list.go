package main

import (
	"encoding/json"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/cmd/cli"
	"github.com/jepgo/jepgo/store"
	"github.com/jepgo/jepgo/usage"
)

func newList() *cobra.Command {
	var root string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs in the store, the newest first",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := isStore(cmd, root); err != nil {
				return err
			}
			runs, err := store.List(root)
			if err != nil {
				return usage.Errorf("--store %q: %w", root, err)
			}
			if len(runs) == 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "no runs in %s\n", root)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tSTART\tVERDICT\tREASON")
			for _, run := range runs {
				verdict, reason := readVerdict(run)
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", run.Name, run.Start.Format("20060102T150405.000Z"), verdict, shorten(reason))
			}
			return w.Flush()
		},
	}
	storeFlag(cmd, &root)
	return cmd
}

// readVerdict says what results.json of a run holds.
func readVerdict(run *store.Run) (verdict, reason string) {
	data, err := os.ReadFile(run.Path(store.ResultsJSON))
	if err != nil {
		if info, err := os.Stat(run.Path(store.HistoryFile)); err != nil || info.Size() == 0 {
			return "-", "nothing was recorded: see " + run.Path(store.LogFile)
		}
		return "-", "not judged: see jepgo check " + run.Dir
	}
	var results struct {
		Valid  any    `json:"valid"`
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(data, &results); err != nil {
		return "-", "results.json is not one of jepgo's: see jepgo check " + run.Dir
	}
	switch results.Valid {
	case true:
		return "valid", results.Reason
	case false:
		return "invalid", results.Reason
	}
	return "unknown", results.Reason
}

// shorten keeps a reason within a line of a table; show has all of it.
func shorten(reason string) string {
	const width = 100
	if runes := []rune(reason); len(runes) > width {
		return string(runes[:width]) + "…"
	}
	return reason
}

func storeFlag(cmd *cobra.Command, root *string) {
	cmd.Flags().StringVar(root, "store", "store", "directory that holds the runs")
}

// isStore refuses a directory that was named and is none. The default need not be
// there yet.
func isStore(cmd *cobra.Command, root string) error {
	if info, err := os.Stat(root); cmd.Flags().Changed("store") && (err != nil || !info.IsDir()) {
		return usage.Errorf("--store %q: want the directory of a store", root)
	}
	return nil
}
