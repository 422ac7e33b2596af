package jepgo_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/jepgo/jepgo/"

// rooms says what each room may import of the others, itself included. A room
// is a top-level folder; what is not listed may not be imported.
var rooms = map[string][]string{
	"usage":     {},
	"history":   {},
	"gen":       {"usage", "history"},
	"checker":   {"history"},
	"claims":    {"usage", "history", "checker"},
	"client":    {"history"},
	"workloads": {"usage", "client", "history", "checker", "claims"},
	"devnet":    {},
	"nemesis":   {"usage", "devnet", "history"},
	"store":     {"history", "checker"},
	"report":    {"history", "checker", "store"},
	"judge":     {"usage", "history", "checker", "claims", "store", "report"},
	"runner":    {"usage", "history", "checker", "claims", "client", "workloads", "devnet", "nemesis", "store", "report", "judge"},
	"cmd":       {"usage", "history", "gen", "checker", "claims", "client", "workloads", "devnet", "nemesis", "store", "report", "judge", "runner"},
	"live":      {"history", "checker", "client", "workloads", "devnet", "nemesis", "store", "report", "runner"},
}

// light lists the rooms that stay free of chain clients and consensus, so that
// a program that only judges does not carry them in its binary.
var light = []string{"usage", "history", "gen", "checker", "claims", "store", "report", "judge", "nemesis"}

// lightPrograms are held to the same.
var lightPrograms = []string{module + "cmd/cli", module + "cmd/jepgo-check"}

// heavy are the modules that they must not depend on.
var heavy = []string{"github.com/ethereum/go-ethereum", "github.com/cometbft/"}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func room(path string) string {
	rest, ok := strings.CutPrefix(path, module)
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// TestWalls holds the one direction in which data walks through the house.
func TestWalls(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range packages(t) {
		from := room(p.ImportPath)
		if from == "" {
			continue
		}
		seen[from] = true
		allowed, ok := rooms[from]
		if !ok {
			t.Errorf("%s is in no known room: add it to the plan of the house first", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			to := room(imp)
			if to == "" || to == from || slices.Contains(allowed, to) {
				continue
			}
			t.Errorf("%s imports %s: room %s may import only %v", p.ImportPath, imp, from, allowed)
		}
		if !slices.Contains(light, from) && !slices.Contains(lightPrograms, p.ImportPath) {
			continue
		}
		for _, dep := range p.Deps {
			for _, h := range heavy {
				if strings.HasPrefix(dep, h) {
					t.Errorf("%s depends on %s: room %s must stay light", p.ImportPath, dep, from)
				}
			}
		}
	}
	if !seen["history"] || !seen["runner"] {
		t.Fatalf("go list showed only the rooms %v: this test saw nothing", seen)
	}
}
