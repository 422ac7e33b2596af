package checker

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jepgo/jepgo/history"
)

func TestExceptions(t *testing.T) {
	hold(t, []fixture{
		{"kinds", Exceptions, `
			0 invoke write 1
			0 info write 1 | :exception {:via [{:type java.net.SocketTimeoutException, :message "x"}]}
			1 info write 1 | :exception {:via [{:type java.net.SocketTimeoutException}]}
			2 info write 1 | :error [:timeout "after 5 s"]
			3 info write 1 | :error "boom"
			4 info write 1
			5 fail write 1 | :error :ignored
			:nemesis info start 1 | :error :ignored`, Valid, "", "3 kinds of error in 5 ops in doubt",
			map[string]string{"java.net.SocketTimeoutException": "2, such as op 1", ":timeout": "1, such as op 3", `"boom"`: "1, such as op 4", "without-error": "1"}},
		{"none", Exceptions, `0 ok write 1`, Valid, "", "0 kinds", nil},
	})
}

func TestSampleIsEven(t *testing.T) {
	var s sample
	for at := range 3*manyPositions + 7 {
		s.take(at)
	}
	if s.step != 4 || len(s.at) < manyPositions/2 || len(s.at) > manyPositions {
		t.Fatalf("keeps %d of %d, one in %d", len(s.at), s.count, s.step)
	}
	for i, at := range s.at {
		if at != i*s.step {
			t.Fatalf("place %d has %d, want %d", i, at, i*s.step)
		}
	}
}

func TestLogPattern(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	quiet := write("n1/db.log", "all is well\r\n\nstill\n")
	loud := write("n2/db.log", "fine\npanic: invariant\n"+strings.Repeat("x", 3*longestLine)+" panic: late\npanic: last")
	missing := filepath.Join(dir, "n3", "db.log")
	panics := regexp.MustCompile(`panic: (\w+)$`)
	for _, test := range []struct {
		name    string
		pattern *regexp.Regexp
		files   []string
		want    Verdict
		says    string
	}{
		{"quiet", panics, []string{quiet}, Valid, "no line of 1 file matches"},
		{"loud", panics, []string{quiet, loud, missing}, Invalid, "2 lines of 2 files match"},
		{"missing", panics, []string{quiet, missing}, Unknown, "log cannot be read"},
		{"no files", panics, nil, Unknown, "no log"},
		{"no pattern", nil, []string{quiet}, Unknown, "no pattern"},
		{"a carriage return is no part of a line", regexp.MustCompile("well$"), []string{quiet}, Invalid, ""},
		{"the beginning of a long line", regexp.MustCompile("^x+"), []string{loud}, Invalid, ""},
	} {
		r := judge(LogPattern(test.pattern, test.files...), &history.History{})
		if r.Verdict != test.want || !strings.Contains(r.Reason, test.says) {
			t.Errorf("%s: says %v: %s", test.name, r.Verdict, r.Reason)
		}
		if test.name == "loud" && (len(r.Anomalies) != 2 || r.Anomalies[0].Nodes[0] != "n2" || !strings.HasPrefix(r.Anomalies[0].Message, "Line 2 of ") || !strings.Contains(r.Anomalies[1].Message, "Line 4")) {
			t.Errorf("anomalies are %+v", r.Anomalies)
		}
	}
}

func TestClockPlot(t *testing.T) {
	h := ops(t, `
		:nemesis info check-offsets nil | :clock-offsets {"n1" 0.5, "n2" -2}
		0 invoke read nil
		:nemesis info bump nil | :clock-offsets {"n1" 1}
		0 ok read nil | :clock-offsets {"n9" 4}`)
	c := ClockPlot()
	r := judge(c, h)
	want := []ClockSeries{
		{"n1", []ClockPoint{{0, 0.5}, {2_000_000, 1}, {3_000_000, 1}}},
		{"n2", []ClockPoint{{0, -2}, {3_000_000, -2}}},
	}
	if got := c.Data(); len(got) != 2 || got[0].Node != "n1" || !slices.Equal(got[0].Points, want[0].Points) || !slices.Equal(got[1].Points, want[1].Points) {
		t.Errorf("data is %v, want %v", got, want)
	}
	if r.Verdict != Valid || stat(r, "n1") != "from 0.500 s to 1.000 s off" {
		t.Errorf("says %v %v", r.Verdict, r.Stats)
	}
}

func TestPerf(t *testing.T) {
	h := ops(t, `
		0 invoke read nil
		1 invoke write 1
		0 ok read 1
		1 info write 1
		0 invoke read nil
		0 ok read 1
		2 ok read 1`)
	p := Perf(PerfOptions{Window: 4 * time.Millisecond, Quantiles: []float64{0.5, 1}})
	r := judge(p, h)
	d := p.Data()
	if len(d.Series) != 2 || d.Series[0].F != "read" || d.Series[0].Outcome != history.OK || d.Series[0].Count != 3 || d.Series[1].Outcome != history.Info {
		t.Fatalf("series are %+v", d.Series)
	}
	reads := d.Series[0]
	if got := reads.Latency; got[1] != 2*time.Millisecond || got[0] < time.Millisecond || got[0] > 1020*time.Microsecond {
		t.Errorf("latencies are %v", got)
	}
	if len(reads.Windows) != 2 || reads.Windows[0].Rate != 250 || reads.Windows[1].Rate != 500 || reads.Windows[1].Start != 4_000_000 {
		t.Errorf("windows are %+v", reads.Windows)
	}
	if len(d.Points) != 3 || d.Points[0] != (PerfPoint{0, 0, 2 * time.Millisecond}) {
		t.Errorf("points are %v", d.Points)
	}
	if r.Verdict != Valid || !strings.Contains(strings.Join(r.Warnings, ""), "1 operation without two times") {
		t.Errorf("says %v %v", r.Verdict, r.Warnings)
	}
}

// TestPerfIsBounded holds that a long history makes windows longer, not more, and
// loses no operation.
func TestPerfIsBounded(t *testing.T) {
	p := Perf(PerfOptions{})
	const n = 50_000
	e := history.Event{F: "read", Process: history.Client(1)}
	for i := range int64(n) {
		e.Type, e.Time = history.Invoke, 7_000_000_000_000+i*i
		p.Take(&e)
		e.Type, e.Time = history.OK, e.Time+1000
		p.Take(&e)
	}
	d := p.Data()
	if len(d.Series[0].Windows) > mostWindows || len(d.Points) > mostPoints || len(d.Points) < mostPoints/2 {
		t.Errorf("%d windows, %d points", len(d.Series[0].Windows), len(d.Points))
	}
	sum := 0.0
	for _, w := range d.Series[0].Windows {
		sum += w.Rate * d.Window.Seconds()
	}
	if sum < n-0.5 || sum > n+0.5 {
		t.Errorf("windows count %v operations, want %d", sum, n)
	}
}

// TestQuantilesOfBuckets holds the promised precision against the sample itself.
func TestQuantilesOfBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sample := rapid.SliceOfN(rapid.Int64Range(0, 1<<rapid.IntRange(1, 62).Draw(t, "bits")), 1, 50).Draw(t, "sample")
		var a, b latencies
		for i, d := range sample {
			if i%2 == 0 {
				a.add(time.Duration(d))
			} else {
				b.add(time.Duration(d))
			}
		}
		a.addAll(&b)
		slices.Sort(sample)
		qs := []float64{0, 0.5, 0.95, 0.99, 1}
		for i, got := range a.quantiles(qs) {
			want := Quantile(sample, qs[i])
			if int64(got) < want || float64(got) > float64(want)*(1+1.0/64) {
				t.Fatalf("quantile %v is %d, want %d or at most 1/64 more", qs[i], got, want)
			}
		}
		if last := a.quantiles([]float64{1})[0]; int64(last) != sample[len(sample)-1] {
			t.Fatalf("the longest is %d, want %d", last, sample[len(sample)-1])
		}
	})
}
