// Package report turns judgements into what people and programs read: one line,
// a text for the terminal, results.json and results.edn. It decides nothing.
package report

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// Judgement is what all checkers together say of one history.
type Judgement struct {
	File       string // as the user named it
	Format     string // of the file, "" when it was not read from one
	Model      string // which rules judged it
	Because    string // why those rules
	Verdict    checker.Verdict
	Results    []checker.Result
	Main       bool     // the first of Results is the model's, the others go beside it
	NotClaimed []string // what was deliberately not judged, and why
	Blind      []string // what the run could not have seen, and why
	Ops        int
	Elapsed    time.Duration
	Undecided  string            // why the checkers' verdict does not count, "" when it does
	Hint       string            // what may be wrong with the question, "" when nothing
	Cut        *history.CutError // not nil when the history ends early
}

// Reason is one short sentence: the first anomaly, else why it is unknown, else
// what was compared. It says so when the history ends early.
func (j *Judgement) Reason() string {
	text := j.reason() + j.Hint
	if j.Cut != nil {
		text += fmt.Sprintf("; the file ends in the middle of an op, at byte %d", j.Cut.Offset)
	}
	return text
}

func (j *Judgement) reason() string {
	if j.Undecided != "" {
		return oneLine(j.Undecided)
	}
	var facts, warnings int
	for _, want := range []checker.Verdict{checker.Invalid, checker.Unknown} {
		for _, r := range j.Results {
			if r.Verdict != want || j.Verdict != want {
				continue
			}
			if r.Reason != "" {
				return r.Checker + ": " + oneLine(r.Reason)
			}
			if len(r.Anomalies) > 0 {
				return r.Checker + ": " + r.Anomalies[0].Name
			}
			return r.Checker
		}
	}
	for _, r := range j.Results {
		facts += r.Facts
		warnings += len(r.Warnings)
	}
	if j.Verdict == checker.Valid && j.Main && len(j.Results) > 0 && j.Results[0].Reason != "" {
		return j.Results[0].Checker + ": " + oneLine(j.Results[0].Reason)
	}
	if j.Verdict == checker.Valid {
		said := fmt.Sprintf("%d ops, %d facts compared", j.Ops, facts)
		switch {
		case warnings == 1:
			said += ", 1 warning"
		case warnings > 1:
			said += fmt.Sprintf(", %d warnings", warnings)
		}
		return said
	}
	return "nothing was judged"
}

// Line is the line that jepgo check prints for a file: name, verdict and reason
// with tabs between them.
func (j *Judgement) Line() string {
	return fmt.Sprintf("%s\t%s\t%s", printable(j.File), j.Verdict, printable(j.Reason()))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// printable escapes what would move a terminal's cursor or break a line in two.
func printable(s string) string {
	if !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	var t strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) {
			fmt.Fprintf(&t, "\\x%02x", r)
		} else {
			t.WriteRune(r)
		}
	}
	return t.String()
}
