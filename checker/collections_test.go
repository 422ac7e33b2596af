package checker

import "testing"

func TestSet(t *testing.T) {
	hold(t, []fixture{
		{"all there", Set, `
			0 invoke add 1
			0 ok add 1
			1 invoke add 2
			1 info add 2
			2 invoke read nil
			2 ok read #{1 2}`, Valid, "", "", map[string]string{"recovered": "1: #{2}", "lost": "0"}},
		{"lost and unexpected", Set, `
			0 invoke add 1
			0 ok add 1
			0 invoke add 2
			0 ok add 2
			1 invoke read nil
			1 ok read [2 3]`, Invalid, "lost unexpected", "1 was added (op 1), but the last read (op 5) does not hold it",
			map[string]string{"lost": "1: #{1}", "unexpected": "1: #{3}"}},
		{"only the last read counts", Set, `
			0 invoke add 1
			0 ok add 1
			1 ok read []
			1 ok read [1]`, Valid, "", "", nil},
		{"never read", Set, `
			0 invoke add 1
			0 ok add 1
			0 invoke read nil
			0 fail read nil`, Unknown, "", "the set was never read", nil},
		{"a read of nil", Set, `
			0 ok add 1
			0 ok read nil`, Unknown, "", "op 1", nil},
		{"a failed add that is there", Set, `
			0 invoke add :a
			0 fail add :a
			0 ok read [:a]`, Valid, "", "although the add failed: #{:a}", nil},
		{"empty", Set, `0 ok read []`, Valid, "", "", nil},
	})
}

func TestSetFull(t *testing.T) {
	plain := func() Stream { return SetFull(SetFullOptions{}) }
	linearizable := func() Stream { return SetFull(SetFullOptions{Linearizable: true}) }
	stale := `
		0 invoke add 1
		0 ok add 1
		1 invoke read nil
		1 ok read []
		1 invoke read nil
		1 ok read [1]`
	hold(t, []fixture{
		{"stable", plain, `
			0 invoke add 1
			0 ok add 1
			1 invoke read nil
			1 ok read [1]`, Valid, "", "", map[string]string{"stable": "1", "stable-latencies": "0 0s, 0.5 0s, 0.95 0s, 0.99 0s, 1 0s"}},
		{"lost after it was seen", plain, `
			0 invoke add 1
			1 invoke read nil
			1 ok read [1]
			1 invoke read nil
			1 ok read []`, Invalid, "lost", "1 was known to be in the set (op 2), but a read that began later (op 3)", nil},
		{"lost and never seen", plain, `
			0 invoke add 1
			0 ok add 1
			1 invoke read nil
			1 ok read []`, Invalid, "lost", "", nil},
		{"a concurrent read proves nothing", plain, `
			0 invoke add 1
			1 invoke read nil
			0 ok add 1
			1 ok read []`, Unknown, "", "", map[string]string{"never-read": "1: #{1}"}},
		{"a read of unknown start proves nothing", plain, `
			0 invoke add 1
			0 ok add 1
			1 ok read []`, Unknown, "", "", nil},
		{"stale is allowed", plain, stale, Valid, "", "", map[string]string{"stale": "1: #{1}", "worst-stale": "1 1ms"}},
		{"stale", linearizable, stale, Invalid, "stale", "op 2, 1ms after", nil},
		{"twice in one read", plain, `
			0 invoke add 1
			0 ok add 1
			1 invoke read nil
			1 ok read [1 1]`, Invalid, "duplicated", "holds 1 more than once", map[string]string{"duplicated": "1: #{1}"}},
		{"nobody added it", plain, `
			0 invoke add 1
			0 ok add 1
			1 invoke read nil
			1 ok read [1 2]`, Valid, "", "before anybody had begun to add them, such as 2", nil},
		{"nobody added it, linearizable", linearizable, `
			0 invoke add 1
			0 ok add 1
			1 invoke read nil
			1 ok read [1 2]`, Invalid, "unexpected", "", nil},
		{"never read", plain, `
			0 invoke add 1
			0 ok add 1`, Unknown, "", "never read", nil},
	})
}

func TestQueue(t *testing.T) {
	bag := func() Stream { return Queue(QueueOptions{}) }
	fifo := func() Stream { return Queue(QueueOptions{FIFO: true}) }
	swapped := `
		0 invoke enqueue 1
		0 ok enqueue 1
		0 invoke enqueue 2
		0 ok enqueue 2
		1 invoke dequeue nil
		1 ok dequeue 2
		1 invoke dequeue nil
		1 ok dequeue 1`
	hold(t, []fixture{
		{"any order", bag, swapped, Valid, "", "", nil},
		{"overtaken", fifo, swapped, Invalid, "overtaken", "1 left only after that (op 7)", nil},
		{"overtaken for ever", fifo, `
			0 invoke enqueue 1
			0 ok enqueue 1
			0 invoke enqueue 2
			0 ok enqueue 2
			1 invoke dequeue nil
			1 ok dequeue 2`, Invalid, "overtaken", "1 never left the queue", nil},
		{"a dequeue in doubt may have taken the first", fifo, `
			0 invoke enqueue 1
			0 ok enqueue 1
			0 invoke enqueue 2
			0 ok enqueue 2
			2 invoke dequeue nil
			1 invoke dequeue nil
			1 ok dequeue 2`, Valid, "", "", nil},
		{"concurrent enqueues have no order", fifo, `
			0 invoke enqueue 1
			1 invoke enqueue 2
			0 ok enqueue 1
			1 ok enqueue 2
			2 invoke dequeue nil
			2 ok dequeue 2
			2 invoke dequeue nil
			2 ok dequeue 1`, Valid, "", "", nil},
		{"a failed enqueue blocks nothing", fifo, `
			0 invoke enqueue 1
			0 fail enqueue 1
			0 invoke enqueue 2
			0 ok enqueue 2
			1 invoke dequeue nil
			1 ok dequeue 2`, Valid, "", "", nil},
		{"from nowhere", bag, `
			1 invoke dequeue nil
			1 ok dequeue 2`, Invalid, "not-enqueued", "2 was dequeued (op 1) before anybody had enqueued it", nil},
		{"too early", bag, `
			1 invoke dequeue nil
			1 ok dequeue 2
			0 invoke enqueue 2
			0 ok enqueue 2`, Invalid, "not-enqueued", "", nil},
		{"twice", bag, `
			0 invoke enqueue 2
			1 invoke dequeue nil
			1 ok dequeue 2
			1 invoke drain nil
			1 ok drain [2]`, Invalid, "not-enqueued", "more often", nil},
		{"empty answers", bag, `
			1 invoke dequeue nil
			1 ok dequeue nil
			1 invoke dequeue nil
			1 fail dequeue nil`, Valid, "", "nothing was dequeued", map[string]string{"empty": "1"}},
		{"nothing of a queue", bag, `1 invoke read nil`, Unknown, "", "no enqueue", nil},
	})
}

func TestTotalQueue(t *testing.T) {
	hold(t, []fixture{
		{"drained", TotalQueue, `
			0 invoke enqueue 1
			0 ok enqueue 1
			0 invoke enqueue 2
			0 info enqueue 2
			1 invoke drain nil
			1 ok drain [1 2]`, Valid, "", "", map[string]string{"recovered": "1: #{2}"}},
		{"lost", TotalQueue, `
			0 invoke enqueue 1
			0 ok enqueue 1
			1 invoke drain nil
			1 ok drain []`, Invalid, "lost", "1 was enqueued (op 1) and never came out", nil},
		{"lost once of twice", TotalQueue, `
			0 invoke enqueue 1
			0 ok enqueue 1
			0 invoke enqueue 1
			0 ok enqueue 1
			1 invoke dequeue nil
			1 ok dequeue 1`, Invalid, "lost", "enqueued 2 times and came out only 1 times", nil},
		{"unexpected", TotalQueue, `
			1 invoke dequeue nil
			1 ok dequeue 1`, Invalid, "unexpected", "", nil},
		{"duplicated is allowed", TotalQueue, `
			0 invoke enqueue 1
			0 ok enqueue 1
			1 ok dequeue 1
			1 ok dequeue 1`, Valid, "", "1 element came out more often", map[string]string{"duplicated": "1: #{1}"}},
		{"a crashed drain may have taken it", TotalQueue, `
			0 invoke enqueue 1
			0 ok enqueue 1
			0 invoke enqueue 2
			0 ok enqueue 2
			1 invoke drain nil
			1 info drain [2]`, Unknown, "", "1 acknowledged element never came out, but a drain crashed", nil},
		{"a drain without an end, too", TotalQueue, `
			0 invoke enqueue 1
			0 ok enqueue 1
			1 invoke drain nil`, Unknown, "", "a drain crashed", nil},
		{"an unexpected element of a crashed drain's queue", TotalQueue, `
			0 ok enqueue 1
			1 info drain nil
			1 ok dequeue 3`, Invalid, "unexpected", "", nil},
		{"nothing certain", TotalQueue, `0 invoke enqueue 1`, Unknown, "", "", nil},
	})
}

func TestUniqueIDs(t *testing.T) {
	hold(t, []fixture{
		{"unique", UniqueIDs, `
			0 invoke generate nil
			0 ok generate "a"
			0 invoke generate nil
			0 ok generate :a
			0 info generate nil
			0 ok generate [1 2]`, Valid, "", "", map[string]string{"attempts": "3", "acknowledged": "3"}},
		{"twice", UniqueIDs, `
			0 ok generate 7
			1 ok generate 9
			1 ok generate 7
			1 ok generate 7`, Invalid, "duplicated", "7 was generated 3 times", map[string]string{"duplicated": "1: {7 3}", "range": "[7 9]"}},
		{"nothing", UniqueIDs, `0 invoke generate nil`, Unknown, "", "", nil},
	})
}
