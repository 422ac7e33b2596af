//go:build live

package live

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/devnet/link/mechanism"
	"github.com/jepgo/jepgo/history"
)

// TestMeasured injects each fault into real nodes and holds what was measured
// against what was asked for. What a slow machine makes worse is judged by the
// best of the edges or nodes, what it cannot make worse by all of them. Afterwards
// the machine is as before. Clocks have TestClockOfOneValidator, power
// TestPowerLoss.
func TestMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: takes minutes: run it without -short")
	}
	for _, run := range []struct {
		name   string
		args   []string
		any    bool // verdict will do: answers are falsified, or nodes lost for good
		faults map[string]func(targets, evidence, undo history.Value) error
	}{
		{"emulator", []string{"--link", mechanism.Emulator, "--time", "110s"}, false, measures{
			"delay:one:100ms": held(100), "jitter:one:50ms": anyEdge("held"), "loss:one:10%": share("lost", 0.1),
			"duplicate:one:10%": share("duplicated", 0.1), "corrupt:one:10%": share("corrupted", 0.1),
			"reorder:one:10%": anyEdge("reordered"), "bandwidth:one:32kbit": filled,
			"reset:one": anyEdge("resets"), "disconnect:one": shown, "partition:one": severed,
		}},
		{"kernel", []string{"--link", mechanism.Kernel, "--time", "50s"}, false, measures{
			"loss:one:10%": share("lost", 0.1), "bandwidth:one:32kbit": filled,
			"reset:one": anyEdge("resets"), "disconnect:one": shown, "partition:one": severed,
		}},
		{"proxy", []string{"--link", mechanism.Proxy, "--time", "110s"}, false, measures{
			"delay:one:100ms": held(100), "jitter:one:50ms": anyEdge("held"), "bandwidth:one:32kbit": filled,
			"stall:one": anyEdge("stalls"), "slice:one": anyEdge("units"), "slow-close:one": anyEdge("held-ends"),
			"half-open:one": anyEdge("held-ends"), "reset:one": anyEdge("resets"), "disconnect:one": shown,
			"partition:one": severed, "brownout:one": shown, "isolate-kill:one": shown,
		}},
		{"processes", []string{"--time", "110s"}, false, measures{
			"kill:one": each("gone"), "pause:one": each("state"), "pause:one:freeze": each("state"), "stop:one": each("gone"),
			"restart:one": each("gone"), "storm:one": each("kills"), "throttle:one": atMost("used-share", "share", 1.1),
			"burn:one": each("used-share"), "memory-cap:one": each("oom-kills"),
			"io-throttle:one": atMost("rate-seen-bytes", "rate-bytes", 1.1), "config:one": shown, "peer:one": each("sent"),
		}},
		{"disks", []string{"--time", "80s"}, false, measures{
			"disk-error:one": each("canary-failed"), "disk-full:one": each("canary-failed"), "disk-slow:one:100ms": slow,
			"disk-readonly:one": each("canary-failed"), "disk-flip:one": each("canary-flipped"), "disk-fill:one": each("filler-bytes"),
		}},
		{"answers", []string{"--time", "50s"}, true, measures{
			"rpc-delay:one:100ms": answersHeld, "rpc-drop:one:30%": answers(0.3), "rpc-error:one:30%": answers(0.3),
			"rpc-stale:one": answers(1), "rpc-corrupt:one:30%": answers(0.3),
		}},
		{"destruction", []string{"--allow-irreversible", "--time", "100s"}, true, measures{
			"disk-torn:one": each("canary-torn"), "file-truncate:one": each("files"), "file-flip:one": each("files"),
			"file-delete:one": each("files"), "wipe:one": each("deleted-bytes"), "rollback:one": each("differed"),
		}},
	} {
		t.Run(run.name, func(t *testing.T) {
			var specs []string
			for spec := range run.faults {
				specs = append(specs, spec)
			}
			slices.Sort(specs)
			dir := t.TempDir()
			before := snapshot(t)
			r := jepgo(t, dir, append([]string{"test", "--seed", "7", "--nemesis-interval", "3s", "--nemesis", strings.Join(specs, ",")}, run.args...)...)
			if r.status != 0 && !(run.any && (r.status == 1 || r.status == 2)) {
				t.Errorf("want a valid run: %s", r)
			}
			seen := make(map[string]bool)
			for _, row := range faults(t, dir) {
				kind, _ := row.Field("fault")
				targets, _ := row.Field("targets")
				evidence, ok := row.Field("evidence")
				undo, undone := row.Field("undo")
				if !ok || !undone {
					t.Errorf("without evidence: %s", row)
					continue
				}
				for _, spec := range specs {
					if name, _, _ := strings.Cut(spec, ":"); name != kind.Text() {
						continue
					}
					if err := run.faults[spec](targets, evidence, undo); err != nil {
						t.Errorf("%s: %v: %s", spec, err, row)
					}
					seen[spec] = true
				}
				t.Log(row)
			}
			for _, spec := range specs {
				if !seen[spec] {
					t.Errorf("%s was never injected", spec)
				}
			}
			clean(t, dir)
			untouched(t, before)
		})
	}
}

// measures holds, for what --nemesis is given, what says how a row differs from it.
type measures = map[string]func(targets, evidence, undo history.Value) error

// entries lists the values of a map whose keys are nodes, or edges.
func entries(v history.Value) (list []history.Value) {
	for kv := v.Elems(); len(kv) > 1; kv = kv[2:] {
		if kv[1].Kind() == history.Map {
			list = append(list, kv[1])
		}
	}
	return list
}

// totals lists what each edge counted from the onset to the end.
func totals(undo history.Value) (list []history.Value) {
	for _, edge := range entries(undo) {
		if total, ok := edge.Field("total"); ok {
			list = append(list, total)
		}
	}
	return list
}

func shown(_, evidence, undo history.Value) error {
	if len(entries(evidence)) == 0 || len(entries(undo)) == 0 {
		return fmt.Errorf("nothing was measured")
	}
	return nil
}

// each wants a key of every target's evidence, not zero.
func each(key string) func(_, evidence, _ history.Value) error {
	return func(_, evidence, _ history.Value) error {
		all := entries(evidence)
		for _, one := range all {
			v, ok := one.Field(key)
			if n, number := v.Float(); !ok || number && n == 0 {
				return fmt.Errorf("no %s", key)
			}
		}
		if len(all) == 0 {
			return fmt.Errorf("no target has evidence")
		}
		return nil
	}
}

// atMost wants of every target a figure that is no more than what was asked, times so much.
func atMost(key, asked string, times float64) func(targets, evidence, _ history.Value) error {
	return func(targets, evidence, undo history.Value) error {
		if err := each(key)(targets, evidence, undo); err != nil {
			return err
		}
		for _, one := range entries(evidence) {
			if got, most := number(one, key), number(targets, asked)*times; !(got <= most) {
				return fmt.Errorf("%s is %g, more than %g", key, got, most)
			}
		}
		return nil
	}
}

// anyEdge wants something of that kind to have happened.
func anyEdge(key string) func(_, _, undo history.Value) error {
	return func(_, _, undo history.Value) error {
		for _, edge := range totals(undo) {
			if _, ok := edge.Field(key); ok {
				return nil
			}
		}
		return fmt.Errorf("no edge has any %s", key)
	}
}

func severed(_, evidence, _ history.Value) error {
	for _, edge := range entries(evidence) {
		if delivered := number(edge, "delivered"); delivered != 0 {
			return fmt.Errorf("%g bytes were delivered over a cut edge", delivered)
		}
	}
	return nil
}

// held wants what every edge held back in the mean not to be less than asked, and
// that of one to be within 2 ms or 5 %, and what the machine was late.
func held(ms float64) func(_, _, undo history.Value) error {
	return func(_, _, undo history.Value) error {
		var means []float64
		var late float64
		for _, edge := range totals(undo) {
			if count(edge, "held") > 0 {
				means = append(means, number(edge, "mean-held-ms"))
			}
			late = max(late, count(edge, "latest-ms"))
		}
		return near(means, ms, max(2, ms*0.05)+late)
	}
}

// count is a counter, which is left out where it is zero.
func count(v history.Value, field string) float64 {
	if _, ok := v.Field(field); !ok {
		return 0
	}
	return number(v, field)
}

// near wants no figure below what was asked, and one within the slack.
func near(figures []float64, asked, slack float64) error {
	if len(figures) == 0 {
		return fmt.Errorf("nothing was measured")
	}
	if least := slices.Min(figures); !(least > asked-0.5 && least < asked+slack) {
		return fmt.Errorf("least of %v is not from %g to %g", figures, asked, asked+slack)
	}
	return nil
}

// share wants a count within what 99.9 % of the binomial draws give.
func share(key string, p float64) func(_, _, undo history.Value) error {
	return func(_, _, undo history.Value) error {
		var units, hit float64
		for _, edge := range totals(undo) {
			units, hit = units+count(edge, "units"), hit+count(edge, key)
		}
		return binomial(hit, units, p)
	}
}

func binomial(hit, of, p float64) error {
	if off := math.Abs(hit - of*p); of == 0 || off > 3.29*math.Sqrt(of*p*(1-p))+1 {
		return fmt.Errorf("%g of %g are no share of %g", hit, of, p)
	}
	return nil
}

// filled wants no edge to carry over 10 % more than its rate, and the busiest of
// them, whose queue is never empty, not under 10 % less.
func filled(_, _, undo history.Value) error {
	most := 0.0
	for _, edge := range totals(undo) {
		most = max(most, number(edge, "filled"))
	}
	if !(most > 0.9 && most < 1.1) {
		return fmt.Errorf("the busiest edge carried %g of the rate", most)
	}
	return nil
}

// slow wants the least latency that a target saw within 20 %.
func slow(targets, evidence, _ history.Value) error {
	var least []float64
	for _, one := range entries(evidence) {
		least = append(least, number(one, "canary-least-ms"))
	}
	asked := number(targets, "latency-ms")
	return near(least, asked, asked*0.2)
}

// answersHeld wants what held wants; by the answer that was held least, as a slow
// machine is late with all others.
func answersHeld(_, _, undo history.Value) error {
	var least []float64
	for _, one := range totals(undo) {
		least = append(least, number(one, "least-delay-ms"))
	}
	return near(least, 100, 5)
}

// answers wants that share of the requests that the rule is for to have met it.
func answers(p float64) func(_, _, undo history.Value) error {
	return func(_, _, undo history.Value) error {
		for _, one := range totals(undo) {
			acted, matched := number(one, "acted"), number(one, "matched")
			if p < 1 {
				if err := binomial(acted, matched, p); err != nil {
					return err
				}
			}
			if acted == 0 {
				return fmt.Errorf("no answer was touched")
			}
		}
		return nil
	}
}
