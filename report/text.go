package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/jepgo/jepgo/checker"
)

// shownAnomalies bounds how many anomalies of one checker the text spells out;
// results.json has all of them.
const shownAnomalies = 3

// Text writes j for a person: each checker with its reason, the anomalies with
// their witnesses, what was measured, what was not claimed or could not be seen, and
// the verdict last.
func (j *Judgement) Text(w io.Writer) {
	width := 0
	for _, r := range j.Results {
		width = max(width, len(r.Checker))
	}
	for _, r := range j.Results {
		fmt.Fprintf(w, "%s %-*s  %s\n", mark(r.Verdict), width, r.Checker, summary(r))
		for i, a := range r.Anomalies {
			if i == shownAnomalies {
				fmt.Fprintf(w, "    and %d more: the JSON has all\n", len(r.Anomalies)-i)
				break
			}
			anomaly(w, a)
		}
		for i, warning := range r.Warnings {
			if i == shownAnomalies {
				fmt.Fprintf(w, "    and %d more warnings: the JSON has all\n", len(r.Warnings)-i)
				break
			}
			fmt.Fprintf(w, "    warning: %s\n", printable(warning))
		}
		for _, s := range r.Stats {
			fmt.Fprintf(w, "    %s: %s\n", s.Name, s.Value)
		}
	}
	if j.Cut != nil {
		fmt.Fprintf(w, "note: %s\n", j.Cut)
	}
	for _, s := range j.NotClaimed {
		fmt.Fprintf(w, "not claimed: %s\n", s)
	}
	if len(j.Blind) > 0 {
		fmt.Fprintln(w, "what this run could not have seen:")
		for _, s := range j.Blind {
			fmt.Fprintf(w, "    %s\n", s)
		}
	}
	fmt.Fprintf(w, "%s: %s\n", j.Verdict, j.Reason())
}

func summary(r checker.Result) string {
	switch {
	case r.Reason != "":
		return fmt.Sprintf("%s (%d facts)", oneLine(r.Reason), r.Facts)
	case len(r.Anomalies) > 0:
		return fmt.Sprintf("%d anomalies in %d facts", len(r.Anomalies), r.Facts)
	}
	return fmt.Sprintf("%d facts compared", r.Facts)
}

func anomaly(w io.Writer, a checker.Anomaly) {
	fmt.Fprintf(w, "    %s", a.Name)
	if len(a.Nodes) > 0 {
		fmt.Fprintf(w, " on %s", strings.Join(a.Nodes, ", "))
	}
	fmt.Fprintln(w)
	for line := range strings.Lines(strings.TrimRight(a.Message, "\n") + "\n") {
		fmt.Fprintf(w, "      %s\n", printable(strings.TrimSuffix(line, "\n")))
	}
	for _, ref := range a.Witness {
		fmt.Fprintf(w, "      op %d: %s\n", ref.Index, printable(ref.Op))
	}
}

func mark(v checker.Verdict) string {
	switch v {
	case checker.Valid:
		return "ok     "
	case checker.Invalid:
		return "INVALID"
	}
	return "unknown"
}
