package checker

import (
	"testing"

	"github.com/jepgo/jepgo/history"
)

func TestCounter(t *testing.T) {
	counter := func() Stream { return Counter(CounterOptions{}) }
	from10 := func() Stream { return Counter(CounterOptions{Initial: 10}) }
	hold(t, []fixture{
		{"within bounds", counter, `
			0 invoke add 2
			1 invoke read nil
			1 ok read 2
			1 invoke read nil
			0 ok add 2
			1 ok read 0`, Valid, "", "1 read returned less than a read that had ended", nil},
		{"too high", counter, `
			0 invoke add 2
			1 invoke read nil
			1 ok read 3`, Invalid, "read-too-high", "between 0 and 2", map[string]string{"max-absolute-error": "1"}},
		{"too low", counter, `
			0 invoke add 2
			0 ok add 2
			1 invoke read nil
			1 ok read 1`, Invalid, "read-too-low", "between 2 and 2", nil},
		{"a failed add does not count, even before it fails", counter, `
			0 invoke add 2
			1 invoke read nil
			1 ok read 2
			0 fail add 2`, Invalid, "read-too-high", "between 0 and 0", nil},
		{"an add in doubt may count", counter, `
			0 invoke add 2
			0 info add 2
			1 invoke read nil
			1 ok read 2
			1 invoke read nil
			1 ok read 0`, Valid, "", "", nil},
		{"negative adds", counter, `
			0 invoke add 5
			0 ok add 5
			0 invoke add -3
			1 invoke read nil
			1 ok read 2
			1 invoke read nil
			1 ok read 5
			1 invoke read nil
			0 ok add -3
			1 ok read 1`, Invalid, "read-too-low", "Read 1 (op 9), but the counter must have been between 2 and 5", nil},
		{"a negative add that was sure", counter, `
			0 invoke add -3
			0 ok add -3
			1 invoke read nil
			1 ok read 0`, Invalid, "read-too-high", "between -3 and -3", nil},
		{"nil counts as nothing", counter, `
			1 invoke read nil
			1 ok read nil`, Valid, "", "", nil},
		{"a start of its own", from10, `
			0 invoke add 1
			0 ok add 1
			1 invoke read nil
			1 ok read 11
			2 invoke read nil
			2 ok read 1`, Invalid, "read-too-low", "between 11 and 11", nil},
		{"an ok add of unknown start", counter, `
			1 ok read 4
			0 ok add 4
			1 ok read 0`, Valid, "", "", nil},
		{"no processes", counter, `
			- invoke add 4
			- ok add 4
			- ok read 8`, Invalid, "read-too-high", "", nil},
		{"not an integer", counter, `
			0 invoke add 1.5
			1 invoke read nil
			1 ok read 0`, Unknown, "", "without an integer", nil},
		{"sums beyond 64 bits", counter, `
			0 invoke add 9223372036854775807
			1 invoke read nil
			1 ok read 0`, Unknown, "", "64 bits", nil},
		{"nothing", counter, `0 invoke write 1`, Unknown, "", "no add and no read", nil},
	})
}

func TestBank(t *testing.T) {
	bank := func() Stream { return Bank(BankOptions{}) }
	total := int64(100)
	told := func() Stream {
		return Bank(BankOptions{Total: &total, Accounts: []history.Value{history.Int(0), history.Int(1)}, NegativeBalances: true})
	}
	hold(t, []fixture{
		{"steady", bank, `
			0 invoke read nil
			0 ok read {0 10, 1 0}
			0 invoke transfer {:from 0 :to 1 :amount 3}
			0 ok read {0 7, 1 3}`, Valid, "", "total of 10", nil},
		{"wrong totals", bank, `
			0 ok read {0 10, 1 0}
			0 ok read {0 9, 1 0}
			0 ok read {0 2, 1 0}
			0 ok read {0 8, 1 5}`, Invalid, "wrong-total", "has a total of 2, not 10. It is the worst of 3",
			map[string]string{"wrong-total": "3; first op 1, worst op 2, last op 3; lowest 2, highest 13"}},
		{"overdrawn", bank, `
			0 ok read {0 10, 1 0}
			0 ok read {0 11, 1 -1}`, Invalid, "negative-value", "overdrawn, by 1", nil},
		{"overdrawing is allowed", told, `0 ok read {0 101, 1 -1}`, Valid, "", "", nil},
		{"told otherwise", told, `0 ok read {0 90}`, Invalid, "wrong-total", "a total of 90, not 100", nil},
		{"strange account", bank, `
			0 ok read {:a 10}
			0 ok read {:a 9, :b 1}`, Invalid, "unexpected-key", "such as :b", nil},
		{"no balance", bank, `
			0 ok read {0 10, 1 0}
			0 ok read {0 10, 1 nil}`, Invalid, "nil-balance", "", nil},
		{"accounts in JSON are texts", bank, `
			0 ok read {0 10, 1 0}
			0 ok read {"1" 10, "0" 0}`, Valid, "", "", nil},
		{"a missing account", bank, `
			0 ok read {0 10, 1 0}
			0 ok read {0 10}`, Valid, "", "although an account is missing", nil},
		{"no map", bank, `0 ok read 3`, Unknown, "", "cannot be added up", nil},
		{"nothing read", bank, `0 invoke read nil`, Unknown, "", "", nil},
	})
}

func TestLongFork(t *testing.T) {
	pairs := func() Stream { return LongFork(LongForkOptions{}) }
	triples := func() Stream { return LongFork(LongForkOptions{GroupSize: 3}) }
	hold(t, []fixture{
		{"a fork", pairs, `
			- invoke txn [[:w 0 1]]
			- ok txn [[:r 0 1] [:r 1 nil]]
			- ok txn [[:r 1 1] [:r 0 nil]]`, Invalid, "long-fork", "Read 1 sees key 0 but not 1, and read 2 sees 1 but not 0", nil},
		{"a chain", triples, `
			0 ok txn [[:r 0 1] [:r 1 nil] [:r 2 nil]]
			0 ok txn [[:r 0 1] [:r 1 1] [:r 2 1]]
			0 ok txn [[:r 0 nil] [:r 1 nil] [:r 2 nil]]
			0 ok txn [[:r 2 nil] [:r 1 1] [:r 0 1]]`, Valid, "", "4 reads in 1 group", map[string]string{"early-reads": "1", "late-reads": "1"}},
		{"two writes of a key", pairs, `
			0 invoke txn [[:w 0 1]]
			0 ok txn [[:w 0 1]]
			0 invoke txn [[:w 0 2]]
			0 ok txn [[:r 0 1] [:r 1 nil]]
			0 ok txn [[:r 1 1] [:r 0 nil]]`, Unknown, "", "key 0 is written more than once (ops 0 and 2)", nil},
		{"a fork elsewhere stands", pairs, `
			0 invoke txn [[:w 7 1]]
			1 invoke txn [[:w 7 2]]
			0 ok txn [[:r 0 1] [:r 1 nil]]
			0 ok txn [[:r 1 1] [:r 0 nil]]`, Invalid, "long-fork", "key 7", nil},
		{"two values of a key", pairs, `
			0 ok txn [[:r 0 1] [:r 1 nil]]
			0 ok txn [[:r 0 2] [:r 1 nil]]`, Unknown, "", "key 0 is read with two values (op 1)", nil},
		{"wrong number of keys", pairs, `0 ok txn [[:r 0 1] [:r 1 nil] [:r 2 nil]]`, Unknown, "", "not of 2 different keys", nil},
		{"one key twice", pairs, `0 ok txn [[:r 0 1] [:r 0 nil]]`, Unknown, "", "not of 2 different keys", nil},
		{"nothing", pairs, `0 invoke txn [[:r 0 nil] [:r 1 nil]]`, Unknown, "", "nothing was read", nil},
		{"odd values", pairs, `
			0 ok txn 5
			0 ok txn [[] [:r]]
			0 ok txn []`, Unknown, "", "", nil},
	})
}

func TestCausalReverse(t *testing.T) {
	hold(t, []fixture{
		{"in order", CausalReverse, `
			0 invoke write 1
			0 ok write 1
			0 invoke write 2
			1 ok read [1]
			1 ok read [1 2]
			1 ok read []`, Valid, "", "3 reads", nil},
		{"reversed", CausalReverse, `
			0 invoke write 1
			0 ok write 1
			0 invoke write 2
			0 ok write 2
			1 invoke read nil
			1 ok read #{2}`, Invalid, "causal-reverse", "Read 5 holds 2, but lacks 1, whose write had ended (op 1) before the write of 2 began (op 2)", nil},
		{"reversed later", CausalReverse, `
			0 invoke write 1
			0 ok write 1
			0 invoke write 2
			1 ok read [1 2]
			1 ok read [2]`, Invalid, "causal-reverse", "", map[string]string{"errors": "1"}},
		{"concurrent", CausalReverse, `
			0 invoke write 1
			1 invoke write 2
			0 ok write 1
			1 ok write 2
			2 ok read [2]`, Valid, "", "", nil},
		{"read before it was written", CausalReverse, `
			0 invoke write 1
			0 ok write 1
			2 ok read [2]
			0 invoke write 2`, Invalid, "causal-reverse", "Read 2 holds 2, but lacks 1", nil},
		{"written twice", CausalReverse, `
			1 invoke write 2
			0 invoke write 1
			0 ok write 1
			1 ok write 2
			1 invoke write 2
			2 ok read [2]`, Valid, "", "", nil},
		{"nobody wrote it", CausalReverse, `
			0 invoke write 1
			0 fail write 1
			2 ok read [1 7]`, Valid, "", "1 element that nobody wrote: #{7}", nil},
		{"nothing read", CausalReverse, `0 invoke write 1`, Unknown, "", "", nil},
		{"comments of one key", Comments, `
			- invoke read nil
			- ok read []
			- invoke write 1
			- ok write 1
			- invoke write 2
			- ok read #{2}`, Invalid, "causal-reverse", "lacks 1", nil},
		{"comments of many keys", Comments, `
			0 invoke write [:x 1]
			0 ok write [:x 1]
			0 invoke write [:y 2]
			1 ok read [:y #{2}]
			0 ok write [:y 2]
			0 invoke write [:x 3]
			1 ok read [:x #{3}]`, Invalid, "causal-reverse", "Key :x: Read 6 holds 3, but lacks 1", nil},
	})
}

func TestG2(t *testing.T) {
	hold(t, []fixture{
		{"one each", G2, `
			0 invoke insert [1 [1 nil]]
			1 invoke insert [1 [nil 2]]
			0 ok insert [1 [1 nil]]
			1 fail insert [1 [nil 2]]
			0 ok insert [2 [3 nil]]`, Valid, "", "", map[string]string{"keys": "2", "legal": "2"}},
		{"both", G2, `
			0 invoke insert [1 [1 nil]]
			1 invoke insert [1 [nil 2]]
			0 ok insert [1 [1 nil]]
			1 ok insert [1 [nil 2]]`, Invalid, "G2", "Inserts 2 and 3 for key 1", map[string]string{"illegal": "1"}},
		{"in doubt", G2, `
			0 info insert [1 [1 nil]]
			1 ok insert [1 [nil 2]]`, Valid, "", "", nil},
		{"none", G2, `0 invoke insert 3`, Unknown, "", "", nil},
	})
}

func TestCausal(t *testing.T) {
	keyed := func() Stream { return Independent("causal", Causal) }
	hold(t, []fixture{
		{"chain", Causal, `
			0 invoke read-init nil
			0 ok read-init 0 | :position 1 :link :init
			0 ok write 1 | :position 2 :link 1
			0 ok read 1 | :position 3 :link 2
			0 ok write 2 | :position 4 :link 3
			0 ok read 2 | :position 5 :link 4`, Valid, "", "5 operations", nil},
		{"a stale read", Causal, `
			0 ok read-init 0 | :position 1 :link :init
			0 ok write 1 | :position 2 :link 1
			0 ok read 0 | :position 3 :link 2`, Invalid, "unexpected-read", "It reads 0 from a register that holds 1", nil},
		{"not fresh", Causal, `0 ok read-init 3 | :position 1 :link :init`, Invalid, "unexpected-read", "begins at 0", nil},
		{"a broken link", Causal, `
			0 ok read-init 0 | :position 1 :link :init
			0 ok write 1 | :position 2 :link 7`, Invalid, "causal-order", "It links to position 7, but the operation before is at 1", nil},
		{"a wrong write", Causal, `0 ok write 2 | :position 1 :link :init`, Invalid, "unexpected-write", "", nil},
		{"keys", keyed, `
			0 ok read-init [:x 0] | :position 1 :link :init
			1 ok read-init [:y 0] | :position 2 :link :init
			0 ok write [:x 1] | :position 3 :link 1
			1 ok read [:y 5] | :position 4 :link 2`, Invalid, "unexpected-read", "Key :y: Operation 3 (:read) breaks", nil},
		{"nothing", Causal, `0 invoke read nil`, Unknown, "", "", nil},
	})
}
