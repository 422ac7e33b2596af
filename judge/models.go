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
	// ops are the operations that it judges. A history with others is neither
	// approved nor accused: nobody knows what they did.
	ops []string
	// fits reports whether operations of ops, of which there are other ones than
	// reads, look like this model's; nil for a model that has to be asked for.
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

func ops(names ...string) []string { return names }

// models lists the models; of several that fit the first is taken, unless it is
// shared. To add one, add it here.
func models() []model {
	scalars := func(s *sight) bool { return s.scalar() && !s.pairArgs }
	plain := func(s *sight) bool { return !s.pairArgs }
	const onRegister = usesConsistency | usesInitial | usesNil | usesKeys
	return []model{
		{name: "register", doc: "reads and writes of one value, linearizable",
			ops: ops("read", "write"), fits: scalars, uses: onRegister, begin: registers},
		{name: "cas-register", doc: "register with compare-and-set",
			ops: ops("read", "write", "cas", "cas-miss"), fits: scalars, uses: onRegister, begin: registers},
		{name: "multi-register", doc: "registers that a :txn of [:read k v] and [:write k v] takes at one instant",
			ops: ops("txn"), fits: func(s *sight) bool { return s.transactions("read", "write") },
			uses: usesInitial | usesNil | usesKeys, begin: objects("multi-register")},
		{name: "mutex", doc: "a lock without owner: :acquire and :release",
			ops: ops("acquire", "release"), fits: func(s *sight) bool { return !s.pairs }, uses: usesKeys, begin: mutex},
		{name: "kv", doc: "texts by key: :put, :append and :get of [key text]",
			ops: ops("put", "append", "get"), fits: func(s *sight) bool { return s.pairs }, uses: usesKeys, begin: objects("kv")},
		{name: "list-append", doc: "transactions of [:append k v] and [:r k list]",
			ops: ops("txn", ""), fits: func(s *sight) bool { return s.transactions("append", "r") && s.micro["append"] },
			uses: usesConsistency | usesAnomalies, pairless: true, begin: listAppend},
		{name: "long-fork", doc: "reads [[:r k v] …] of keys that are written once: two that see two writes in opposite order",
			ops: ops("read", "write", "txn", ""), fits: func(s *sight) bool { return s.transactions("w", "r") && s.fs["read"] },
			uses: usesGroupSize | usesKeys, shared: true, pairless: true, begin: longFork},
		{name: "rw-register", doc: "transactions of [:w k v] and [:r k v]",
			ops: ops("txn", "read", "write", ""), fits: func(s *sight) bool { return s.transactions("w", "r") },
			uses: usesConsistency | usesAnomalies | usesVersions, pairless: true, begin: rwRegister},
		{name: "causal-reverse", doc: ":write v, and :read of all that were written: one seen without another that came before",
			ops: ops("read", "write"), fits: func(s *sight) bool { return s.fs["write"] && s.readsList && s.plain && !s.listArgs },
			uses: usesKeys, begin: small("causal-reverse", checker.CausalReverse)},
		{name: "comments", doc: "causal-reverse for each key",
			ops: ops("read", "write"), begin: func(*Options) (checker.Stream, error) { return checker.Comments(), nil }},
		{name: "causal", doc: "registers read and written in one causal order, by :position and :link",
			ops: ops("read-init", "read", "write"), uses: usesKeys, begin: small("causal", checker.Causal)},
		{name: "g2", doc: "of two :inserts under one predicate only one may succeed (Adya's G2)",
			ops: ops("insert"), fits: func(s *sight) bool { return s.pairs }, begin: func(*Options) (checker.Stream, error) { return checker.G2(), nil }},
		{name: "set-full", doc: ":add x and any number of reads of all: lost, stale, never read",
			ops: ops("add", "read"), fits: func(s *sight) bool { return s.readsList && !s.pairArgs },
			uses: usesLinearizable | usesKeys, begin: setFull},
		{name: "set", doc: ":add x and one last :read of all",
			ops: ops("add", "read"), uses: usesKeys, begin: small("set", checker.Set)},
		{name: "counter", doc: ":add n and :read, within what the adds allow",
			ops: ops("add", "read"), fits: func(s *sight) bool { return s.readsScalar && !s.pairArgs },
			uses: usesInitial | usesKeys, begin: counter},
		{name: "bank", doc: ":read of all balances, whose total stays",
			ops: ops("transfer", "read"), fits: func(s *sight) bool { return s.readsMap }, uses: usesNegative | usesKeys, begin: bank},
		{name: "unique-ids", doc: ":generate a value that nobody else gets",
			ops: ops("generate"), fits: func(*sight) bool { return true }, uses: usesKeys, begin: small("unique-ids", checker.UniqueIDs)},
		{name: "total-queue", doc: "all that was enqueued is dequeued in the end",
			ops: ops("enqueue", "dequeue", "drain"), fits: plain, uses: usesKeys, shared: true, begin: small("total-queue", checker.TotalQueue)},
		{name: "queue", doc: "all that is dequeued was enqueued before",
			ops: ops("enqueue", "dequeue", "drain"), fits: plain, uses: usesQueue | usesKeys, shared: true, begin: queue},
		{name: "fifo-queue", doc: "linearizable, first in first out",
			ops: ops("enqueue", "dequeue"), fits: plain, uses: usesKeys, shared: true, begin: objects("fifo-queue")},
		{name: "unordered-queue", doc: "linearizable, in any order",
			ops: ops("enqueue", "dequeue"), fits: plain, uses: usesKeys, shared: true, begin: objects("unordered-queue")},
		{name: "priority-queue", doc: "linearizable, least first",
			ops: ops("enqueue", "dequeue"), fits: plain, uses: usesKeys, shared: true, begin: objects("priority-queue")},
		{name: "kafka", doc: "logs of messages: :send and :poll with offsets, :txn, :assign, :subscribe",
			ops:  ops("txn", "poll", "send", "assign", "subscribe", "crash", "debug-topic-partitions"),
			fits: func(s *sight) bool { return s.micro["send"] || s.micro["poll"] }, uses: usesKeys, begin: kafka},
		{name: "stack", doc: "linearizable: :push x, :pop",
			ops: ops("push", "pop"), fits: plain, uses: usesKeys, begin: objects("stack")},
		{name: "linearizable-set", doc: "linearizable: :add, :remove, :contains, :read",
			ops:  ops("add", "remove", "contains", "read"),
			fits: func(s *sight) bool { return (s.fs["remove"] || s.fs["contains"]) && !s.nestedArgs }, uses: usesKeys, begin: objects("set")},
		{name: "linearizable-counter", doc: "linearizable: :add n, :read",
			ops: ops("add", "read"), uses: usesInitial | usesKeys, begin: objects("counter")},
		{name: "fetch-and-increment", doc: "linearizable: :fetch-and-increment, :increment-and-get, :read",
			ops: ops("fetch-and-increment", "increment-and-get", "read"), fits: func(s *sight) bool { return !s.pairs },
			uses: usesInitial | usesKeys, begin: objects("fetch-and-increment")},
		{name: "semaphore", doc: "linearizable: --initial permits, :acquire, :release",
			ops: ops("acquire", "release"), uses: usesInitial | usesKeys, begin: objects("semaphore")},
	}
}

// taken reports whether the model is taken for operations unasked.
func (m *model) taken(s *sight) bool {
	return m.fits != nil && s.only(m.ops...) && !s.only("read") && m.fits(s)
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
