// Package explain writes counterexamples for people: for each anomaly a text, and
// where there is something to see a drawing, as DOT for other tools and as SVG
// for a browser. It draws itself and needs no other program.
//
// It shows what the checkers found and decides nothing. A drawing has as many
// boxes as the witness has operations, and a witness is small; what goes beyond
// maxBoxes is left to the text.
package explain

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/report"
)

const (
	maxBoxes    = 64
	maxOfKind   = 16 // anomalies of one name that are written
	longestName = 90 // bytes, beside a hash
)

// Write writes the anomalies of j below dir, which it makes if need be: a folder
// for the file that was judged, and in it CHECKER-ANOMALY-N.txt with .dot and
// .svg beside it. It returns the folder, "" when j has no anomaly.
func Write(dir string, j *report.Judgement) (folder string, err error) {
	folder = filepath.Join(dir, fileName(j.File))
	counts := make(map[string]int)
	var errs []error
	for _, r := range j.Results {
		for i := range r.Anomalies {
			a := &r.Anomalies[i]
			base := fileName(r.Checker) + "-" + fileName(a.Name)
			counts[base]++
			if counts[base] > maxOfKind {
				continue
			}
			if len(counts) == 1 && counts[base] == 1 {
				if err := os.MkdirAll(folder, 0o755); err != nil {
					return "", fmt.Errorf("explanations: %w", err)
				}
			}
			path := filepath.Join(folder, fmt.Sprintf("%s-%d", base, counts[base]))
			errs = append(errs, anomaly(path, r.Checker, a))
		}
	}
	if len(counts) == 0 {
		return "", nil
	}
	return folder, errors.Join(errs...)
}

func anomaly(path, checkerName string, a *checker.Anomaly) error {
	errs := []error{write(path+".txt", Text(checkerName, a))}
	switch {
	case len(a.Steps) > 0 && len(a.Steps) <= maxBoxes:
		errs = append(errs, write(path+".dot", DOT(a)), write(path+".svg", cycleSVG(a)))
	case len(a.Witness) > 0 && len(a.Witness) <= 2*maxBoxes:
		errs = append(errs, write(path+".svg", timelineSVG(a)))
	}
	return errors.Join(errs...)
}

func write(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("explanations: %w", err)
	}
	return nil
}

// Text explains an anomaly in prose: what it is, the cycle or the order that
// ended, and the operations.
func Text(checkerName string, a *checker.Anomaly) string {
	var t strings.Builder
	fmt.Fprintf(&t, "%s, found by %s\n\n%s\n", a.Name, checkerName, strings.TrimRight(a.Message, "\n"))
	if len(a.Steps) > 0 && !strings.Contains(a.Message, a.Steps[0].Why) {
		names := nameSteps(a)
		t.WriteString("\nThe cycle:\n")
		for _, s := range a.Steps {
			fmt.Fprintf(&t, "  %s -%s-> %s: %s\n", names[s.From], s.Rel, names[s.To], s.Why)
		}
	}
	if len(a.Order) > 0 {
		t.WriteString("\nAn order that works as far as it goes:\n")
		for i, r := range a.Order {
			fmt.Fprintf(&t, "  %d. op %d: %s\n", i+1, r.Index, r.Op)
		}
	}
	if a.State != "" {
		fmt.Fprintf(&t, "\nThen the state is %s\n", a.State)
	}
	if len(a.Blocked) > 0 {
		t.WriteString("\nNone of the open operations can come next:\n")
		for _, b := range a.Blocked {
			fmt.Fprintf(&t, "  op %d: %s\n    %s\n", b.Index, b.Op, b.Why)
		}
	}
	if len(a.Witness) > 0 {
		t.WriteString("\nThe operations:\n")
		for _, r := range a.Witness {
			fmt.Fprintf(&t, "  op %d: %s\n", r.Index, r.Op)
		}
	}
	return t.String()
}

// nameSteps calls the transactions of a cycle T1, T2, … in the order of the steps.
func nameSteps(a *checker.Anomaly) map[int]string {
	names := make(map[int]string)
	for _, s := range a.Steps {
		if _, ok := names[s.From]; !ok {
			names[s.From] = fmt.Sprintf("T%d", len(names)+1)
		}
	}
	for _, s := range a.Steps {
		if _, ok := names[s.To]; !ok {
			names[s.To] = fmt.Sprintf("T%d", len(names)+1)
		}
	}
	return names
}

// fileName makes a name of s that is good on every file system.
func fileName(s string) string {
	s = strings.Trim(filepath.ToSlash(filepath.Clean(s)), "/.")
	clean := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_.", r) {
			return r
		}
		return '_'
	}, s)
	if len(clean) > longestName {
		clean = clean[len(clean)-longestName:]
		clean = strings.ToValidUTF8(clean, "")
	}
	switch {
	case clean == "" || clean == "-":
		return "history"
	case clean != s:
		// Two names must not become one.
		h := fnv.New32a()
		h.Write([]byte(s))
		return fmt.Sprintf("%s-%08x", clean, h.Sum32())
	}
	return clean
}
