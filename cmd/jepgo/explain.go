package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/judge"
	"github.com/jepgo/jepgo/nemesis"
	"github.com/jepgo/jepgo/usage"
	"github.com/jepgo/jepgo/workloads"
)

// topic is something that explain knows.
type topic struct {
	kind, name string
	text       func() (string, error)
}

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [[KIND] NAME]",
		Short: "Say what a fault, link, workload, profile or model is",
		Long: `Explain a fault (also one with its options, as delay:200ms), a mechanism of links,
a workload, a profile or a model, from the same registries that run them. Without
a name, list what there is.`,
		Example: "  jepgo explain kill\n  jepgo explain partition:bridge\n  jepgo explain profile bft",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 2:
				return usage.Errorf("argument %q: want one name at most, or a kind and a name", args[2])
			case len(args) == 2 && !slices.ContainsFunc(topics(), func(t topic) bool { return t.kind == args[0] }):
				return usage.Errorf("argument %q: want one name at most, or a kind and a name, such as profile bft", args[1])
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, t := range topics() {
				names = append(names, t.name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				fmt.Fprint(cmd.OutOrStdout(), listTopics())
				return nil
			}
			kind := ""
			if len(args) == 2 {
				kind = args[0]
			}
			text, err := explain(kind, args[len(args)-1])
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), text)
			return nil
		},
	}
}

// explain joins what every registry says of the name, or only that of one kind.
func explain(kind, name string) (string, error) {
	base := name
	if at := strings.IndexAny(name, ":@+"); at >= 0 {
		base = name[:at]
	}
	var parts []string
	for _, t := range topics() {
		if t.name != name && !(t.kind == kindFault && t.name == base) || kind != "" && t.kind != kind {
			continue
		}
		if t.kind == kindFault {
			t = faultTopic(t.name, name)
		}
		text, err := t.text()
		if err != nil {
			return "", usage.Errorf("%w", err)
		}
		parts = append(parts, fmt.Sprintf("%s (%s)\n%s\n", name, t.kind, strings.TrimRight(text, "\n")))
	}
	if len(parts) == 0 {
		return "", usage.Errorf("%q is unknown: want one of these\n%s", name, listTopics())
	}
	return strings.Join(parts, "\n"), nil
}

const kindFault = "fault"

func topics() []topic {
	var ts []topic
	for _, e := range nemesis.Registry() {
		ts = append(ts, faultTopic(e.Name, e.Name))
	}
	for _, l := range nemesis.LinkMechanisms() {
		ts = append(ts, topic{"link", l, func() (string, error) { return explainLink(l) }})
	}
	ts = append(ts, topic{"trigger", "triggers", func() (string, error) { return strings.Join(nemesis.Triggers(), "\n"), nil }})
	for _, w := range workloads.All() {
		ts = append(ts, topic{"workload", w.Name, func() (string, error) { return w.Doc, nil }})
	}
	for _, p := range claims.Profiles() {
		ts = append(ts, topic{"profile", p.Name, func() (string, error) { return p.Explain(), nil }})
	}
	for _, m := range judge.Models() {
		ts = append(ts, topic{"model", m, func() (string, error) { return judge.Describe(m), nil }})
	}
	return ts
}

// faultTopic explains a fault as it was spelled, with its options.
func faultTopic(name, spelled string) topic {
	return topic{kindFault, name, func() (string, error) {
		e, f, err := nemesis.Lookup(spelled)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n", f.Explain())
		if len(e.Specs) > 0 {
			fmt.Fprintf(&b, "After a colon, in any order: %s.\n", strings.Join(e.Specs, "; "))
		}
		fmt.Fprintf(&b, "After @, when it starts, and after +, how long it stays: %s@height=50+10s. jepgo explain triggers lists the moments.\n", name)
		fmt.Fprintf(&b, "In the history: %s and %s.\n", f.Start(), f.Stop())
		if e.Irreversible {
			b.WriteString("It destroys what no undo brings back: only with --allow-irreversible, and never part of all.\n")
		}
		return b.String(), nil
	}}
}

func explainLink(name string) (string, error) {
	features, err := nemesis.LinkFeatures(name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range features {
		fmt.Fprintf(&b, "  %-16s %s\n", f.Feature, f.Semantics)
	}
	return b.String(), nil
}

func listTopics() string {
	byKind := map[string][]string{}
	var kinds []string
	for _, t := range topics() {
		if !slices.Contains(kinds, t.kind) {
			kinds = append(kinds, t.kind)
		}
		byKind[t.kind] = append(byKind[t.kind], t.name)
	}
	var b strings.Builder
	for _, k := range kinds {
		fmt.Fprintf(&b, "%-9s %s\n", k, strings.Join(byKind[k], " "))
	}
	return b.String()
}
