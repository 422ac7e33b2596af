package nemesis

import (
	"testing"

	"github.com/jepgo/jepgo/history"
)

func TestTimeline(t *testing.T) {
	k, i := history.Keyword, history.Int
	n2 := history.Vec(history.Text("n2"))
	outcome := func(requested, measured int64, evidence ...history.Value) history.Value {
		return history.MapOf(append([]history.Value{
			k("targets"), n2, k("requested"), i(requested), k("measured"), i(measured)}, evidence...)...)
	}
	op := func(f string, at int64, v history.Value) history.Op {
		return history.Op{Time: at, Type: history.Info, Process: history.Nemesis(), F: f, Value: v}
	}
	failed := op("resume", 90, outcome(70, 90))
	failed.Error = history.Vec(k("not-undone"), history.Text("still stopped"))
	stranger := op("kill", 5, n2)
	stranger.Process = history.Client(1)
	ops := []history.Op{
		stranger,
		op("stop-partition", 6, n2), // of a fault that is not in this history
		op("kill", 10, n2),
		op("kill", 15, outcome(10, 14, k("evidence"), k("gone"))),
		op("start", 30, n2),
		op("start", 45, outcome(30, 44, k("evidence"), k("ready"))),
		op("phase", 46, history.Value{}),
		op("pause", 50, n2),
		op("pause", 60, outcome(50, 59, k("evidence"), k("stopped"))),
		op("resume", 70, n2),
		failed,
		op("kill", 100, n2), // and the run was cut off
	}
	want := `{:fault :kill, :targets ["n2"], :onset {:requested 10, :measured 14}, :evidence :gone, :end {:requested 30, :measured 44}, :undo :ready}
{:fault :pause, :targets ["n2"], :onset {:requested 50, :measured 59}, :evidence :stopped, :end {:requested 70, :measured 90, :error [:not-undone "still stopped"]}}
{:fault :kill, :targets ["n2"], :onset {:requested 100}}
`
	if got := string(Timeline(ops)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
