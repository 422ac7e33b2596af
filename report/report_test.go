package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

func sample() *Judgement {
	return &Judgement{
		File: "history.edn", Model: "chain", Verdict: checker.Invalid, Ops: 9, Elapsed: time.Second,
		NotClaimed: []string{"local reads are not claimed linearizable"},
		Results: []checker.Result{
			{Checker: "stats", Verdict: checker.Valid, Facts: 4, Stats: []checker.Stat{{Name: "read ok", Value: "4"}}},
			{Checker: "fork", Verdict: checker.Invalid, Reason: "n1 and n4 differ at height 8", Facts: 12, Warnings: []string{"head fell"},
				Anomalies: []checker.Anomaly{{Name: "fork", Message: "Two blocks.\nOne height.", Nodes: []string{"n1", "n4"},
					Witness: []checker.Ref{{Index: 3, Op: "{:index 3}"}, {Index: 7, Op: "{:index 7}"}}}}},
		},
	}
}

func TestLineNamesTheFirstAnomaly(t *testing.T) {
	want := "history.edn\tinvalid\tfork: n1 and n4 differ at height 8"
	if got := sample().Line(); got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
}

func TestLineOfNothingIsUnknown(t *testing.T) {
	if got := (&Judgement{File: "x"}).Line(); got != "x\tunknown\tnothing was judged" {
		t.Errorf("Line = %q", got)
	}
}

func TestTextShowsWitnessAndClaims(t *testing.T) {
	var b bytes.Buffer
	sample().Text(&b)
	for _, want := range []string{"INVALID fork", "fork on n1, n4", "op 7: {:index 7}", "warning: head fell", "not claimed: local reads", "read ok: 4"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("text lacks %q:\n%s", want, b.String())
		}
	}
	if !strings.HasSuffix(b.String(), "invalid: fork: n1 and n4 differ at height 8\n") {
		t.Errorf("the verdict is not the last line:\n%s", b.String())
	}
}

func TestJSONKeepsTheContract(t *testing.T) {
	line := sample().JSON()
	if bytes.Count(line, []byte("\n")) != 1 {
		t.Fatalf("not one line: %q", line)
	}
	var got map[string]any
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"message_type", "file", "valid", "model", "anomalies", "checkers", "ops", "seconds"} {
		if _, ok := got[key]; !ok {
			t.Errorf("key %q is missing", key)
		}
	}
	if got["valid"] != false {
		t.Errorf("valid = %v, want false", got["valid"])
	}
}

func TestEDN(t *testing.T) {
	got := string(sample().EDN())
	for _, want := range []string{":valid? false", ":stats {:valid? true", ":type :fork"} {
		if !strings.Contains(got, want) {
			t.Errorf("results.edn lacks %q: %s", want, got)
		}
	}
}

func TestHistoryText(t *testing.T) {
	h := &history.History{Ops: []history.Op{
		{Type: history.Invoke, Process: history.Client(3), F: "write", Value: history.Vec(history.Int(7), history.Int(1))},
		{Type: history.Info, Process: history.Client(3), F: "write", Value: history.Vec(history.Int(7), history.Int(1)),
			Error: history.Vec(history.Keyword("timeout"), history.Text("10s"))},
		{Type: history.Info, Process: history.Nemesis(), F: "kill", Value: history.Vec(history.Text("n2"))},
	}}
	var b bytes.Buffer
	if err := HistoryText(&b, h); err != nil {
		t.Fatal(err)
	}
	want := "3\t:invoke\t:write\t[7 1]\n" +
		"3\t:info\t:write\t[7 1]\t[:timeout \"10s\"]\n" +
		":nemesis\t:info\t:kill\t[\"n2\"]\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
