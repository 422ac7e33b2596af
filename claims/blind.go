package claims

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker"
)

// sights say, for each workload, what shows only where it runs.
var sights = []struct{ workload, what string }{
	{"head", "two nodes with different blocks at one height, or a final block that changed"},
	{"block", "blocks whose transactions, roots or indexes differ between nodes"},
	{"transfer", "a native payment that was lost or happened twice"},
	{"bank", "money that was made or lost between the calls of a contract"},
	{"register", "a read, write or compare-and-set out of order"},
	{"counter", "a call that took effect twice, or not at all"},
	{"set", "an element that was added and lost later"},
	{"append", "transactions that see each other in an impossible order"},
	{"receipt", "receipts that differ between nodes, or from their blocks"},
	{"log", "events that are missing from a query, or in it twice"},
	{"call-at", "one block whose state differs between nodes, or with time"},
	{"sub", "subscriptions that leave blocks or events out"},
	{"pool", "replaced and cancelled transactions that both take effect"},
	{"consensus", "validators that vote twice, or stay away"},
	{"precompile", "clients that disagree on what a precompiled contract returns"},
}

// dangers say, for groups of faults, what shows only under one of them.
var dangers = []struct {
	kinds []string // any of these, by their beginnings
	what  string
}{
	{[]string{"kill", "restart", "storm", "power", "isolate-kill", "memory-cap"}, "no node died: what a node forgets, or takes up wrongly, when it starts again"},
	{[]string{"power"}, "no power was lost: writes that were not synced to disk"},
	{[]string{"partition", "isolate-kill"}, "the network was never split: two sides that decide differently"},
	{[]string{"pause", "throttle", "brownout", "delay"}, "no node was slow: timers that fire too early, leaders that come back late"},
	{[]string{"clock"}, "no clock was wrong: rules that trust time"},
	{[]string{"disk", "power", "file"}, "no disk failed: errors that are not noticed"},
}

// Sight says what shows only where the workload runs, "" for an unknown one.
func Sight(workload string) string {
	for _, s := range sights {
		if s.workload == workload {
			return s.what
		}
	}
	return ""
}

// Blind lists, as sentences, what a run of jepgo's own could not have seen: the
// faults that did not happen in it, as its results tell, and the workloads that it
// did not run. Of many of those it gives the names only.
func Blind(info checker.TestInfo, results []checker.Result) (out []string) {
	if len(info.Nodes) == 1 {
		out = append(out, "there was one node: disagreement")
	}
	injected := injected(results)
	if len(injected) == 0 {
		out = append(out, "no fault was injected: whatever only a fault brings to light")
	}
	for _, d := range dangers {
		happened := slices.ContainsFunc(injected, func(kind string) bool {
			return slices.ContainsFunc(d.kinds, func(k string) bool { return strings.HasPrefix(kind, k) })
		})
		if !happened && len(injected) > 0 {
			out = append(out, d.what)
		}
	}
	var missing []string
	for _, c := range all() {
		if !slices.Contains(info.Workloads, c.workload) && !slices.Contains(missing, c.workload) {
			missing = append(missing, c.workload)
		}
	}
	if len(missing) > fewWorkloads {
		return append(out, fmt.Sprintf("the workloads %s did not run: what each of them is for (jepgo explain tells)", strings.Join(missing, ", ")))
	}
	for _, workload := range missing {
		out = append(out, fmt.Sprintf("without the workload %s: %s", workload, Sight(workload)))
	}
	return out
}

// fewWorkloads is how many have a line each.
const fewWorkloads = 3

// injected lists the kinds of fault that happened in a run.
func injected(results []checker.Result) []string {
	var kinds []string
	for _, r := range results {
		if r.Checker != checker.NemesisFaults().Name() {
			continue
		}
		for _, s := range r.Stats {
			if !strings.HasPrefix(s.Value, "0 ") {
				kinds = append(kinds, s.Name)
			}
		}
	}
	return kinds
}
