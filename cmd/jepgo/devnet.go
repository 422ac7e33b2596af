package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/cmd/cli"
	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/embedded"
	"github.com/jepgo/jepgo/devnet/link/mechanism"
	"github.com/jepgo/jepgo/runner"
	"github.com/jepgo/jepgo/usage"
)

// defaultDevnet is where a devnet of its own keeps its data.
var defaultDevnet = filepath.Join("store", "devnet")

func newDevnet() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "devnet",
		Short: "Start, look at and stop a devnet that is left running for other tools",
		Args:  noSuchCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDevnetUp(), newDevnetStatus(), newDevnetDown())
	return cmd
}

func dirFlag(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", defaultDevnet, "directory of the devnet")
}

func newDevnetUp() *cobra.Command {
	var o embedded.UpOptions
	var seed uint64
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a devnet in the background and print its endpoints",
		Long: `Start a devnet of real nodes that runs until jepgo devnet down. On a directory
that holds one already, its data is used again: the number of nodes, the seed
and the bug are then those it was made with.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Nodes < 1 || o.Nodes > runner.MaxNodes {
				return usage.Errorf("--nodes %d: want 1 to %d", o.Nodes, runner.MaxNodes)
			}
			if !slices.Contains(mechanism.Names(), o.Link) {
				return usage.Errorf("--link %q: want one of %s", o.Link, strings.Join(mechanism.Names(), ", "))
			}
			links := o.Link
			if old := embedded.LinkOf(o.Dir); old != "" {
				links = old
			}
			if err := withLinks(links); err != nil {
				return err
			}
			if err := mechanism.Probe(o.Link); err != nil {
				return usage.Errorf("--link %s: %w", o.Link, err)
			}
			if o.Bug != "" && !slices.Contains(runner.Bugs(), o.Bug) {
				return usage.Errorf("--bug %q does not exist: %swant one of %s", o.Bug, usage.Meant(o.Bug, runner.Bugs()), strings.Join(runner.Bugs(), ", "))
			}
			o.Seed = fmt.Sprint(seed)
			ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Minute)
			defer cancel()
			state, err := embedded.Up(ctx, o)
			if err != nil {
				return usage.Errorf("%w", err)
			}
			for flag, same := range map[string]bool{
				"nodes": len(state.Names) == o.Nodes, "seed": state.Seed == o.Seed, "bug": state.Bug == o.Bug,
				"link": state.Link == o.Link,
			} {
				if cmd.Flags().Changed(flag) && !same {
					fmt.Fprintf(cmd.ErrOrStderr(), "jepgo: --%s does not count: %q holds a devnet that was made otherwise, and it is up as it was made; want another --dir\n", flag, o.Dir)
				}
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(state)
			}
			var urls []string
			for _, n := range state.Nodes {
				printNode(cmd.OutOrStdout(), n)
				urls = append(urls, n.HTTP)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "chain id %d\nfaucet key %s\n", state.ChainID, state.FaucetKey)
			fmt.Fprintf(cmd.OutOrStdout(), "attach with: jepgo test --rpc %s\nstop with: jepgo devnet down --dir %s\n", strings.Join(urls, ","), quote(o.Dir))
			return nil
		},
	}
	dirFlag(cmd, &o.Dir)
	cmd.Flags().IntVar(&o.Nodes, "nodes", 4, "number of validators")
	cmd.Flags().Uint64Var(&seed, "seed", 0, "seed of all keys")
	cmd.Flags().StringVar(&o.Link, "link", mechanism.Proxy, linkHelp())
	cmd.Flags().StringVar(&o.Bug, "bug", "", "start deliberately broken nodes; jepgo explain lists the bugs")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func newDevnetStatus() *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Print each node's process, height and endpoints",
		Long:  "Print each node's process, height and endpoints. Exit 0 when all nodes answer,\n1 when some do not, 2 when the devnet is not running.",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 15*time.Second)
			defer cancel()
			status, err := embedded.Status(ctx, dir)
			if errors.Is(err, fs.ErrNotExist) {
				fmt.Fprintf(cmd.ErrOrStderr(), "jepgo: %q holds no devnet: see jepgo devnet up, or --dir\n", dir)
				return cli.Status(cli.Unknown)
			}
			if err != nil {
				return usage.Errorf("%w", err)
			}
			if asJSON {
				if err := json.NewEncoder(cmd.OutOrStdout()).Encode(status); err != nil {
					return err
				}
			} else {
				for _, n := range status.Nodes {
					fmt.Fprintln(cmd.OutOrStdout(), n)
				}
			}
			switch {
			case !status.Running:
				fmt.Fprintf(cmd.ErrOrStderr(), "devnet %q is not running\n", dir)
				return cli.Status(cli.Unknown)
			case !status.Healthy():
				return cli.Status(cli.Invalid)
			}
			return nil
		},
	}
	dirFlag(cmd, &dir)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func newDevnetDown() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the devnet; its data stays in its directory",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			err := embedded.Down(ctx, dir)
			if errors.Is(err, fs.ErrNotExist) {
				return usage.Errorf("%q holds no devnet: want the --dir that jepgo devnet up was given", dir)
			}
			if err != nil {
				return usage.Errorf("%w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "devnet %s is down\n", dir)
			return nil
		},
	}
	dirFlag(cmd, &dir)
	return cmd
}

// printNode prints every endpoint of a node.
func printNode(w io.Writer, n devnet.Node) {
	fmt.Fprintf(w, "%s\n  http %s\n  ws %s\n  cometbft rpc %s\n", n.Name, n.HTTP, n.WS, n.Comet)
	for _, kind := range slices.Sorted(maps.Keys(n.Metrics)) {
		fmt.Fprintf(w, "  %s metrics %s\n", kind, n.Metrics[kind])
	}
	for _, proto := range slices.Sorted(maps.Keys(n.P2P)) {
		fmt.Fprintf(w, "  %s p2p %s\n", proto, n.P2P[proto])
	}
	fmt.Fprintf(w, "  log %s\n", n.Log)
}
