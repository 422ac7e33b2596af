package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/cmd/cli"
	"github.com/jepgo/jepgo/devnet/link/mechanism"
	"github.com/jepgo/jepgo/devnet/userns"
	"github.com/jepgo/jepgo/nemesis"
	"github.com/jepgo/jepgo/runner"
)

// finding is one line of the doctor's report.
type finding struct {
	Kind    string `json:"kind"` // mechanism, or fault
	Name    string `json:"name"`
	Works   bool   `json:"works"`
	Allow   string `json:"allow,omitempty"`   // the flag that must allow it
	Missing string `json:"missing,omitempty"` // what, and how to get it
	// Namespace says that it was tried in a user namespace, which jepgo makes for
	// such links.
	Namespace bool   `json:"user_namespace,omitempty"`
	Doc       string `json:"doc"`
}

func newDoctor() *cobra.Command {
	var asJSON bool
	var nodes int
	var link string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say which faults and mechanisms work on this machine, and why not",
		Long: `Try every mechanism that faults are made with on this machine, and say which
faults a devnet of jepgo's own could be tested with, and what is missing for the
others. It leaves no trace. The exit status is 0 whatever is missing.
For who is not root, --link emulator and --link kernel work in a user namespace that
jepgo makes; with them, everything is tried there.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := withLinks(link); err != nil {
				return err
			}
			found, err := examine(nodes, link)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(found)
			}
			if err := printFindings(cmd.OutOrStdout(), found); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "faults are those of an embedded devnet of %d nodes with --link %s; others: jepgo doctor --link %s\n",
				nodes, link, strings.Join(others(link), ", "))
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	cmd.Flags().IntVar(&nodes, "nodes", 4, "validators of the devnet that is thought of")
	cmd.Flags().StringVar(&link, "link", mechanism.Proxy, linkHelp())
	return cmd
}

// others lists the kinds of links but that one.
func others(link string) []string {
	return slices.DeleteFunc(mechanism.Names(), func(name string) bool { return name == link })
}

func examine(nodes int, link string) ([]finding, error) {
	var found []finding
	for _, m := range nemesis.Mechanisms() {
		inNamespace, err := probe(m)
		f := newFinding("mechanism", m.Name, m.Doc, err)
		f.Namespace = inNamespace || userns.Inside()
		found = append(found, f)
	}
	reach, err := runner.EmbeddedReach(nodes, link, true)
	if err != nil {
		return nil, err
	}
	for _, e := range nemesis.Registry() {
		f, err := e.New("")
		if err != nil {
			return nil, err
		}
		said := newFinding("fault", e.Name, e.Doc, f.Possible(reach))
		if e.Irreversible {
			said.Allow = "--allow-irreversible"
		}
		found = append(found, said)
	}
	return found, nil
}

func newFinding(kind, name, doc string, err error) finding {
	f := finding{Kind: kind, Name: name, Doc: doc, Works: err == nil}
	if err != nil {
		f.Missing = strings.TrimPrefix(err.Error(), fmt.Sprintf("nemesis %q: ", name)) // the line names it
	}
	return f
}

func printFindings(w io.Writer, found []finding) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	told := make(map[string]string) // what is missing → who said so first
	for _, f := range found {
		state, text := "works", f.Doc
		if !f.Works {
			state, text = "no", f.Missing
			if first, again := told[text]; again {
				text = "for the same reason as " + first
			} else {
				told[text] = f.Kind + " " + f.Name
			}
		} else if f.Namespace {
			text += " (in a user namespace)"
		}
		if f.Works && f.Allow != "" {
			text += " (with " + f.Allow + ")"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.Kind, f.Name, state, text)
	}
	return table.Flush()
}
