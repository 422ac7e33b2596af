package txn

import (
	"context"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history/format"
	"github.com/jepgo/jepgo/history/historytest"
)

// TestMain has the garbage collector run less often: the tests make many small
// histories, and would mostly collect them.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// optionsOf reads the options of a row of the corpus: a map as Elle takes it, or
// consistency-models=… and, after a semicolon, prose. Those of a row that has
// something else are not ok.
func optionsOf(t *testing.T, row historytest.Row) (o Options, ok bool) {
	t.Helper()
	text := row.Options
	if edn := strings.Index(text, "}"); strings.HasPrefix(text, "{") && edn > 0 {
		edn = strings.LastIndex(text, "}")
		v := historytest.Read(t, "{:type :ok, :value "+text[:edn+1]+"}").Ops[0].Value
		names := func(field string) (names []string) {
			list, _ := v.Field(field)
			for _, name := range list.Elems() {
				names = append(names, name.Text())
			}
			return names
		}
		flag := func(field string) bool {
			f, _ := v.Field(field)
			set, _ := f.Flag()
			return set
		}
		o = Options{
			Models: names("consistency-models"), Anomalies: names("anomalies"),
			SequentialKeys: flag("sequential-keys?"), LinearizableKeys: flag("linearizable-keys?"), WFRKeys: flag("wfr-keys?"),
		}
		if order, has := v.Field("transaction-order"); has {
			o.Order = make(map[int]int)
			for i, pairs := 0, order.Elems(); i+1 < len(pairs); i += 2 {
				index, _ := pairs[i].Int()
				place, _ := pairs[i+1].Int()
				o.Order[int(index)] = int(place)
			}
		}
		return o, true
	}
	text, _, _ = strings.Cut(text, ";")
	text, _, _ = strings.Cut(text, " (")
	switch {
	case text == "" || text == "consistency-models default":
		return o, true
	case strings.HasPrefix(text, "consistency-models="):
		o.Models = strings.Split(strings.TrimPrefix(text, "consistency-models="), ",")
		return o, true
	case strings.HasPrefix(text, "anomaly "):
		o.Anomalies = []string{strings.TrimPrefix(text, "anomaly ")}
		return o, true
	}
	return o, false
}

// judged gives a file of the corpus to a stream for each of the rows.
func judged(t *testing.T, path string, streams []checker.Stream) []checker.Result {
	t.Helper()
	f, err := format.Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := f.History() // witnesses are read again faster from there
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for e := range h.Events() {
		for _, s := range streams {
			s.Take(e)
		}
	}
	var results []checker.Result
	for _, s := range streams {
		results = append(results, s.Finish(context.Background(), h.Source()))
	}
	return results
}

// namesIn returns the anomalies that a cell of the corpus names.
func namesIn(cell string) []string {
	cell, _, _ = strings.Cut(cell, "]")
	return strings.Fields(strings.NewReplacer("[", " ", ":", "").Replace(cell))
}

// eachJudged judges those rows of the corpus that match, each file read once.
func eachJudged(t *testing.T, match func(historytest.Row) bool, stream func(historytest.Row, Options) checker.Stream, each func(historytest.Row, checker.Result)) {
	t.Helper()
	files := make(map[string][]historytest.Row)
	for _, row := range historytest.Rows(t) {
		if match(row) {
			files[row.Path] = append(files[row.Path], row)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		var streams []checker.Stream
		for _, row := range files[path] {
			o, ok := optionsOf(t, row)
			if !ok {
				t.Fatalf("%s: options %q are not understood", row.Name, row.Options)
			}
			streams = append(streams, stream(row, o))
		}
		for i, r := range judged(t, path, streams) {
			row := files[path][i]
			each(row, r)
			if r.Verdict == checker.Invalid && len(r.Anomalies) == 0 {
				t.Errorf("%s [%s]: no anomaly explains that it is invalid", row.Name, row.Options)
			}
		}
	}
}

// TestCorpusListAppend holds every verdict that a source states for list-append.
func TestCorpusListAppend(t *testing.T) {
	agree, silent := 0, 0
	eachJudged(t, func(row historytest.Row) bool { return row.Model == "list-append" },
		func(_ historytest.Row, o Options) checker.Stream { return ListAppend(o) },
		func(row historytest.Row, r checker.Result) {
			switch {
			case r.Verdict.String() == row.Expected:
				agree++
				missing(t, row, r)
			case row.Expected == "?":
				silent++
			default:
				t.Errorf("%s [%s]: %s (%s), the source says %s %s", row.Name, row.Options, r.Verdict, r.Reason, row.Expected, row.Anomalies)
			}
		})
	t.Logf("%d verdicts agree, and %d are given where the source has none", agree, silent)
}

// missing logs the anomalies that the source names and we do not. Those that only
// say that Elle ran out of time are no anomalies of the history.
func missing(t *testing.T, row historytest.Row, r checker.Result) {
	var found []string
	for _, s := range r.Stats {
		found = append(found, s.Name)
	}
	for _, name := range namesIn(row.Anomalies) {
		if !slices.Contains(found, name) && name != emptyGraph && name != "cycle-search-timeout" && !strings.HasSuffix(name, "-cycle-exists") {
			t.Logf("%s [%s]: the source names %s, we say: %s", row.Name, row.Options, name, r.Reason)
		}
	}
	if _, cell, stated := strings.Cut(row.Anomalies, ":not #{"); stated {
		cell, _, _ = strings.Cut(cell, "}")
		want := strings.Fields(strings.ReplaceAll(cell, ":", ""))
		var got []string
		for _, s := range r.Stats {
			if s.Name == "not" {
				got = strings.Fields(s.Value)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Logf("%s [%s]: the source rules out %s, we %s", row.Name, row.Options, want, got)
		}
	}
}
