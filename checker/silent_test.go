package checker

import (
	"slices"
	"strings"
	"testing"
)

// TestSilentCompletions holds that an ok that says nothing, or only that it is
// done, is one of what was invoked.
func TestSilentCompletions(t *testing.T) {
	sets := func() Stream { return SetFull(SetFullOptions{Linearizable: true}) }
	fifo := func() Stream { return Queue(QueueOptions{FIFO: true}) }
	counter := func() Stream { return Counter(CounterOptions{}) }
	keyed := func() Stream { return Independent("keyed", Set) }
	for _, f := range []fixture{
		{"set", Set, `
			0 invoke add 1
			0 ok add ANSWER
			0 ok read #{1}`, Valid, "", "all of 1 acknowledged", nil},
		{"set that loses it", Set, `
			0 invoke add 1
			0 info add [:timeout 1]
			2 invoke add 1
			2 ok add ANSWER
			0 ok read #{}`, Invalid, "lost", "1 was added (op 3)", nil},
		{"set-full", sets, `
			0 invoke add 1
			0 ok add ANSWER
			0 invoke read nil
			0 ok read #{1}`, Valid, "", "1 element stable", nil},
		{"set-full that loses it", sets, `
			0 invoke add 1
			0 info add nil
			1 invoke add 1
			1 ok add ANSWER
			0 invoke read nil
			0 ok read #{}`, Invalid, "lost", "1 was known to be in the set (op 3)", nil},
		{"total-queue", TotalQueue, `
			0 invoke enqueue 1
			0 ok enqueue ANSWER
			0 ok dequeue 1`, Valid, "", "all of 1 acknowledged", nil},
		{"total-queue that loses it", TotalQueue, `
			0 invoke enqueue 1
			1 invoke enqueue 1
			1 ok enqueue ANSWER
			0 info enqueue nil
			2 ok drain []`, Invalid, "lost", "1 was enqueued (op 2)", nil},
		{"queue", fifo, `
			0 invoke enqueue 1
			0 ok enqueue ANSWER
			0 invoke dequeue nil
			0 ok dequeue 1`, Valid, "", "", nil},
		{"counter", counter, `
			0 invoke add 1
			0 ok add ANSWER
			1 invoke read nil
			1 ok read 0`, Invalid, "read-too-low", "", nil},
		{"causal-reverse", CausalReverse, `
			2 invoke write 1
			0 invoke write 1
			0 ok write ANSWER
			0 invoke write 2
			0 ok write ANSWER
			1 invoke read nil
			1 ok read [2]`, Invalid, "causal-reverse", "holds 2, but lacks 1", nil},
		{"g2", G2, `
			0 invoke insert [5 [1 nil]]
			1 invoke insert [5 [nil 2]]
			0 ok insert ANSWER
			1 ok insert ANSWER`, Invalid, "G2", "", nil},
		{"keys", keyed, `
			0 invoke add [:a 1]
			0 ok add ANSWER
			0 ok read [:a #{1}]`, Valid, "", "", nil},
		{"keys with answers", keyed, `
			0 invoke add [:a 1]
			0 ok add [:a ANSWER]
			0 ok read [:a #{1}]`, Valid, "", "", nil},
	} {
		for _, answer := range []string{"nil", "true"} {
			if f.name == "keys" && answer == "true" {
				continue // is of no key
			}
			with := f
			with.name += " " + answer
			with.history = strings.ReplaceAll(f.history, "ANSWER", answer)
			hold(t, []fixture{with})
		}
	}
	hold(t, []fixture{
		{"causal", Causal, `
			0 ok read-init 0 | :position 1 :link :init
			0 invoke write 1
			0 ok write nil | :position 2 :link 1
			0 ok read 1 | :position 3 :link 2`, Valid, "", "", nil},
		{"causal that forgets", Causal, `
			0 ok read-init 0 | :position 1 :link :init
			0 invoke write 2
			0 ok write nil | :position 2 :link 1`, Invalid, "unexpected-write", "It writes 2 where 1", nil},
		{"a boolean that is an element", Set, `
			0 invoke add true
			0 ok add false
			0 ok read #{true}`, Invalid, "lost", "false was added", nil},
		{"nobody knows of what", Set, `
			0 ok add nil
			0 ok read #{}`, Unknown, "", "1 ok add with neither a value nor an invocation, such as op 0", nil},
		{"nobody knows of what, and something is lost", Set, `
			0 ok add nil
			0 ok add 1
			0 ok read #{}`, Invalid, "lost", "", nil},
		{"an enqueue that began as a dequeue", TotalQueue, `
			0 invoke dequeue nil
			0 ok enqueue nil`, Unknown, "", "1 ok enqueue with neither a value nor an invocation", nil},
		{"nothing was added", Set, `
			0 invoke add nil
			0 ok add nil
			0 ok read #{nil}`, Valid, "", "", nil},
	})
}

// TestUnreadable holds that what a model cannot read is not passed over.
func TestUnreadable(t *testing.T) {
	bank := func() Stream { return Bank(BankOptions{}) }
	counter := func() Stream { return Counter(CounterOptions{}) }
	sets := func() Stream { return SetFull(SetFullOptions{}) }
	queue := func() Stream { return Queue(QueueOptions{}) }
	fork := func() Stream { return LongFork(LongForkOptions{}) }
	keyed := func() Stream { return Independent("keyed", Set) }
	for _, value := range []string{"{0 9.5, 1 5}", "{0 99999999999999999999, 1 5}", "{0 9223372036854775807, 1 5}", "[0 7]", `{0 "5"}`, "nil", "7"} {
		hold(t, []fixture{
			{"bank of " + value, bank, "0 ok read {0 5, 1 5}\n0 ok read " + value, Unknown, "", "1 ok read cannot be added up, such as op 1", nil},
			{"wrong bank of " + value, bank, "0 ok read {0 5, 1 5}\n0 ok read " + value + "\n0 ok read {0 5, 1 6}", Invalid, "wrong-total", "cannot be added up, such as op 1", nil},
		})
	}
	hold(t, []fixture{
		{"whole floats", bank, `
			0 ok read {0 5, 1 5}
			0 ok read {0 9.0, 1 1}`, Valid, "", "", nil},
		{"adds of no integer", counter, `
			0 invoke add 2.5
			0 ok add 2.5
			0 invoke add 0.5
			0 ok add 0.5
			0 invoke read nil
			0 ok read 3`, Unknown, "", "without an integer as the value, such as op 0: the bounds are not known", nil},
		{"an add of no integer that failed without invocation", counter, `
			0 fail add 2.5
			0 ok read 0`, Valid, "", "", nil},
		{"a read of no integer", counter, `
			0 ok read 2.5
			0 ok read 0`, Unknown, "", "without an integer as the value, such as op 0", nil},
		{"a read of no integer, and a wrong one", counter, `
			0 ok read 2.5
			0 ok read 1`, Invalid, "read-too-high", "without an integer", nil},
		{"set-full", sets, `
			0 invoke add 1
			0 ok add 1
			0 ok read #{1}
			0 ok read 1`, Unknown, "", "1 ok read without a collection, such as op 3", nil},
		{"causal-reverse", CausalReverse, `
			0 invoke write 1
			0 ok write 1
			0 ok read #{1}
			0 ok read 1`, Unknown, "", "1 ok read without a collection, such as op 3", nil},
		{"a queue's drain", queue, `
			0 invoke enqueue 1
			0 ok enqueue 1
			0 ok drain 2`, Unknown, "", "1 ok drain without a collection, such as op 2", nil},
		{"a queue's drain of nothing", queue, `
			0 invoke enqueue 1
			0 ok drain nil`, Valid, "", "", nil},
		{"a queue's drain, and something wrong", queue, `
			0 ok drain 2
			0 ok dequeue 3`, Invalid, "not-enqueued", "without a collection", nil},
		{"a total queue's drain", TotalQueue, `
			0 invoke enqueue 1
			0 ok enqueue 1
			0 ok dequeue 1
			0 ok drain 2`, Unknown, "", "1 ok drain without a collection, such as op 3", nil},
		{"a total queue's drain may be of what is lost", TotalQueue, `
			0 invoke enqueue 1
			0 ok enqueue 1
			0 ok drain 1`, Unknown, "", "1 ok drain without a collection, such as op 2", nil},
		{"an insert", G2, `
			0 ok insert [5 [1 nil]]
			0 ok insert 5`, Unknown, "", "1 ok insert without [key [a b]] as the value, such as op 1", nil},
		{"long-fork", fork, `
			0 ok txn [[:r 1 nil] [:r 2 nil]]
			0 ok txn 5`, Unknown, "", "1 ok operation without a transaction as the value, such as op 1", nil},
		{"long-fork's silent write", fork, `
			0 ok txn [[:r 1 nil] [:r 2 nil]]
			0 invoke txn [[:w 1 1]]
			0 ok txn nil`, Valid, "", "", nil},
		{"no key", keyed, `
			0 invoke add [1 1]
			0 ok add [1 1]
			0 ok read [1 #{1}]
			0 invoke add 7
			0 ok add 7
			0 ok read #{8}`, Unknown, "", "2 ok operations without [key value] as the value, such as op 4", nil},
		{"no key, and something lost", keyed, `
			0 ok add [1 1]
			0 ok read [1 #{}]
			0 ok read #{8}`, Invalid, "lost", "1 ok operation without [key value]", nil},
		{"no key in what is not ok", keyed, `
			0 ok add [1 1]
			0 ok read [1 #{1}]
			0 invoke add 7
			0 fail add 7`, Valid, "", "2 operations without [key value]", nil},
		{"a keyed read of nothing has no key", keyed, `
			0 ok add [1 1]
			0 ok read [1 #{1}]
			0 invoke read [1 nil]
			0 ok read nil`, Unknown, "", "1 ok operation without [key value]", nil},
		{"no write of all that is read", CausalReverse, `
			0 invoke write 1
			0 ok write 1
			0 ok read [[1 2] 3]`, Unknown, "", "nothing that was read was ever written, such as [1 2]: the history is not of this kind", nil},
		{"no write of some", CausalReverse, `
			0 ok write 1
			0 ok read [1 3]`, Valid, "", "1 element that nobody wrote", nil},
		{"a failed write is one", CausalReverse, `
			0 fail write 1
			0 ok read [1]`, Valid, "", "although the write failed", nil},
		{"reads of nothing", CausalReverse, `
			0 invoke write 1
			0 ok read []`, Valid, "", "", nil},
	})
}

// TestSanityOfAnswers holds that yes and no are answers, and no values.
func TestSanityOfAnswers(t *testing.T) {
	for _, c := range []struct {
		invoked, completed string
		sane               bool
	}{
		{"add 1", "add true", true},
		{"add 1", "add false", true},
		{"add 1", "add [1 true]", true},
		{"add [:k 1]", "add [:k true]", true},
		{"add [:k 1]", "add [:k [1 true]]", true},
		{"add [1 2]", "add [[1 2] true]", true},
		{"cas [1 2]", "cas true", true},
		{"write 1", "write true", true},
		{"contains 1", "contains [1 true]", true},
		{"add 1", "add [2 true]", false},
		{"add [:k 1]", "add [:j true]", false},
		{"add [:k 1]", "add [:k [2 true]]", false},
		{"write true", "write false", false},
		{"write [:k true]", "write [:k false]", false},
		{"add 1", "add 2", false},
	} {
		want := Unknown
		if c.sane {
			want = Valid
		}
		r := judge(Sanity(SanityOptions{}), ops(t, "0 invoke "+c.invoked+"\n0 ok "+c.completed))
		if r.Verdict != want {
			t.Errorf("%s, then %s: says %v (%s), want %v", c.invoked, c.completed, r.Verdict, r.Reason, want)
		}
	}
}

// TestLoneCompletions holds that they are odd among invocations only.
func TestLoneCompletions(t *testing.T) {
	isLone := func(w string) bool { return strings.HasPrefix(w, "lone-completion") }
	if r := judge(Sanity(SanityOptions{}), ops(t, "0 ok txn [[:w 1 1]]\n1 ok txn [[:w 2 1]]")); r.Verdict != Valid || slices.ContainsFunc(r.Warnings, isLone) {
		t.Errorf("of completions only: says %v with %q", r.Verdict, r.Warnings)
	}
	if r := judge(Sanity(SanityOptions{}), ops(t, "0 ok write 1\n1 invoke write 2\n1 ok write 2")); r.Verdict != Valid || !slices.ContainsFunc(r.Warnings, isLone) {
		t.Errorf("of one among others: says %v with %q", r.Verdict, r.Warnings)
	}
}
