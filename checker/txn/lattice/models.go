package lattice

// model is one row of the table of consistency models.
type model struct {
	name    string
	aliases []string
	implies []string // the next weaker ones
	forbids []string // what it proscribes beyond what these do
	judge   string   // who judges it, for a model that forbids nothing
}

const (
	byRegister = "it is a model of single objects: a register history is judged by model register or cas-register"
	bySession  = "it is a model of single objects that no checker judges alone: ask for causal-cerone, which gives each session as much and more"
	byStronger = "it is not judged alone: all that serializable allows, it allows"
)

// models is in an order in which each one comes after all that it implies.
var models = []model{
	// Single objects. None of them is ruled out by a cycle of transactions alone.
	{name: "monotonic-reads", judge: bySession},
	{name: "monotonic-writes", judge: bySession},
	{name: "read-your-writes", judge: bySession},
	{name: "PRAM", aliases: []string{"pram"}, implies: []string{"monotonic-reads", "monotonic-writes", "read-your-writes"}, judge: bySession},
	{name: "writes-follow-reads", judge: bySession},
	{name: "causal", implies: []string{"writes-follow-reads", "PRAM"}, judge: "it is a model of single objects: ask for causal-cerone, which is causal consistency of transactions"},
	{name: "sequential", implies: []string{"causal"}, judge: byRegister},
	{name: "linearizable", implies: []string{"sequential"}, judge: byRegister},

	// Transactions in any order.
	{name: "read-uncommitted", aliases: []string{"PL-1"}, forbids: []string{"G0", "duplicate-elements", "cyclic-versions"}},
	{name: "read-committed", aliases: []string{"PL-2"}, implies: []string{"read-uncommitted"}, forbids: []string{"G1"}},
	{name: "monotonic-atomic-view", implies: []string{"read-committed"}},
	{name: "monotonic-view", aliases: []string{"PL-2L"}, implies: []string{"read-committed"}, forbids: []string{"G1", "G-monotonic"}},
	{name: "monotonic-snapshot-read", aliases: []string{"PL-MSR"}, implies: []string{"read-committed"}, forbids: []string{"G1", "G-MSR"}},
	{name: "cursor-stability", aliases: []string{"PL-CS"}, implies: []string{"read-committed"}, forbids: []string{"G1", "G-cursor", "lost-update"}},
	{name: "read-atomic", implies: []string{"monotonic-atomic-view"}, forbids: []string{"internal", "G1a", "future-read"}},
	{name: "repeatable-read", aliases: []string{"PL-2.99"}, implies: []string{"cursor-stability", "monotonic-atomic-view"}, forbids: []string{"G1", "G2-item", "lost-update"}},
	{name: "consistent-view", aliases: []string{"PL-2+"}, implies: []string{"cursor-stability", "monotonic-view"}, forbids: []string{"G1", "G-single"}},
	{name: "forward-consistent-view", aliases: []string{"PL-FCV"}, implies: []string{"consistent-view"}, forbids: []string{"G1", "G-SIb"}},
	{name: "update-atomic", implies: []string{"read-atomic"}, forbids: []string{"lost-update"}},
	{name: "causal-cerone", aliases: []string{"causal-consistency", "transactional-causal-consistency"}, implies: []string{"read-atomic"}, forbids: []string{"internal", "G1a"}},
	// That parallel snapshot isolation implies a consistent view is not in Elle's
	// order: it has no cycle with a single rw edge (Raad, Lahav & Vafeiadis, ESOP
	// 2018), and checkers other than Elle hold it to that.
	{name: "parallel-snapshot-isolation", aliases: []string{"PSI"}, implies: []string{"causal-cerone", "update-atomic", "consistent-view"}, forbids: []string{"internal", "G1a"}},
	{name: "prefix", aliases: []string{"prefix-consistency"}, implies: []string{"causal-cerone"}, forbids: []string{"internal", "G1a"}},
	{
		name: "snapshot-isolation", aliases: []string{"PL-SI", "SI"},
		implies: []string{"forward-consistent-view", "monotonic-atomic-view", "monotonic-snapshot-read", "parallel-snapshot-isolation", "prefix"},
		forbids: []string{"internal", "G1", "G-SI", "G-nonadjacent"},
	},
	{name: "update-serializable", aliases: []string{"PL-3U"}, implies: []string{"forward-consistent-view"}, forbids: []string{"G1", "G-update"}},
	{name: "view-serializable", judge: byStronger},
	{
		name: "serializable", aliases: []string{"conflict-serializable", "PL-3"},
		implies: []string{"repeatable-read", "snapshot-isolation", "view-serializable", "update-serializable"},
		forbids: []string{"internal", "G1", "G2", "predicate-read-miss"},
	},
	{name: "1SR", aliases: []string{"one-copy-serializable"}, judge: byStronger},
	{name: "session-serializable", implies: []string{"1SR"}, judge: byStronger},

	// In the order of each process.
	{name: "strong-session-read-uncommitted", aliases: []string{"strong-session-PL-1"}, implies: []string{"read-uncommitted"}, forbids: []string{"G0-process"}},
	{name: "strong-session-read-committed", aliases: []string{"strong-session-PL-2"}, implies: []string{"strong-session-read-uncommitted", "read-committed"}, forbids: []string{"G1c-process"}},
	{
		name: "strong-session-snapshot-isolation", aliases: []string{"strong-session-PL-SI", "strong-session-SI"},
		implies: []string{"snapshot-isolation", "strong-session-read-committed"},
		forbids: []string{"internal", "G1-process", "G-nonadjacent-process"},
	},
	{
		name: "strong-session-serializable", aliases: []string{"strong-session-PL-3"},
		implies: []string{"serializable", "strong-session-snapshot-isolation"},
		forbids: []string{"G1-process", "G2-process"},
	},

	// In real time.
	{name: "strong-read-uncommitted", aliases: []string{"strong-PL-1"}, implies: []string{"strong-session-read-uncommitted"}, forbids: []string{"G0-realtime"}},
	{name: "strong-read-committed", aliases: []string{"strong-PL-2"}, implies: []string{"strong-session-read-committed", "strong-read-uncommitted"}, forbids: []string{"G1c-realtime"}},
	{
		name: "strong-snapshot-isolation", aliases: []string{"strong-PL-SI", "strong-SI"},
		implies: []string{"strong-session-snapshot-isolation", "strong-read-committed"},
		forbids: []string{"internal", "G1-realtime", "G-nonadjacent-realtime"},
	},
	{
		name: "strict-serializable", aliases: []string{"strong-serializable", "PL-SS", "strong-PL-3"},
		implies: []string{"serializable", "linearizable", "strong-snapshot-isolation", "strong-session-serializable", "session-serializable"},
		forbids: []string{"G1", "G1c-realtime", "G2-realtime"},
	},
}
