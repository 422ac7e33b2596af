package txn

import (
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

func TestValuesThatNobodyWrote(t *testing.T) {
	for name, c := range map[string]struct {
		ops  string
		o    Options
		want string // an anomaly, "" for none
		says string
	}{
		"two of one key": {`
			0 [[:w 1 1]]
			1 [[:r 1 8]]
			2 [[:r 1 9]]`, Options{}, GarbageRead, "Nobody in this history wrote either"},
		"two of one key, whatever the model": {`
			1 [[:r 1 8]]
			2 [[:r 1 9]]`, Options{Models: []string{"read-uncommitted"}}, GarbageRead, "T2 read 9"},
		"two in one transaction": {`
			1 [[:r 1 8] [:r 1 9]]`, Options{Models: []string{"read-committed"}}, GarbageRead, "T1 read 9 of it too"},
		"nil and one": {`
			1 [[:r 1 nil] [:w 2 1]]
			2 [[:r 1 8] [:r 2 1]]`, Options{Models: []string{"read-committed"}}, GarbageRead, "as that is nil"},
		"one and nil": {`
			2 [[:r 1 8] [:w 2 1]]
			1 [[:r 1 nil] [:r 2 1]]`, Options{Models: []string{"read-committed"}}, GarbageRead, "as that is nil"},
		"one of each of two keys": {`
			1 [[:r 1 8] [:r 2 9] [:w 3 1]]
			2 [[:r 1 8] [:r 2 9] [:r 3 1]]`, Options{}, "", ""},
		"one before the first write": {`
			1 [[:r 1 8]]
			0 [[:w 1 1]]
			1 [[:r 1 1]]`, Options{}, "", ""},
		// Elle calls these valid: the value may be of a write that is not there.
		"one after the first write": {`
			0 [[:w 1 1]]
			1 [[:r 1 8]]
			1 [[:r 1 1]]`, Options{}, "", ""},
		"one after the first write of a linearizable key": {`
			0 [[:w 1 1] [:w 2 1]]
			1 [[:r 1 8] [:r 2 1]]`, Options{Models: []string{"serializable"}, LinearizableKeys: true}, "", ""},
	} {
		h := historytest.Read(t, lines(c.ops, 0, 0))
		r := check(h, c.o)
		if c.want == "" {
			if r.Verdict != checker.Valid {
				t.Errorf("%s: %s, %s", name, r.Verdict, r.Reason)
			}
			continue
		}
		at := slices.IndexFunc(r.Anomalies, func(a checker.Anomaly) bool { return a.Name == c.want })
		if r.Verdict != checker.Invalid || at < 0 {
			t.Errorf("%s: %s, %s; want %s", name, r.Verdict, r.Reason, c.want)
			continue
		}
		if a := r.Anomalies[at]; !strings.Contains(a.Message, c.says) || len(a.Witness) == 0 {
			t.Errorf("%s: want words that say %q: %s", name, c.says, a.Message)
		}
	}
}

// A value that a log has was written, though the history lacks the write.
func TestLoggedValuesAreNoGarbage(t *testing.T) {
	h := historytest.Read(t, lines(`
		0 [[:w 1 1]]
		1 [[:r 1 8]]
		2 [[:r 1 9]]`, 0, 0))
	if r := check(h, Options{}); r.Verdict != checker.Invalid {
		t.Errorf("without the log: %s, %s", r.Verdict, r.Reason)
	}
	o := Options{Models: []string{"strict-serializable"}, Versions: []Written{
		{history.Text("1"), history.Int(1)}, {history.Text("1"), history.Int(8)}, {history.Text("1"), history.Int(9)},
	}}
	if r := check(h, o); r.Verdict == checker.Invalid {
		t.Error(r.Reason)
	}
}
