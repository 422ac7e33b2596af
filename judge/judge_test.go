package judge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/checker"
)

const staleRegister = `{:process 0, :type :invoke, :f :write, :value 1}
{:process 0, :type :ok, :f :write, :value 1}
{:process 0, :type :invoke, :f :write, :value 2}
{:process 0, :type :ok, :f :write, :value 2}
{:process 1, :type :invoke, :f :read, :value nil}
{:process 1, :type :ok, :f :read, :value 1}
`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "history.edn")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestJudgeJepsenHistory(t *testing.T) {
	for text, want := range map[string]checker.Verdict{
		staleRegister: checker.Invalid,
		strings.Replace(staleRegister, ":ok, :f :read, :value 1", ":ok, :f :read, :value 2", 1): checker.Valid,
		"": checker.Unknown, // nothing to judge
	} {
		j, err := File(t.Context(), write(t, text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if j.Verdict != want {
			t.Errorf("verdict %s, want %s: %s", j.Verdict, want, j.Reason())
		}
	}
}

// TestJudgeRefuses: what cannot be judged is the user's to mend, never a verdict.
func TestJudgeRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		path string
		o    Options
		want string
	}{
		"no such model": {write(t, staleRegister), Options{Model: "abacus"}, `--model "abacus"`},
		"not jepgo's":   {write(t, staleRegister), Options{Model: "chain"}, "--model chain"},
		"unknown ops":   {write(t, `{:process 0, :type :ok, :f :dance, :value 1}`), Options{}, ":dance"},
		"keyed":         {write(t, `{:process 0, :type :ok, :f :read, :value [1 2]}`), Options{}, "--independent"},
		"useless":       {write(t, staleRegister), Options{GroupSize: 3, Negative: true}, "does not look at --group-size, --negative-balances"},
		"no such level": {write(t, staleRegister), Options{Consistency: []string{"serializable"}}, "linearizable or sequential"},
		"bad initial":   {write(t, staleRegister), Options{Initial: "{"}, "--initial"},
		"binary":        {write(t, "\x7fELF\x02\x01\x01\x00\x00"), Options{}, "format is not known"},
		"directory":     {dir, Options{}, "history.edn"},
		"no file":       {filepath.Join(dir, "none.edn"), Options{}, "none.edn"},
	} {
		t.Run(name, func(t *testing.T) {
			j, err := File(t.Context(), c.path, c.o)
			if err == nil {
				t.Fatalf("judged %s", j.Verdict)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q lacks %q", err, c.want)
			}
		})
	}
}

// A history from which ops are missing is neither approved nor accused.
func TestSkippedOpsDecideNothing(t *testing.T) {
	for _, read := range []string{"1", "2"} {
		text := strings.Replace(staleRegister, ":ok, :f :read, :value 1", ":ok, :f :read, :value "+read, 1)
		text = strings.Replace(text, "{:process 1, :type :invoke", "{:process 9, :type :invoke, :f :write, :weird key here, :value 1}\n{:process 1, :type :invoke", 1)
		j, err := File(t.Context(), write(t, text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if j.Verdict != checker.Unknown || !strings.Contains(j.Reason(), "left out") {
			t.Errorf("read of %s: %s: %s", read, j.Verdict, j.Reason())
		}
	}
}

// Operations that the model does not know may have done anything.
func TestForeignOperations(t *testing.T) {
	text := staleRegister + "{:process 3, :type :invoke, :f :dance, :value 1}\n{:process 3, :type :ok, :f :dance, :value 1}\n"
	for _, read := range []string{"1", "2"} {
		j, err := File(t.Context(), write(t, strings.Replace(text, ":ok, :f :read, :value 1", ":ok, :f :read, :value "+read, 1)), Options{Model: "register"})
		if err != nil {
			t.Fatal(err)
		}
		if j.Verdict != checker.Unknown || !strings.Contains(j.Reason(), ":dance at op 7") {
			t.Errorf("read of %s: %s: %s", read, j.Verdict, j.Reason())
		}
	}
}

// However long the nemesis was at work, the model is that of the clients.
func TestNemesisFirst(t *testing.T) {
	text := strings.Repeat("{:process :nemesis, :type :info, :f :kill, :value nil}\n", 2*lookAtLeast) +
		"{:process 0, :type :ok, :f :add, :value 1}\n{:process 0, :type :ok, :f :read, :value #{1}}\n"
	j, err := File(t.Context(), write(t, text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if j.Model != "set-full" {
		t.Errorf("model %s: %s", j.Model, j.Reason())
	}
}

// A history that ends in the middle of an op says so in its line.
func TestCutIsSaid(t *testing.T) {
	j, err := File(t.Context(), write(t, strings.Replace(staleRegister, "{:process 1, :type :ok, :f :read, :value 1}\n", "{:process 1, :type :ok, :f", 1)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(j.Line(), "ends in the middle of an op, at byte") {
		t.Errorf("line %q", j.Line())
	}
}
