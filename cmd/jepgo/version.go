package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/jepgo/jepgo/cmd/cli"
	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of jepgo and of what it is built from",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "jepgo %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return nil
			}
			for _, dep := range info.Deps {
				switch dep.Path {
				case "github.com/ethereum/go-ethereum", "github.com/cometbft/cometbft", "github.com/anishathalye/porcupine":
					fmt.Fprintf(out, "%s %s\n", dep.Path, dep.Version)
				}
			}
			return nil
		},
	}
}

// version is the module's version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
