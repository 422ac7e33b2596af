package explain

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/report"
)

func skew() checker.Anomaly {
	return checker.Anomaly{
		Name:    "G2-item",
		Message: `Each missed what the other wrote: "x" & <y>.`,
		Witness: []checker.Ref{
			{Index: 2, Op: `{:index 2, :type :ok, :process 0, :f :txn, :value [[:r "x<&>" nil] [:append 1 7]]}`},
			{Index: 3, Op: `{:index 3, :type :ok, :process 1, :f :txn, :value [[:r 1 []] [:append "x<&>" 8]]}`},
		},
		Steps: []checker.Step{
			{From: 2, To: 3, Rel: "rw", Why: `T1 did not observe T2's append of 8 to key "x<&>"`},
			{From: 3, To: 2, Rel: "rw", Why: "T2 did not observe T1's append of 7 to key 1"},
		},
	}
}

func stale() checker.Anomaly {
	return checker.Anomaly{
		Name: "nonlinearizable", Message: "read of 1 has no place",
		Witness: []checker.Ref{
			{Index: 0, Op: `{:type :invoke, :process 0, :f :write, :value 2}`},
			{Index: 1, Op: `{:type :ok, :process 0, :f :write, :value 2}`},
			{Index: 4, Op: `{:type :invoke, :process 1, :f :read, :value nil}`},
			{Index: 5, Op: `{:type :ok, :process 1, :f :read, :value 1}`},
			{Index: 6, Op: `{:type :invoke, :process 2, :f :write, :value 3}`},
			{Index: 7, Op: `; this op could not be read again`},
		},
		Order: []checker.Ref{{Index: 0, Op: "write 2"}}, State: "2",
		Blocked: []checker.Blocked{{Ref: checker.Ref{Index: 5, Op: "read 1"}, Why: "reads 1, but the register holds 2"}},
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	j := &report.Judgement{File: "../some/where/history.edn", Results: []checker.Result{
		{Checker: "append", Anomalies: []checker.Anomaly{skew(), skew()}},
		{Checker: "linear", Anomalies: []checker.Anomaly{stale()}},
	}}
	folder, err := Write(dir, j)
	if err != nil {
		t.Fatal(err)
	}
	if rel, err := filepath.Rel(dir, folder); err != nil || strings.Contains(rel, "..") {
		t.Errorf("folder %s is not in %s", folder, dir)
	}
	for name, want := range map[string][]string{
		"append-G2-item-1.txt":         {"G2-item", "T1 -rw-> T2", "op 3: {"},
		"append-G2-item-2.dot":         {"digraph", "T1 -> T2", `\"x<&>\"`},
		"append-G2-item-1.svg":         {"T1", "T2", "&lt;&amp;&gt;", "process 1"},
		"linear-nonlinearizable-1.txt": {"1. op 0: write 2", "state is 2", "holds 2"},
		"linear-nonlinearizable-1.svg": {":read 1", `class="bad"`, `class="doubt"`, "cannot be next"},
	} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, w := range want {
			if !strings.Contains(string(text), w) {
				t.Errorf("%s lacks %q:\n%s", name, w, text)
			}
		}
		if strings.HasSuffix(name, ".svg") {
			wellFormed(t, name, string(text))
		}
	}
}

// wellFormed reports what a browser would refuse.
func wellFormed(t *testing.T, name, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
	}
}

func TestNothingToExplain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	folder, err := Write(dir, &report.Judgement{File: "-", Results: []checker.Result{{Checker: "x"}}})
	if folder != "" || err != nil {
		t.Errorf("folder %q, error %v", folder, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made for nothing")
	}
}

func TestWriteNamesWhereItFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Write(file, &report.Judgement{File: "h", Results: []checker.Result{{Checker: "x", Anomalies: []checker.Anomaly{stale()}}}})
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("error %v does not name %s", err, file)
	}
}

// Nothing of an anomaly, however odd, breaks a drawing.
func TestOddAnomalies(t *testing.T) {
	odd := skew()
	odd.Steps[1].To = 99 // not in the witness
	odd.Witness[0].Op = "\x00\x01 not EDN \xff {"
	odd.Name = "\x00"
	wellFormed(t, "cycle", cycleSVG(&odd))
	wellFormed(t, "timeline", timelineSVG(&odd))
	lone := checker.Anomaly{Steps: []checker.Step{{From: 1, To: 1, Rel: "ww"}}}
	wellFormed(t, "lone", cycleSVG(&lone))
	if name := fileName("../../" + strings.Repeat("é", 300)); strings.Contains(name, "/") || len(name) > longestName+9 {
		t.Errorf("file name %q", name)
	}
}
