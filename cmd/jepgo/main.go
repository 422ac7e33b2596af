// Command jepgo tests a blockchain network the way Jepsen tests a database, and
// judges histories. Each command is one file: flags, an options struct, one call.
package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/cmd/cli"
	"github.com/jepgo/jepgo/nemesis"
	"github.com/jepgo/jepgo/usage"
)

func main() {
	if nemesis.Helper(os.Args[1:]) {
		return
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	return cli.Run(context.Background(), newRoot(), args, stdout, stderr)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "jepgo",
		Short: "Find out whether a blockchain network keeps its promises",
		Long:  "jepgo submits transactions and reads to a live network of real nodes while a\nnemesis breaks things, records every operation in one history, and judges it.\n\n" + cli.ExitTable,
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(
		newTest(), cli.NewCheck(), cli.NewConvert(), cli.NewGen(), newDevnet(), newHeal(), newDoctor(), newExplain(), newList(), newShow(), newVersion(),
		newValidator(), newSupervisor(), newGuardian(), newProbe(),
	)
	root.InitDefaultCompletionCmd()
	return root
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage.Errorf("command %q does not exist: see %s --help", args[0], cmd.CommandPath())
	}
	return nil
}
