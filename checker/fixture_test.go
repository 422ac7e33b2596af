package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

// ops reads a short form of histories, an op a line, a millisecond apart:
//
//	PROCESS TYPE F VALUE | MORE KEYS
//
// where a process of - is none.
func ops(t testing.TB, lines string) *history.History {
	t.Helper()
	var edn strings.Builder
	at := 0
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		line, more, _ := strings.Cut(line, "|")
		fields := strings.SplitN(strings.TrimSpace(line), " ", 4)
		fmt.Fprintf(&edn, "{:index %d, :time %d, :type :%s, :f :%s", at, at*1_000_000, fields[1], fields[2])
		if fields[0] != "-" {
			fmt.Fprintf(&edn, ", :process %s", fields[0])
		}
		if len(fields) > 3 {
			fmt.Fprintf(&edn, ", :value %s", fields[3])
		}
		fmt.Fprintf(&edn, " %s}\n", more)
		at++
	}
	return historytest.Read(t, edn.String())
}

// judge gives a history to a stream.
func judge(s Stream, h *history.History) Result {
	for e := range h.Events() {
		s.Take(e)
	}
	return s.Finish(context.Background(), h.Source())
}

// names returns the names of the anomalies of a result, each once.
func names(r Result) []string {
	var names []string
	for _, a := range r.Anomalies {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// stat returns the value of a stat.
func stat(r Result, name string) string {
	for _, s := range r.Stats {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// alone judges nothing but the ops of a witness and reports whether that gives an
// anomaly of the same name.
func alone(t interface{ Errorf(string, ...any) }, begin func() Stream, h *history.History, a Anomaly) bool {
	var part history.History
	for i, ref := range a.Witness {
		if i > 0 && a.Witness[i-1].Index >= ref.Index {
			t.Errorf("witness of %s is not in order: %v", a.Name, a.Witness)
		}
		if want := h.Ops[ref.Index].String(); ref.Op != want {
			t.Errorf("witness has %s, want %s", ref.Op, want)
		}
		part.Ops = append(part.Ops, h.Ops[ref.Index])
	}
	return slices.Contains(names(judge(begin(), &part)), a.Name)
}

// holdWitnesses fails where a witness alone does not show its anomaly.
func holdWitnesses(t testing.TB, begin func() Stream, h *history.History, r Result) {
	t.Helper()
	for _, a := range r.Anomalies {
		if len(a.Witness) == 0 {
			t.Errorf("%s has no witness", a.Name)
		} else if !alone(t, begin, h, a) {
			t.Errorf("witness of %s alone does not show it:\n%s\n%v", a.Name, a.Message, a.Witness)
		}
	}
	if (r.Verdict == Invalid) != (len(r.Anomalies) > 0) {
		t.Errorf("%v with %d anomalies: %s", r.Verdict, len(r.Anomalies), r.Reason)
	}
	if r.Verdict == Valid && r.Facts == 0 {
		t.Errorf("valid without facts: %s", r.Reason)
	}
}

// fixture is a history with what a stream says of it.
type fixture struct {
	name    string
	begin   func() Stream
	history string
	verdict Verdict
	names   string            // of the anomalies, in order
	says    string            // part of the reason, the messages or the warnings
	stats   map[string]string // some of them
}

func hold(t *testing.T, fixtures []fixture) {
	t.Helper()
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			h := ops(t, f.history)
			r := judge(f.begin(), h)
			if r.Verdict != f.verdict || strings.Join(names(r), " ") != f.names {
				t.Errorf("says %v %v (%s), want %v %s", r.Verdict, names(r), r.Reason, f.verdict, f.names)
			}
			text := r.Reason
			for _, a := range r.Anomalies {
				text += "\n" + a.Message
			}
			text += "\n" + strings.Join(r.Warnings, "\n")
			if !strings.Contains(text, f.says) {
				t.Errorf("says %q, want %q in it", text, f.says)
			}
			for name, want := range f.stats {
				if got := stat(r, name); got != want {
					t.Errorf("stat %s is %q, want %q", name, got, want)
				}
			}
			holdWitnesses(t, f.begin, h, r)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			ended := f.begin()
			for e := range h.Events() {
				ended.Take(e)
			}
			if r := ended.Finish(ctx, h.Source()); r.Verdict != Unknown || r.Checker != ended.Name() {
				t.Errorf("after its context ended %s says %v", r.Checker, r.Verdict)
			}
		})
	}
}
