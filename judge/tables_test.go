package judge

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// flags of the benchmarks, behind the package in go test's command line.
var (
	large   = flag.Bool("large", false, "benchmarks: also the sizes that take seconds, and gigabytes of disk")
	tables  = flag.Bool("tables", false, "benchmarks: put what was measured into "+document)
	profile = flag.String("profiles", "", "benchmarks: folder for CPU profiles of what is measured")
)

// document holds the tables, each between two marks.
const document = "../docs/benchmarks.md"

// table is one table of the document.
type table struct {
	name   string
	header []string
	rows   [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) String() string {
	var text strings.Builder
	line := func(cells []string) { fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | ")) }
	line(t.header)
	line(strings.Split(strings.Repeat("---,", len(t.header)-1)+"---", ","))
	for _, r := range t.rows {
		line(r)
	}
	return text.String()
}

// publish prints the table and, when that was asked for, puts it into the document.
func (t *table) publish(b *testing.B) {
	b.Helper()
	if len(t.rows) == 0 {
		return
	}
	fmt.Printf("%s\n%s", t.name, t) // a log of what has sub-benchmarks is lost
	if !*tables {
		return
	}
	text, err := os.ReadFile(document)
	if err != nil {
		b.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), "<!-- table "+t.name+" -->\n")
	_, after, ended := strings.Cut(rest, "<!-- end -->")
	if !found || !ended {
		b.Fatalf("%s has no place for table %s", document, t.name)
	}
	all := before + "<!-- table " + t.name + " -->\n" + t.String() + "<!-- end -->" + after
	if err := os.WriteFile(document, []byte(all), 0o644); err != nil {
		b.Fatal(err)
	}
}

// seconds writes a time with two digits that count.
func seconds(d time.Duration) string {
	switch s := d.Seconds(); {
	case d == 0:
		return "–"
	case s >= 10:
		return fmt.Sprintf("%.0f", s)
	case s >= 1:
		return fmt.Sprintf("%.1f", s)
	case s >= 0.1:
		return fmt.Sprintf("%.2f", s)
	case s >= 0.01:
		return fmt.Sprintf("%.3f", s)
	default:
		return fmt.Sprintf("%.4f", s)
	}
}

// count writes a number with two or three digits that count.
func count(n float64) string {
	switch {
	case n >= 100e6:
		return fmt.Sprintf("%.0fM", n/1e6)
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", n/1e6)
	case n >= 10e3:
		return fmt.Sprintf("%.0fk", n/1e3)
	case n >= 1e3:
		return fmt.Sprintf("%.1fk", n/1e3)
	default:
		return fmt.Sprintf("%.0f", n)
	}
}

// size writes a number of operations, as tables name them.
func size(n int) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 1000 && n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

func megabytes(n int64) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", float64(n)/1e6)
}
