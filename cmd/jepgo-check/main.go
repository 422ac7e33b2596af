// Command jepgo-check judges histories: it is jepgo check alone, without a chain
// in the binary.
package main

import (
	"context"
	"os"

	"github.com/jepgo/jepgo/cmd/cli"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := cli.Interruptible(context.Background())
	defer stop()
	check := cli.NewCheck()
	check.Use = "jepgo-check FILE..."
	return cli.Run(ctx, check, os.Args[1:], os.Stdout, os.Stderr)
}
