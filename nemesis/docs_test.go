package nemesis

import (
	"os"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/devnet/link/mechanism"
)

// TestDocs holds docs/faults.md to the registry.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, e := range Registry() {
		if !strings.Contains(text, "`"+e.Name+"`") {
			t.Errorf("fault %s is not in docs/faults.md", e.Name)
		}
	}
	for _, l := range mechanism.Names() {
		if !strings.Contains(text, "`"+l+"`") {
			t.Errorf("links %s are not in docs/faults.md", l)
		}
	}
	for _, k := range triggerKinds() {
		if !strings.Contains(text, "@"+k.name+"=") {
			t.Errorf("trigger %s is not in docs/faults.md", k.name)
		}
	}
}
