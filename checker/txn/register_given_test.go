package txn

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

func TestReadOrder(t *testing.T) {
	for text, want := range map[string]struct {
		order    map[int]int
		versions []Written
		err      string
	}{
		"{0 2, 1 1}": {order: map[int]int{0: 2, 1: 1}},
		` {"tick":"1","type":2200,"tid":"3"}
{"tick":"2","tid":"3","data":{"_key":"7","rwAttr":4}}

{"tick":"3","tid":"3","data":{"_key":"k","rwAttr":"v","other":[1]}}
`: {versions: []Written{{history.Text("7"), history.Int(4)}, {history.Text("k"), history.Text("v")}}},
		"[0 2]":                              {err: "neither an EDN map"},
		"{:a 1}":                             {err: "entry :a 1 is not an index and a place"},
		"{0 2":                               {err: "version order"},
		"{\"a\": 1}\n{\"b":                   {err: "line 2"},
		`{"data":{"_key":"7","rwAttr":[1]}}`: {err: "line 1: value [1]"},
	} {
		path := filepath.Join(t.TempDir(), "order")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var o Options
		err := o.ReadOrder(path)
		if (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%s: error %v, want one that says %q", text, err, want.err)
		}
		same := slices.EqualFunc(o.Versions, want.versions, func(a, b Written) bool {
			return a.Key.String() == b.Key.String() && a.Value.String() == b.Value.String()
		})
		if err == nil && (!maps.Equal(o.Order, want.order) || !same) {
			t.Errorf("%s: %v %v", text, o.Order, o.Versions)
		}
	}
	if err := new(Options).ReadOrder(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error for a file that is not there")
	}
}

// The keys of a log are strings: those of a history need not be.
func TestLogKeys(t *testing.T) {
	for _, key := range []string{"7", `"7"`} {
		in := strings.ReplaceAll(`
{:type :ok, :value [[:w 7 1] [:w 8 1]]}
{:type :ok, :value [[:w 7 2] [:w 8 2]]}`, "7", key)
		log := []Written{
			{history.Text("7"), history.Int(1)}, {history.Text("7"), history.Int(2)}, {history.Text("7"), history.Int(1)}, // twice in the log
			{history.Text("8"), history.Int(2)}, {history.Text("8"), history.Int(1)}, {history.Text("9"), history.Int(1)},
		}
		r := check(historytest.Read(t, in), Options{Models: []string{"read-uncommitted"}, Versions: log})
		if r.Verdict != checker.Invalid || r.Anomalies[0].Name != "G0" {
			t.Errorf("key %s: %s, %s", key, r.Verdict, r.Reason)
		}
	}
}
