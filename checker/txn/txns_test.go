package txn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/history/historytest"
)

// taken gives a history to txns whose reads keep the length of what they saw.
func taken(t *testing.T, text string) *txns {
	t.Helper()
	x := &txns{write: "append", unknown: -1, read: func(_ int32, saw history.View, _ status) int32 { return int32(saw.Len()) }}
	for e := range historytest.Read(t, text).Events() {
		x.take(e)
	}
	x.settle()
	return x
}

// show writes transactions as: call-ret status process micro-ops.
func show(x *txns) string {
	var lines []string
	for i := range int32(x.len()) {
		line := fmt.Sprintf("%d>%d %s", x.call[i], x.ret[i], [...]string{"ok", "info", "fail", "unpaired", "dropped"}[x.status[i]])
		for _, m := range x.of(i) {
			if m.isRead() {
				line += fmt.Sprintf(" r%s:%d", x.keys.value(m.of()), m.val)
			} else {
				line += fmt.Sprintf(" a%s:%s", x.keys.value(m.of()), x.vals.value(m.val))
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestTransactionsArePaired(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"ok has the completion's value": {`
{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil] [:append 1 5]]}
{:process 0, :type :ok, :f :txn, :value [[:r 1 [7 8]] [:append 1 5]]}`, "0>1 ok r1:2 a1:5"},
		"info and fail without a list have the invocation's": {`
{:process 0, :type :invoke, :f :txn, :value [[:r 1 nil] [:append 1 5]]}
{:process 1, :type :invoke, :f :txn, :value [[:append :x "s"]]}
{:process 0, :type :info, :f :txn, :value nil}
{:process 1, :type :fail, :f :txn, :error :no}`, "0>2 info a1:5\n1>3 fail a:x:\"s\""},
		"reads of info count only where they say something": {`
{:process 0, :type :invoke, :f :txn, :value [[:r 1] [:r 2] [:append 1 5]]}
{:process 0, :type :info, :f :txn, :value [[:r 1] [:r 2 [4]] [:append 1 5]]}`, "0>1 info r1:-1 r2:1 a1:5"},
		"never completed": {`
{:process 0, :type :invoke, :f :txn, :value [[:append 1 5]]}
{:process 1, :type :invoke, :f :txn, :value [[:append 1 6]]}
{:process 1, :type :ok, :f :txn, :value [[:append 1 6]]}`, "1>2 ok a1:6\n0>-1 info a1:5"},
		"a completion alone is all of it": {`
{:process 0, :type :ok, :value [[:append 1 5]]}
{:process 0, :type :ok, :value [[:r 1 [5]]]}`, "-1>0 ok a1:5\n-1>1 ok r1:1"},
		"two open at once: the last one completes": {`
{:process 0, :type :invoke, :value [[:append 1 5]]}
{:process 0, :type :invoke, :value [[:append 1 6]]}
{:process 0, :type :ok, :value [[:append 1 6]]}
{:process 0, :type :ok, :value [[:append 1 5]]}`, "1>2 ok a1:6\n0>3 ok a1:5"},
		"without a process": {`
{:type :invoke, :value [[:append 1 5]]}
{:type :invoke, :value [[:append 1 6]]}
{:type :ok, :value [[:append 1 5]]}`, "-1>0 dropped a1:5\n-1>1 info a1:6\n-1>2 ok a1:5"},
		"others than clients": {`
{:process :nemesis, :type :info, :f :txn, :value [[:append 1 5]]}
{:process 0, :type :ok, :f :health, :value {1 2}}`, ""},
		"odd keys and values": {`
{:process 0, :type :ok, :value [[:append [:anti 5] -7] ["append" -3 1073741824] [:append 99999999999 :e]]}`,
			"-1>0 ok a[:anti 5]:-7 a-3:1073741824 a99999999999::e"},
	} {
		if got := show(taken(t, c.in)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestWhatCannotBeATransactionIsSaid(t *testing.T) {
	for in, want := range map[string]string{
		`{:process 0, :type :ok, :f :txn, :value [[:w 1 5]]}`:    "[:w 1 5]",
		`{:process 0, :type :ok, :f :txn, :value 17}`:            "not a list of micro-ops",
		`{:process 0, :type :ok, :f :txn, :value [[:append 1]]}`: "[:append 1]",
	} {
		if got := taken(t, in).broken; !strings.Contains(got, want) {
			t.Errorf("%s: %q does not tell of %q", in, got, want)
		}
	}
}

func TestOptionsNameWhatTheyDoNotKnow(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, ""},
		{Options{Models: []string{":PL-SI", "serializable"}, Anomalies: []string{"G1", GarbageRead}}, ""},
		{Options{Models: []string{"serialisable"}}, "did you mean serializable"},
		{Options{Models: []string{"zzz"}}, `"zzz" is not known: want one of monotonic-reads, `},
		{Options{Models: []string{"zzz"}}, ", serializable, "},
		{Options{Anomalies: []string{"zzz"}}, `anomaly "zzz" is not known: want one of G0, `},
		{Options{Anomalies: []string{"zzz"}}, ", garbage-read"},
		{Options{Anomalies: []string{"G-singel"}}, "did you mean G-single"},
		{Options{Models: []string{"linearizable"}}, "nothing in a history of transactions breaks it"},
	} {
		err := c.o.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one that says %q", c.o, err, c.want)
		}
	}
}
