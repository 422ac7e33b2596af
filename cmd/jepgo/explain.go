package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jepgo/jepgo/checker/txn/lattice"
	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/devnet/link/mechanism"
	"github.com/jepgo/jepgo/judge"
	"github.com/jepgo/jepgo/nemesis"
	"github.com/jepgo/jepgo/runner"
	"github.com/jepgo/jepgo/usage"
	"github.com/jepgo/jepgo/workloads"
)

// topic is something that explain knows.
type topic struct {
	kind, name string
	also       []string // other names
	text       func() (string, error)
}

func (t topic) called(name string) bool { return t.name == name || slices.Contains(t.also, name) }

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [[KIND] NAME]",
		Short: "Say what a fault, workload, checker, anomaly, profile or anything else of jepgo is",
		Long: `Explain a fault (also one with its options, as delay:200ms), all or none, a kind of
links, a mechanism that jepgo doctor tries, a workload, a profile, a checker, an
anomaly, a consistency model, a planted bug or a model, from the same registries that
run them. Without a name, list what there is.`,
		Example: "  jepgo explain kill\n  jepgo explain partition:bridge\n  jepgo explain all\n  jepgo explain cgroup cpu\n  jepgo explain profile bft\n  jepgo explain durability\n  jepgo explain G-single",
		Args: func(_ *cobra.Command, args []string) error {
			if kind, name := cutKind(args); len(args) > 1 && kind == "" && !slices.ContainsFunc(topics(), func(t topic) bool { return t.called(name) }) {
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
			text, err := explain(cutKind(args))
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), text)
			return nil
		},
	}
}

// cutKind parts a kind, where the first argument is one, from a name, which may
// have several words.
func cutKind(args []string) (kind, name string) {
	if len(args) > 1 && slices.ContainsFunc(topics(), func(t topic) bool { return t.kind == args[0] }) {
		kind, args = args[0], args[1:]
	}
	return kind, strings.Join(args, " ")
}

// explain joins what every registry says of the name, or only that of one kind.
func explain(kind, name string) (string, error) {
	base := name
	if at := strings.IndexAny(name, ":@+"); at >= 0 {
		base = name[:at]
	}
	var parts []string
	for _, t := range topics() {
		if !t.called(name) && !(t.kind == kindFault && t.name == base) || kind != "" && t.kind != kind {
			continue
		}
		if t.kind == kindFault {
			t = faultTopic(t.name, name)
		}
		text, err := t.text()
		if err != nil {
			return "", usage.Errorf("%w", err)
		}
		title := t.name
		if t.kind == kindFault {
			title = name
		}
		parts = append(parts, fmt.Sprintf("%s (%s)\n%s\n", title, t.kind, strings.TrimRight(text, "\n")))
	}
	if len(parts) == 0 {
		if close := similar(base); len(close) > 0 {
			return "", usage.Errorf("%q is unknown: did you mean %s? jepgo explain lists all there is", name, strings.Join(close, ", "))
		}
		return "", usage.Errorf("%q is unknown: want one of these\n%s", name, listTopics())
	}
	return strings.Join(parts, "\n"), nil
}

// similar returns what is spelled much like name.
func similar(name string) []string {
	var names []string
	for _, t := range topics() {
		names = append(names, t.name)
	}
	return usage.Similar(name, names)
}

const kindFault = "fault"

func topics() []topic {
	var ts []topic
	for _, e := range nemesis.Registry() {
		ts = append(ts, faultTopic(e.Name, e.Name))
	}
	for _, l := range mechanism.Names() {
		ts = append(ts, topic{kind: "link", name: l, text: func() (string, error) { return explainLink(l) }})
	}
	for _, m := range nemesis.Mechanisms() {
		ts = append(ts, topic{kind: "mechanism", name: m.Name, also: m.Also, text: func() (string, error) { return explainMechanism(m), nil }})
	}
	selections := nemesis.Selections()
	for _, name := range slices.Sorted(maps.Keys(selections)) {
		ts = append(ts, topic{kind: "faults", name: name, text: func() (string, error) { return selections[name], nil }})
	}
	ts = append(ts,
		topic{kind: "trigger", name: "triggers", also: []string{"trigger"}, text: func() (string, error) {
			return "After the @ of a fault, when it starts:\n  " + strings.Join(nemesis.Triggers(), "\n  ") + "\n" + nemesis.Waiting() + ".\nAfter a +:\n  " + nemesis.Lengths() + "\n", nil
		}},
		topic{kind: "quorum", name: "quorum", text: func() (string, error) { return nemesis.Quorums(), nil }})
	for _, w := range workloads.All() {
		ts = append(ts, topic{kind: "workload", name: w.Name, text: func() (string, error) { return explainWorkload(w), nil }})
	}
	for _, p := range claims.Profiles() {
		ts = append(ts, topic{kind: "profile", name: p.Name, text: func() (string, error) { return p.Explain(), nil }})
	}
	for _, b := range runner.PlantedBugs() {
		ts = append(ts, topic{kind: "bug", name: b.Name, text: func() (string, error) { return b.Explain(), nil }})
	}
	for _, m := range judge.Models() {
		ts = append(ts, topic{kind: "model", name: m, text: func() (string, error) { return judge.Describe(m), nil }})
	}
	for _, t := range claims.Glossary() {
		ts = append(ts, topic{kind: "checker", name: t.Name, text: func() (string, error) { return t.Explain(), nil }})
	}
	for _, name := range anomalies() {
		ts = append(ts, topic{kind: "anomaly", name: name, text: func() (string, error) { return explainAnomaly(name), nil }})
	}
	for _, m := range lattice.Models() {
		ts = append(ts, topic{kind: "consistency", name: m, also: lattice.Aliases(m), text: func() (string, error) { return lattice.Describe(m), nil }})
	}
	return ts
}

// anomalies lists those of chains, and Elle's, each once.
func anomalies() (names []string) {
	for _, t := range claims.Glossary() {
		for _, f := range t.Anomalies {
			names = append(names, f.Name)
		}
	}
	names = append(names, lattice.Anomalies()...)
	slices.Sort(names)
	return slices.Compact(names)
}

func explainWorkload(w workloads.Workload) string {
	if sight := claims.Sight(w.Name); sight != "" {
		return fmt.Sprintf("%s\nIt is for: %s.", w.Doc, sight)
	}
	return w.Doc
}

func explainAnomaly(name string) string {
	var b strings.Builder
	for _, t := range claims.Found(name) {
		fmt.Fprintf(&b, "Checker %s: %s.\n", t.Name, t.Anomalies[0].Doc)
	}
	b.WriteString(lattice.Describe(name))
	return b.String()
}

// faultTopic explains a fault as it was spelled, with its options.
func faultTopic(name, spelled string) topic {
	return topic{kind: kindFault, name: name, text: func() (string, error) {
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
	features, err := mechanism.Features(name)
	if err != nil {
		return "", err
	}
	if len(features) == 0 {
		return "Nodes dial each other with nothing in between: every fault in links is refused. The others are measured against it.\n", nil
	}
	var b strings.Builder
	for _, m := range nemesis.Mechanisms() {
		if m.Name == "link "+name {
			fmt.Fprintf(&b, "%s\n", m.More)
		}
	}
	for _, f := range features {
		fmt.Fprintf(&b, "  %-16s %s\n", f.Feature, f.Semantics)
	}
	return b.String(), nil
}

func explainMechanism(m nemesis.Mechanism) string {
	here := "It works on this machine."
	if inNamespace, err := probe(m); err != nil {
		here = "It does not work on this machine: " + err.Error()
	} else if inNamespace {
		here = "It works on this machine, in a user namespace."
	}
	return fmt.Sprintf("%s.\n%s\n%s\n", strings.ToUpper(m.Doc[:1])+m.Doc[1:], m.More, here)
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
		separator := " "
		if k == "mechanism" {
			separator = ", " // their names have spaces
		}
		fmt.Fprintf(&b, "%-11s %s\n", k, strings.Join(byKind[k], separator))
	}
	return b.String()
}
