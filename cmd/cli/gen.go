package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/gen"
	"github.com/jepgo/jepgo/usage"
)

// NewGen returns the command that writes histories of simulated systems.
func NewGen() *cobra.Command {
	var (
		o    gen.Options
		path string
	)
	cmd := &cobra.Command{
		Use:     "gen WORKLOAD",
		Short:   "Write the history of a simulated system",
		Example: "  jepgo gen append --ops 100000 --clients 20 --isolation snapshot-isolation > h.edn\n  jepgo gen cas-register --keys 10 --crash 0.01 --plant stale-read -o h.edn",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage.Errorf("%d arguments: want one workload of %s", len(args), strings.Join(gen.Workloads(), ", "))
			}
			return nil
		},
		ValidArgsFunction: fixed(gen.Workloads),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Workload = args[0]
			if err := o.Check(); err != nil {
				return usage.Errorf("%w", err)
			}
			ctx, stop := Interruptible(cmd.Context())
			defer stop()
			return writeFile(path, cmd.OutOrStdout(), func(w io.Writer) error { return gen.Write(ctx, w, o) })
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.IntVar(&o.Ops, "ops", 10_000, "operations that are invoked")
	f.IntVar(&o.Clients, "clients", 10, "clients")
	f.IntVar(&o.Keys, "keys", 0, "keys in use at a time (default 10 for transactions, 1 for objects)")
	f.StringVar(&o.Isolation, "isolation", "", "of transactions: "+strings.Join(gen.Isolations(), ", ")+" (default the first)")
	f.IntVar(&o.Writes, "writes", 32, "transactions: writes of a key before another takes its place")
	f.IntVar(&o.Shortest, "shortest", 1, "transactions: least micro-operations")
	f.IntVar(&o.Longest, "longest", 0, "transactions: most micro-operations (default 4)")
	f.IntVar(&o.Values, "values", 0, "registers: different values that are written, 0 for a new one each time")
	f.Float64Var(&o.Reads, "reads", 0.5, "share of reads")
	f.Float64Var(&o.Crash, "crash", 0, "share of operations that end in doubt, half of them done")
	f.Float64Var(&o.Fail, "fail", 0, "share of operations that fail")
	f.StringSliceVar(&o.Plant, "plant", nil, "anomalies to plant: NAME,... (a wrong name lists them)")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of every random choice")
	f.StringVarP(&path, "output", "o", "", "file to write (default standard output)")
	CompleteWith(cmd, "isolation", gen.Isolations)
	explainWith(cmd, genHelp)
	return cmd
}

func genHelp() string {
	var table strings.Builder
	for _, name := range gen.Workloads() {
		fmt.Fprintf(&table, "  %-13s %s\n", name, gen.Describe(name))
	}
	return `Write the history of a simulated system as EDN, to try checkers on: the right
verdict is known. The same flags give the same bytes.

Workloads:
` + table.String()
}
