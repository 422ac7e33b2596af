package claims

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
)

// TestGlossary: every checker that judges runs can be explained, and the table in
// docs/checkers.md names the same anomalies.
func TestGlossary(t *testing.T) {
	terms := Glossary()
	find := func(name string) *Term {
		i := slices.IndexFunc(terms, func(t Term) bool { return t.Name == name })
		if i < 0 {
			return nil
		}
		return &terms[i]
	}
	for _, p := range Profiles() {
		streams, _, err := Streams(checker.TestInfo{Profile: p.Name, Workloads: Workloads()})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range streams {
			if find(s.Name()) == nil {
				t.Errorf("profile %s: checker %s is not in the glossary", p.Name, s.Name())
			}
		}
	}
	doc, err := os.ReadFile("../docs/checkers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(doc), "## What a chain is held to")
	if !ok {
		t.Fatal("docs/checkers.md has no table of what a chain is held to")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	quoted := regexp.MustCompile("`([a-z-]+)`")
	rows := 0
	for _, line := range strings.Split(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		term := find(strings.TrimSpace(cells[1]))
		if term == nil {
			continue
		}
		rows++
		var want, have []string
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			want = append(want, m[1])
		}
		for _, f := range term.Anomalies {
			have = append(have, f.Name)
		}
		want = slices.DeleteFunc(want, func(name string) bool { return strings.HasPrefix(name, ":") })
		slices.Sort(want)
		slices.Sort(have)
		if !slices.Equal(want, have) {
			t.Errorf("checker %s finds %q in the docs and %q in the glossary", term.Name, want, have)
		}
	}
	if rows != len(terms) {
		t.Errorf("docs/checkers.md explains %d of the %d checkers", rows, len(terms))
	}
}
