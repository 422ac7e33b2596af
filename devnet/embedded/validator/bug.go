package validator

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	cmtnode "github.com/cometbft/cometbft/node"
)

// Whom a bug may be planted in.
const (
	EveryValidator = "every validator"
	LastValidator  = "the last validator"
)

// What the checker that is meant for a bug says, where it does not call the run
// invalid.
const (
	Warns  = "a warning"
	Unsure = "unknown"
)

// Bug is a planted bug: a lie that the node tells on top of an honest chain, so
// that a checker can prove that it notices. It has one or more of the fields
// below; where a kind of lie has none, that port stays honest.
type Bug struct {
	Name    string
	Doc     string // one sentence: what a client sees
	Targets string // EveryValidator or LastValidator

	Workloads []string // that bring it to light, together
	Nemesis   string   // that it needs beside them, "" for none
	Checker   string   // that must call such a run invalid,
	Says      string   // or no more than this: Warns or Unsure

	Time time.Duration // main phase that the checker needs, 0 for any

	plant    func(honest) rewriter                              // over HTTP
	announce func(honest) announcer                             // over WebSocket, to each subscription anew
	comet    func(path string, result object)                   // over CometBFT's RPC: changes a result
	act      func(ctx context.Context, node honest, dir string) // what the process itself does, until ctx ends
}

// Hits reports whether the bug belongs into validator index of n.
func (b Bug) Hits(index, n int) bool { return b.Targets == EveryValidator || index == n-1 }

// Explain says what the bug does and how to see it.
func (b Bug) Explain() string {
	more := ""
	if b.Nemesis != "" {
		more = " --nemesis " + b.Nemesis
	}
	if b.Time > 0 {
		more += " --time " + b.Time.String()
	}
	doc := strings.ToUpper(b.Doc[:1]) + b.Doc[1:]
	return fmt.Sprintf("%s. Planted in %s.\nFound by the checker %s:\n  jepgo test --bug %s --workload %s%s\n",
		doc, b.Targets, b.CaughtBy(), b.Name, strings.Join(b.Workloads, ","), more)
}

// CaughtBy names the checker that is meant for the bug, and what it says of it
// where that is not that the run is invalid.
func (b Bug) CaughtBy() string {
	if b.Says == "" {
		return b.Checker
	}
	return fmt.Sprintf("%s (%s)", b.Checker, b.Says)
}

// Bugs lists the planted bugs by name.
func Bugs() []Bug {
	var all []Bug
	for _, kind := range [][]Bug{blockBugs(), tagBugs(), stateBugs(), receiptBugs(), logBugs(), lossBugs(), streamBugs(), voteBugs(), processBugs()} {
		all = append(all, kind...)
	}
	return all
}

func findBug(name string) (Bug, error) {
	var names []string
	for _, b := range Bugs() {
		if b.Name == name {
			return b, nil
		}
		names = append(names, b.Name)
	}
	return Bug{}, fmt.Errorf("config bug: %q, want one of %s", name, strings.Join(names, ", "))
}

// bug is the planted bug; an honest node has one that does nothing.
func (cfg Config) bug() Bug {
	b, _ := findBug(cfg.Bug) // Validate knows the names
	return b
}

// serveBug opens the ports about which the planted bug lies, in the place of the
// servers that would have them, and sets off what the bug does by itself.
func serveBug(ctx context.Context, cfg Config, exec *execution, comet *cmtnode.Node, log *slog.Logger) error {
	bug := cfg.bug()
	if bug.Name == "" {
		return nil
	}
	log.Warn("node has a planted bug", "bug", bug.Name)
	node := askNode(ctx, exec)
	if bug.plant != nil {
		if err := serve(ctx, "rpc with bug "+bug.Name, cfg.Listen.HTTP, &front{node, bug.plant(node)}); err != nil {
			return err
		}
	}
	if bug.announce != nil {
		if err := serve(ctx, "websocket with bug "+bug.Name, cfg.Listen.WS, &streamFront{ctx, node, bug.announce}); err != nil {
			return err
		}
	}
	if bug.comet != nil {
		mux, err := cometRoutes(comet)
		if err != nil {
			return err
		}
		if err := serve(ctx, "cometbft rpc with bug "+bug.Name, cfg.Listen.CometRPC, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			lieOfComet(mux, bug.comet, w, r)
		})); err != nil {
			return err
		}
	}
	if bug.act != nil {
		go bug.act(ctx, node, cfg.Dir)
	}
	return nil
}
