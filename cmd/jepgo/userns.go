package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/cmd/cli"
	"github.com/jepgo/jepgo/devnet/link/mechanism"
	"github.com/jepgo/jepgo/devnet/link/netns"
	"github.com/jepgo/jepgo/devnet/userns"
	"github.com/jepgo/jepgo/nemesis"
	"github.com/jepgo/jepgo/usage"
)

// withLinks runs this very command again in a user namespace when this user could
// not make links of that mechanism otherwise. The error is then not nil: it holds
// the exit status, or says why the command could not be run there. On nil the
// command goes on here.
func withLinks(link string) error {
	err := mechanism.Probe(link)
	if !errors.Is(err, netns.ErrPrivilege) {
		return nil // what else is missing, the options' check tells
	}
	if userns.Inside() {
		return usage.Errorf("--link %s: %w", link, powerless(err))
	}
	cmd := userns.Command(os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	status, err := userns.Run(cmd)
	if err != nil {
		return usage.Errorf("--link %s: it takes root or a user namespace: %w", link, err)
	}
	return cli.Status(status)
}

// powerless says why a user namespace is of no use although the kernel made it.
func powerless(err error) error {
	return fmt.Errorf("%w; one was made, and it gives no rights on this machine: as root, sysctl kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), or run as root", err)
}

// probe is the mechanism's Probe, and tries it in a user namespace when this user
// lacks only the rights: jepgo makes one for who asks for such links.
func probe(m nemesis.Mechanism) (inNamespace bool, err error) {
	if err = m.Probe(); !errors.Is(err, netns.ErrPrivilege) || userns.Inside() {
		return false, err
	}
	cmd := userns.Command(probeCommand, m.Name)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	status, err := userns.Run(cmd)
	if err == nil && status != cli.Valid {
		err = errors.New(strings.TrimSpace(said.String()))
	}
	return true, err
}

const probeCommand = "probe-mechanism"

// newProbe is what probe runs in the namespace.
func newProbe() *cobra.Command {
	return &cobra.Command{
		Use:    probeCommand + " NAME",
		Short:  "Try one mechanism; say why it does not work",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all := nemesis.Mechanisms()
			i := slices.IndexFunc(all, func(m nemesis.Mechanism) bool { return m.Name == args[0] })
			if i < 0 {
				return usage.Errorf("mechanism %q does not exist", args[0])
			}
			err := all[i].Probe()
			if errors.Is(err, netns.ErrPrivilege) {
				err = powerless(err)
			}
			if err != nil {
				cmd.PrintErrln(err)
				return cli.Status(cli.Unknown)
			}
			return nil
		},
	}
}
