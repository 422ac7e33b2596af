// Package load runs helper processes that load the machine beside a node: they
// burn processor time on the node's cores, or write to its disk.
//
// A helper is this program again, with a hidden first argument: whoever starts
// helpers calls Main before anything else in its own main function.
//
// Guarantees: a helper dies with the process that started it, in whatever way
// that ends (Pdeathsig, and the end of a pipe). Its arguments carry its mark, so
// that it can be found and ended without knowing its pid. A program that does not
// call Main is found out within the time of Start's context, and starts no
// further helpers.
//
// It is not for loading one node of many on the same cores: whoever runs there
// feels it.
package load

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/jepgo/jepgo/devnet"
)

// Command is the hidden first argument of a helper.
const Command = "load-helper"

// nestedEnv is in the environment of helpers, so that a program which does not
// call Main cannot start itself for ever.
const nestedEnv = "JEPGO_LOAD_HELPER"

// ready is what a helper says first.
const ready = "ready"

// Mark names helpers: their owner, their node, and which of several they are.
// It may hold no blank.
func Mark(owner devnet.Identity, node string, nonce uint64) string {
	return strings.Join([]string{"jepgo", strconv.Itoa(owner.PID), strconv.FormatUint(owner.Start, 10), node, strconv.FormatUint(nonce, 36)}, ":")
}

// ownerOf reads the owner from a mark.
func ownerOf(mark string) (devnet.Identity, bool) {
	parts := strings.Split(mark, ":")
	if len(parts) != 5 || parts[0] != "jepgo" {
		return devnet.Identity{}, false
	}
	pid, err1 := strconv.Atoi(parts[1])
	start, err2 := strconv.ParseUint(parts[2], 10, 64)
	return devnet.Identity{PID: pid, Start: start}, err1 == nil && err2 == nil
}

// Work is what a helper does.
type Work struct {
	// Cores to burn, one thread for each; none: no burning.
	Cores []int
	// Duty is the share of its time for which a thread burns; 0 is 1.
	Duty float64
	// Dir is where to write, into a file without a name; "": no writing. Each
	// write is on the disk before the next.
	Dir string
}

func (w Work) args() []string {
	cores := make([]string, len(w.Cores))
	for i, c := range w.Cores {
		cores[i] = strconv.Itoa(c)
	}
	return []string{strings.Join(cores, ","), strconv.FormatFloat(w.Duty, 'g', -1, 64), w.Dir}
}

func parseWork(args []string) (w Work, err error) {
	if len(args) != 3 {
		return w, fmt.Errorf("%d arguments, expected 3", len(args))
	}
	if args[0] != "" {
		for c := range strings.SplitSeq(args[0], ",") {
			n, err := strconv.Atoi(c)
			if err != nil {
				return w, fmt.Errorf("core %q: expected a whole number", c)
			}
			w.Cores = append(w.Cores, n)
		}
	}
	if w.Duty, err = strconv.ParseFloat(args[1], 64); err != nil || !(w.Duty >= 0 && w.Duty <= 1) {
		return w, fmt.Errorf("duty %q: expected a share up to 1", args[1])
	}
	if w.Duty == 0 {
		w.Duty = 1
	}
	w.Dir = args[2]
	return w, nil
}

// Main is a helper when args, which are those of the program without its name,
// say so; it then returns at the helper's end, and true. Else it does nothing.
func Main(args []string) (ran bool) {
	if len(args) < 2 || args[0] != Command {
		return false
	}
	// args[1] is the mark, for those who look for it.
	w, err := parseWork(args[2:])
	if err == nil {
		err = w.do()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load helper:", err)
		os.Exit(1)
	}
	return true
}

// Helper is a helper that runs. Its methods are safe for concurrent use.
type Helper struct {
	Process devnet.Identity
	Mark    string
	written atomic.Int64
	begun   chan struct{} // closed when it is at work
	ended   chan struct{} // closed when it has been waited for
}

// Written is how many bytes it has put on the disk.
func (h *Helper) Written() int64 { return h.written.Load() }
