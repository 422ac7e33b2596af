package judge

import (
	"slices"

	"github.com/jepgo/jepgo/checker"
)

// modelChain is the model of jepgo's own histories: their first op says what
// was claimed.
const modelChain = "chain"

// model is a set of rules for histories that jepgo did not record.
type model struct {
	name string
	doc  string // one line for help
	// fits reports whether operations look like this model's; nil for a model that
	// has to be asked for.
	fits func(s *sight) bool
	uses uses
	// shared: other models with the same operations judge by other rules, so that
	// none of them is taken unasked.
	shared bool
	// pairless: the model judges completions alone, and a process may have two
	// operations open.
	pairless bool
	// begin returns the checker of one history.
	begin func(o *Options) (checker.Stream, error)
}

// models lists the models; of several that fit the first is taken, unless it is
// shared. To add one, add it here.
func models() []model {
	return []model{
		{name: "register", doc: "reads and writes of one value, linearizable", uses: usesConsistency | usesInitial | usesNil | usesKeys, begin: registers,
			fits: func(s *sight) bool { return s.only("read", "write") && s.scalar() }},
		{name: "cas-register", doc: "register with compare-and-set", uses: usesConsistency | usesInitial | usesNil | usesKeys, begin: registers,
			fits: func(s *sight) bool { return s.only("read", "write", "cas", "cas-miss") && s.scalar() }},
		{name: "multi-register", doc: "registers that a :txn of [:read k v] and [:write k v] takes at one instant", uses: usesInitial | usesNil | usesKeys, begin: objects("multi-register"),
			fits: func(s *sight) bool { return s.only("txn", "") && s.transactions("read", "write") }},
		{name: "mutex", doc: "a lock without owner: :acquire and :release", uses: usesKeys, begin: mutex,
			fits: func(s *sight) bool { return s.only("acquire", "release") && !s.pairs }},
		{name: "kv", doc: "texts by key: :put, :append and :get of [key text]", uses: usesKeys, begin: objects("kv"),
			fits: func(s *sight) bool { return s.only("put", "append", "get") }},
		{name: "list-append", doc: "transactions of [:append k v] and [:r k list]", uses: usesConsistency | usesAnomalies, begin: listAppend, pairless: true,
			fits: func(s *sight) bool { return s.transactions("append", "r") && s.micro["append"] }},
		{name: "rw-register", doc: "transactions of [:w k v] and [:r k v]", uses: usesConsistency | usesAnomalies | usesVersions, begin: rwRegister, pairless: true,
			fits: func(s *sight) bool { return s.transactions("w", "r") && !s.only("read", "write") }},
		{name: "long-fork", doc: "reads [[:r k v] …] of keys that are written once: two that see two writes in opposite order", uses: usesGroupSize | usesKeys, begin: longFork, pairless: true,
			fits: func(s *sight) bool { return s.transactions("w", "r") && s.only("read", "write") }},
		{name: "causal-reverse", doc: ":write v, and :read of all that were written: one seen without another that came before", uses: usesKeys, begin: small("causal-reverse", checker.CausalReverse),
			fits: func(s *sight) bool {
				return s.only("read", "write") && s.fs["write"] && s.readsList && s.plain && !s.pairArgs
			}},
		{name: "comments", doc: "causal-reverse for each key", begin: func(*Options) (checker.Stream, error) { return checker.Comments(), nil }},
		{name: "causal", doc: "registers read and written in one causal order, by :position and :link", uses: usesKeys, begin: small("causal", checker.Causal)},
		{name: "g2", doc: "of two :inserts under one predicate only one may succeed (Adya's G2)", begin: func(*Options) (checker.Stream, error) { return checker.G2(), nil },
			fits: func(s *sight) bool { return s.only("insert") }},
		{name: "set-full", doc: ":add x and any number of reads of all: lost, stale, never read", uses: usesLinearizable | usesKeys, begin: setFull,
			fits: func(s *sight) bool { return s.only("add", "read") && s.fs["add"] && s.readsList && !s.pairArgs }},
		{name: "set", doc: ":add x and one last :read of all", uses: usesKeys, begin: small("set", checker.Set)},
		{name: "counter", doc: ":add n and :read, within what the adds allow", uses: usesInitial | usesKeys, begin: counter,
			fits: func(s *sight) bool { return s.only("add", "read") && s.readsScalar && !s.pairArgs }},
		{name: "bank", doc: ":read of all balances, whose total stays", uses: usesNegative | usesKeys, begin: bank,
			fits: func(s *sight) bool { return s.readsMap && s.only("transfer", "read") }},
		{name: "unique-ids", doc: ":generate a value that nobody else gets", uses: usesKeys, begin: small("unique-ids", checker.UniqueIDs),
			fits: func(s *sight) bool { return s.only("generate") }},
		{name: "total-queue", doc: "all that was enqueued is dequeued in the end", uses: usesKeys, begin: small("total-queue", checker.TotalQueue), shared: true,
			fits: func(s *sight) bool { return s.only("enqueue", "dequeue", "drain") }},
		{name: "queue", doc: "all that is dequeued was enqueued before", uses: usesQueue | usesKeys, begin: queue, shared: true,
			fits: func(s *sight) bool { return s.only("enqueue", "dequeue", "drain") }},
		{name: "fifo-queue", doc: "linearizable, first in first out", uses: usesKeys, begin: objects("fifo-queue"), shared: true,
			fits: func(s *sight) bool { return s.only("enqueue", "dequeue") }},
		{name: "unordered-queue", doc: "linearizable, in any order", uses: usesKeys, begin: objects("unordered-queue"), shared: true,
			fits: func(s *sight) bool { return s.only("enqueue", "dequeue") }},
		{name: "priority-queue", doc: "linearizable, least first", uses: usesKeys, begin: objects("priority-queue"), shared: true,
			fits: func(s *sight) bool { return s.only("enqueue", "dequeue") }},
		{name: "kafka", doc: "logs of messages: :send and :poll with offsets, :txn, :assign, :subscribe", uses: usesKeys, begin: kafka,
			fits: func(s *sight) bool {
				return s.only("txn", "poll", "send", "assign", "subscribe", "crash", "debug-topic-partitions") && (s.micro["send"] || s.micro["poll"])
			}},
		{name: "stack", doc: "linearizable: :push x, :pop", uses: usesKeys, begin: objects("stack"),
			fits: func(s *sight) bool { return s.only("push", "pop") }},
		{name: "linearizable-set", doc: "linearizable: :add, :remove, :contains, :read", uses: usesKeys, begin: objects("set"),
			fits: func(s *sight) bool {
				return s.only("add", "remove", "contains", "read") && (s.fs["remove"] || s.fs["contains"])
			}},
		{name: "linearizable-counter", doc: "linearizable: :add n, :read", uses: usesInitial | usesKeys, begin: objects("counter")},
		{name: "fetch-and-increment", doc: "linearizable: :fetch-and-increment, :increment-and-get, :read", uses: usesInitial | usesKeys, begin: objects("fetch-and-increment"),
			fits: func(s *sight) bool {
				return s.only("fetch-and-increment", "increment-and-get", "read") && !s.only("read")
			}},
		{name: "semaphore", doc: "linearizable: --initial permits, :acquire, :release", uses: usesInitial | usesKeys, begin: objects("semaphore")},
	}
}

// Models lists what --model takes.
func Models() []string {
	names := []string{modelChain}
	for _, m := range models() {
		names = append(names, m.name)
	}
	return names
}

// Describe returns one line about the model of that name, "" when there is none.
func Describe(name string) string {
	if name == modelChain {
		return "a network that jepgo tested: its first op says what was claimed"
	}
	m, _ := find(name)
	return m.doc
}

func find(name string) (model, bool) {
	all := models()
	i := slices.IndexFunc(all, func(m model) bool { return m.name == name })
	if i < 0 {
		return model{}, false
	}
	return all[i], true
}
