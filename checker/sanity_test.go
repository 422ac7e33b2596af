package checker

import "testing"

func TestSanity(t *testing.T) {
	sanity := func() Stream { return Sanity(SanityOptions{}) }
	pairless := func() Stream { return Sanity(SanityOptions{Pairless: true}) }
	double := `
		0 invoke write 1
		0 invoke write 2
		0 ok write 2`
	for _, f := range []fixture{
		{"sane", sanity, `
			0 invoke write 1
			1 invoke read nil
			0 ok write 1
			1 ok read 1
			1 invoke cas [1 2]
			1 fail cas nil
			0 invoke txn [[:append 1 2] [:r 1 nil]]
			0 ok txn [[:append 1 2] [:r 1 [2]]]`, Valid, "", "", nil},
		{"write with another value", sanity, `
			0 invoke write 3
			0 ok write 4`, Unknown, "", "changed-value: 1 ok completion with another value than was invoked, such as op 1", nil},
		{"cas with another value", sanity, `
			0 invoke cas [1 2]
			0 ok cas [1 3]`, Unknown, "", "changed-value", nil},
		{"append with another value", sanity, `
			0 invoke txn [[:append 1 2] [:r 1 nil]]
			0 ok txn [[:append 1 3] [:r 1 [3]]]`, Unknown, "", "changed-value", nil},
		{"a read that became a write", sanity, `
			0 invoke txn [[:r 1 nil]]
			0 ok txn [[:w 1 3]]`, Unknown, "", "changed-value", nil},
		{"fewer micro-operations", sanity, `
			0 invoke txn [[:r 1 nil] [:r 2 nil]]
			0 ok txn [[:r 1 nil]]`, Unknown, "", "changed-value", nil},
		{"a transaction of another key", sanity, `
			0 invoke txn [:x [[:w 1 3]]]
			0 ok txn [:y [[:w 1 3]]]`, Unknown, "", "changed-value", nil},
		{"a short read", sanity, `
			0 invoke txn [[:r :x] [:w :y 1]]
			0 ok txn [[:r :x 3] [:w :y 1]]`, Valid, "", "", nil},
		{"no value told", sanity, `
			0 invoke write 3
			0 ok write nil`, Valid, "", "", nil},
		{"a write in doubt", sanity, `
			0 invoke write 3
			0 info write [:timeout 3]`, Valid, "", "", nil},
		{"another f", sanity, `
			0 invoke write 3
			0 ok read 3`, Unknown, "", "changed-f: 1 completion", nil},
		{"two at once", sanity, double, Unknown, "", "double-invoke: 1 invocation of a process", map[string]string{"double-invoke": "1"}},
		{"two at once for a model that does not pair", pairless, double, Valid, "", "double-invoke", nil},
		{"a completion of nothing", sanity, `
			0 ok write 1
			1 invoke write 2`, Valid, "", "lone-completion: 1", nil},
		{"a process that goes on", sanity, `
			0 invoke write 3
			0 info write 3
			0 invoke write 4`, Valid, "", "alive-after-info: 1", nil},
		{"no processes", sanity, `
			- invoke write 3
			- ok write 4`, Valid, "", "", nil},
		{"nothing", sanity, `:nemesis info start nil`, Valid, "", "no line of a client", nil},
	} {
		hold(t, []fixture{f})
	}
}

func TestSanityOfTime(t *testing.T) {
	h := ops(t, `
		0 invoke write 3
		0 ok write 3`)
	h.Ops[1].Time = 0
	h.Ops[0].Time = 5
	if r := judge(Sanity(SanityOptions{}), h); r.Verdict != Valid || stat(r, "time-backwards") != "1" {
		t.Errorf("says %v: %v", r.Verdict, r.Warnings)
	}
}
