package workloads

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

// Sets get a hundred unique elements each.
func TestSetsAreBounded(t *testing.T) {
	w := &sets{}
	rng := rand.New(rand.NewPCG(1, 1))
	seen := make(map[string]bool)
	perKey := make(map[int64]int)
	for range 1000 {
		o := w.Strong(rng)
		key, ok := keyOf(o.Value)
		if !ok || seen[o.Value.String()] {
			t.Fatalf("value %s is not new", o.Value)
		}
		seen[o.Value.String()] = true
		perKey[key]++
		read, _ := w.Local(rng)
		if k, ok := keyOf(read.Value); !ok || k < 0 || k > key {
			t.Fatalf("set %s is read while %d grows", read.Value, key)
		}
	}
	for key, n := range perKey {
		if n > elementsPerSet {
			t.Errorf("set %d has %d elements", key, n)
		}
	}
	if got := len(w.Final()); got != 0 { // no nodes
		t.Errorf("%d final threads without a node", got)
	}
}

// Values of a list are unique, lists end, and what is drawn can be encoded.
func TestListsAreBounded(t *testing.T) {
	w := newLists(Env{Concurrency: 1}, nil)
	rng := rand.New(rand.NewPCG(2, 2))
	values := make(map[string]bool)
	perKey := make(map[string]int)
	reads, longest := 0, 0
	for range 3000 {
		o := w.Strong(rng)
		if _, _, err := encodeSteps(o.Value); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, len(o.Value.Elems()))
		for _, e := range o.Value.Elems() {
			parts := e.Elems()
			if parts[0].Text() == "r" {
				reads++
				continue
			}
			if values[e.String()] {
				t.Fatalf("%s is drawn twice", e)
			}
			values[e.String()] = true
			if perKey[parts[1].String()]++; perKey[parts[1].String()] > appendsPerList {
				t.Fatalf("list %s has more than %d values", parts[1], appendsPerList)
			}
		}
	}
	if longest != mostSteps || reads < 1000 || len(values) < 1000 {
		t.Errorf("%d reads and %d appends, at most %d in a transaction", reads, len(values), longest)
	}
}

// The receipt of a transaction on lists tells what it read, in its order, or
// the transaction says nothing.
func TestStepsFromReceipts(t *testing.T) {
	c, err := loadContract("Append")
	if err != nil {
		t.Fatal(err)
	}
	c.address = common.Address{1}
	w := newLists(Env{Concurrency: 1}, c)
	event := c.abi.Events["Read"]
	read := func(step, key int64, saw ...uint32) client.Log {
		data, err := event.Inputs.NonIndexed().Pack(saw)
		if err != nil {
			t.Fatal(err)
		}
		return client.Log{Address: c.address, Topics: []common.Hash{event.ID, common.BigToHash(unsigned(step)), common.BigToHash(unsigned(key))}, Data: data}
	}
	other := read(1, 7)
	other.Address = common.Address{2}
	cut := read(1, 7, 1, 2)
	cut.Data = cut.Data[:len(cut.Data)-1]
	more := read(1, 7, 1)
	more.Data = append(more.Data, 0)
	keys, elements, err := encodeSteps(history.Vec(
		step("append", history.Int(7), history.Int(3)), step("r", history.Int(7), history.Value{}), step("r", history.Int(8), history.Value{})))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		logs []client.Log
		want string // "" for an error
	}{
		{"both", []client.Log{read(1, 7, 1, 3), read(2, 8)}, "[[:append 7 3] [:r 7 [1 3]] [:r 8 []]]"},
		{"events of others between", []client.Log{other, read(1, 7, 3), other, read(2, 8, 9)}, "[[:append 7 3] [:r 7 [3]] [:r 8 [9]]]"},
		{"none", nil, ""},
		{"one", []client.Log{read(1, 7, 1)}, ""},
		{"three", []client.Log{read(1, 7, 1), read(2, 8), read(2, 8)}, ""},
		{"in another order", []client.Log{read(2, 8), read(1, 7, 1)}, ""},
		{"of another list", []client.Log{read(1, 6, 1), read(2, 8)}, ""},
		{"cut off", []client.Log{cut, read(2, 8)}, ""},
		{"with more", []client.Log{more, read(2, 8)}, ""},
		{"only the event's name", []client.Log{{Address: c.address, Topics: []common.Hash{event.ID}}, read(2, 8)}, ""},
	} {
		got, err := w.steps(keys, elements, &client.Receipt{Logs: test.logs})
		if (err != nil) != (test.want == "") || err == nil && got.String() != test.want {
			t.Errorf("%s: %s, %v, want %q", test.name, got, err, test.want)
		}
	}
}

// All kinds of transactions have the same share of the clients', and the threads
// stay as many.
func TestClientsAreShared(t *testing.T) {
	accounts := client.NewAccounts("shared")
	accounts.Addresses(20)
	deployer, err := accounts.Next()
	if err != nil {
		t.Fatal(err)
	}
	node := &client.Client{}
	env := Env{Nodes: []*client.Client{node, node}, Accounts: accounts, Deployer: deployer, Book: NewBook(), Rand: rand.New(rand.NewPCG(3, 3)), Concurrency: 6}
	c := &contract{}
	all := []Instance{
		&registers{env: env, keys: newKeys(1)}, &counting{env: env}, &sets{env: env}, &banking{env: env}, newLists(env, c),
		&logging{env: env, contract: c, places: newPlaces(c)}, &pastCalls{env: env, places: newPlaces(c)}, newPayments(env),
	}
	threads, err := Clients(env, all)
	if err != nil {
		t.Fatal(err)
	}
	if want := env.Concurrency + len(env.Nodes); len(threads) != want {
		t.Errorf("%d threads, want %d", len(threads), want)
	}
	strong := make(map[string]int)
	for _, w := range All() {
		for _, f := range w.Ops {
			if isStrong(f) && w.Name != "pool" && w.Name != "precompile" {
				strong[f] = 0
			}
		}
	}
	transactions := 0
	const draws = 4000
	for range draws {
		o, ok := threads[0].Next()
		if !ok {
			t.Fatal("a client ends")
		}
		if _, ok := strong[o.F]; ok {
			strong[o.F]++
			transactions++
		}
	}
	if transactions < draws/3 || transactions > draws/2 {
		t.Errorf("%d of %d operations are transactions, want two of five", transactions, draws)
	}
	register := strong["read"] + strong["write"] + strong["cas"]
	for f, n := range strong {
		if !slices.Contains([]string{"read", "write", "cas"}, f) && n < transactions/20 {
			t.Errorf("%d of %d transactions are :%s, want a tenth", n, transactions, f)
		}
	}
	if register < transactions/5 || register > transactions*2/5 {
		t.Errorf("%d of %d transactions are of register, want three tenths", register, transactions)
	}
	for range draws {
		if o, _ := threads[env.Concurrency].Next(); isStrong(o.F) {
			t.Fatalf("a reader is to do a :%s", o.F)
		}
	}
}

// Questions are about blocks that are known, mostly the newest, and old ones are
// forgotten.
func TestPlaces(t *testing.T) {
	p := newPlaces(&contract{height: 5, block: common.Hash{5}})
	rng := rand.New(rand.NewPCG(4, 4))
	if at := p.draw(rng); at.number != 5 {
		t.Errorf("the only block is %d", at.number)
	}
	for n := range uint64(300) {
		for range 3 { // several transactions of one block
			p.add(6+n, common.BigToHash(unsigned(int64(6+n))))
		}
	}
	if len(p.all) != remembered || p.newest().number != 305 {
		t.Errorf("%d blocks up to %d are remembered, want %d", len(p.all), p.newest().number, remembered)
	}
	if _, ok := p.height(common.Hash{5}); ok {
		t.Error("a block is never forgotten")
	}
	recent := 0
	for range 1000 {
		at := p.draw(rng)
		if n, ok := p.height(at.hash); !ok || n != at.number {
			t.Fatalf("block %d is not known", at.number)
		}
		if at.number > 305-fresh {
			recent++
		}
	}
	if recent < 600 || recent > 950 {
		t.Errorf("%d of 1000 questions are about the newest", recent)
	}
}
