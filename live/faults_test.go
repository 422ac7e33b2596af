//go:build live

package live

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/devnet/link/mechanism"
)

// TestEveryFault runs everything that this machine can do to a devnet, on every
// mechanism of links: no false alarm, evidence of every fault's onset and end,
// and a machine that is as before.
func TestEveryFault(t *testing.T) {
	mechanisms := mechanism.Names()
	if testing.Short() {
		mechanisms = []string{mechanism.Emulator} // the proxies have TestNemesis
	}
	for _, link := range mechanisms {
		if err := mechanism.Probe(link); err != nil {
			t.Logf("LINKS %s NOT TESTED: %v", link, err)
			continue
		}
		for seed := 1; seed <= *seeds; seed++ {
			t.Run(fmt.Sprintf("%s/seed=%d", link, seed), func(t *testing.T) {
				dir := t.TempDir()
				before := snapshot(t)
				r := jepgo(t, dir, "test", "--link", link, "--nemesis", "all", "--time", faultsLength.String(),
					"--nemesis-interval", "3s", "--seed", fmt.Sprint(seed))
				if r.status != 0 {
					t.Errorf("want a valid run: %s", r)
				}
				rows, err := os.ReadFile(filepath.Join(dir, "store", "latest", "faults.edn"))
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for row := range strings.Lines(string(rows)) {
					n++
					if !strings.Contains(row, ":evidence {") || !strings.Contains(row, ":undo {") {
						t.Errorf("without evidence: %s", row)
					}
					t.Log(strings.TrimSpace(row))
				}
				if n == 0 {
					t.Error("no fault at all")
				}
				clean(t, dir)
				untouched(t, before)
			})
		}
	}
}
