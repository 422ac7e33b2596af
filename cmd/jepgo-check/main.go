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
	check := cli.NewCheck()
	check.Use = "jepgo-check FILE..."
	return cli.Run(context.Background(), check, os.Args[1:], os.Stdout, os.Stderr)
}
