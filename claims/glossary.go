package claims

import (
	"fmt"
	"slices"
	"strings"
)

// Term is a checker that judges runs: what it compares, what it may find, and what
// feeds it.
type Term struct {
	Name      string
	Doc       string
	Anomalies []Finding
	Fed       string // workloads, or what else it reads
}

// Finding is an anomaly, by its name in results.json.
type Finding struct {
	Name string
	Doc  string
}

// Explain is the text of jepgo explain checker NAME.
func (t Term) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", t.Doc)
	for _, a := range t.Anomalies {
		fmt.Fprintf(&b, "  %-22s %s\n", a.Name, a.Doc)
	}
	if len(t.Anomalies) == 0 {
		b.WriteString("It accuses nobody: what it has to say is a number or a warning.\n")
	}
	fmt.Fprintf(&b, "Fed by: %s.\n", t.Fed)
	return b.String()
}

// Found returns the checkers that may find an anomaly of that name, each with what
// it means there.
func Found(anomaly string) (terms []Term) {
	for _, t := range Glossary() {
		if i := slices.IndexFunc(t.Anomalies, func(f Finding) bool { return f.Name == anomaly }); i >= 0 {
			t.Anomalies = t.Anomalies[i : i+1]
			terms = append(terms, t)
		}
	}
	return terms
}

// Glossary lists the checkers of runs. A checker that Streams can return is here;
// docs/checkers.md says the same (TestGlossary holds both).
func Glossary() []Term {
	const transactions = "block with a workload that sends transactions"
	return []Term{
		{Name: "stats", Doc: "Counts how operations ended, by kind. A kind of which too few succeeded makes the run unknown.", Fed: "everything"},
		{Name: "faults", Doc: "Holds the nemesis to its word: a fault that was not seen to bite, or not seen undone, makes the run unknown.", Fed: "the nemesis"},
		{Name: "converge", Doc: "After the heal all nodes must come to one chain within a bound; where they do not, final reads say nothing and the run is unknown.", Fed: "the runner's last phase", Anomalies: []Finding{
			{"split", "with every node answering and no fault in force, nodes had different blocks at one height to the end"},
		}},
		{Name: "fork", Doc: "Builds the tree of all blocks that any answer named, and compares their contents and the final heights.", Fed: "head, block", Anomalies: []Finding{
			{"fork", "two different blocks at one height, both final where they were read"},
			{"hash-mismatch", "one hash with two heights, parents or contents"},
			{"bad-parent-link", "a block that is not one above the block it names as its parent"},
		}},
		{Name: "finality", Doc: "Follows the tags of each node: what was final stays, and the tags keep their order.", Fed: "head", Anomalies: []Finding{
			{"finality-reverted", "a tag that must not fall was served at a lower height than before"},
			{"finality-changed", "another block at a height that was final"},
			{"tag-order", "finalized above safe, or safe above latest, and again over three more blocks"},
			{"tag-lost", "a node that served finalized says that there is none"},
		}},
		{Name: "state-agree", Doc: "One block has one state: compares roots, and local reads at the same block and key, of all nodes.", Fed: "head, block, local reads", Anomalies: []Finding{
			{"root-mismatch", "one block hash with two state roots"},
			{"state-mismatch", "two nodes read different values of one key at one block"},
			{"execution-disagrees", "the same transactions on the same parent gave two states: clients execute differently"},
		}},
		{Name: "call-at", Doc: "A call at a block hash gives the same answer on every node, for ever.", Fed: "call-at", Anomalies: []Finding{
			{"call-at-changed", "one call at one hash had two answers"},
		}},
		{Name: "immutable-by-hash", Doc: "What belongs to a hash stays as it is.", Fed: "receipt, block, log", Anomalies: []Finding{
			{"receipt-changed", "two receipts of one transaction in one block differ"},
			{"body-changed", "two lists of transactions of one block differ"},
			{"logs-changed", "two answers for all logs of one block differ"},
		}},
		{Name: "index", Doc: "What a receipt says of its place is what its block says; and at the end each has the other.", Fed: "block with receipt, or with a workload that sends transactions", Anomalies: []Finding{
			{"index-mismatch", "a receipt names a block and place where another transaction, or none, stands"},
			{"log-index", "the logs of neighbouring receipts are not numbered on"},
			{"receipt-missing", "a transaction in a settled block has no receipt"},
			{"receipt-orphaned", "a receipt names a block that is not on the settled chain"},
		}},
		{Name: "logs-receipts", Doc: "eth_getLogs and the receipts of the same blocks tell the same events.", Fed: "log", Anomalies: []Finding{
			{"log-missing", "an event of a receipt is not in a query that covers its block and filter"},
			{"log-wrong", "a query returned an event that its receipt does not have, or has otherwise"},
			{"log-repeated", "one query returned an event twice"},
		}},
		{Name: "durability", Doc: "A transaction that was seen final is on the chain at the end. Where it was not final, a loss is a warning.", Fed: transactions, Anomalies: []Finding{
			{"lost-transaction", "seen final, and in no block of the chain at the end"},
		}},
		{Name: "nonce", Doc: "The transactions of an account are in the chain once each and in their order.", Fed: transactions, Anomalies: []Finding{
			{"nonce-twice", "two transactions of one account and nonce are on the chain"},
			{"nonce-order", "a later nonce stands before an earlier one"},
			{"nonce-gap", "a nonce was used before the one below it"},
			{"account-nonce", "a node's count of an account is below what its block has"},
		}},
		{Name: "exactly-once", Doc: "No effect happens twice, and counters hold what was acknowledged.", Fed: "block, set, log, counter", Anomalies: []Finding{
			{"transaction-twice", "one transaction in two places of the chain"},
			{"effect-twice", "one operation took effect by two transactions"},
			{"counter-bounds", "a counter below what was acknowledged, or above what was tried"},
		}},
		{Name: "reorg-depth", Doc: "Measures reorganisations as heads tell them, and what became of the transactions in the blocks left behind.", Fed: "head", Anomalies: []Finding{
			{"reorg-too-deep", "a head left more blocks behind than the network bounds"},
		}},
		{Name: "head-regress", Doc: "The head of a running node does not fall by more than the bound; over a restart a fall is a warning.", Fed: "head", Anomalies: []Finding{
			{"head-fell", "a running node's head fell by more than the bound"},
		}},
		{Name: "chain-time", Doc: "Timestamps of blocks do not go back.", Fed: "head, block", Anomalies: []Finding{
			{"time-went-back", "a block's timestamp is before its parent's"},
		}},
		{Name: "sub", Doc: "Subscriptions tell what the chain is. A head that is announced and then not served within the grace is a warning.", Fed: "sub", Anomalies: []Finding{
			{"sub-chain", "an announced head contradicts the chain: its height, its parent, or itself"},
			{"sub-removed", "a log of a block that was left behind was never taken back"},
			{"sub-complete", "a stream left out, or repeated, heads or events that it owed"},
			{"sub-causality", "a head was announced, never served, and is not on the chain"},
		}},
		{Name: "equivocation", Doc: "What validators sign, from the votes and commits of all nodes.", Fed: "consensus", Anomalies: []Finding{
			{"equivocation", "one validator signed two blocks in one round of one height"},
			{"commit-fork", "two blocks are committed at one height"},
		}},
		{Name: "participation", Doc: "Warns of a validator that is absent from more than half of at least ten commits while no fault was in force.", Fed: "consensus"},
		{Name: "crash-log", Doc: "Reads what nodes log while they run, and whether they end by themselves. What a fault of the node's own disk, power, clock, files or memory explains is a warning, and so is a process that something other than jepgo ended.", Fed: "jepgo's watch on the nodes that it started", Anomalies: []Finding{
			{"panic", "a Go panic, a Rust panic or a fatal error"},
			{"bad-block", "a node calls a block bad that others built on"},
			{"consensus-failure", "CometBFT's CONSENSUS FAILURE"},
			{"data-race", "a report of Go's race detector"},
			{"process-ended", "a node's process ended by itself, with no fault of its own to explain it"},
		}},
		{Name: "resource-slope", Doc: "Warns of memory, open files or threads of one process that rise beyond a bound a minute for at least two minutes.", Fed: "jepgo's samples of processes that it started"},
		{Name: "liveness", Doc: "After the heal and a bound, computed from block time, round timer and redial back-off, the chain goes on, everywhere.", Fed: "head", Anomalies: []Finding{
			{"node-stuck", "the chain goes on and a node does not"},
			{"chain-stopped", "no node has a new block"},
		}},
		{Name: "tx-lifecycle", Doc: "Warns of a transaction that is the next of its sender and was not included within the bound of liveness.", Fed: transactions},
		{Name: "replay", Doc: "Executes the transactions of the chain again, by jepgo's own model of its contracts, and compares every answer with that.", Fed: "workloads with a contract", Anomalies: []Finding{
			{"execution-mismatch", "a receipt tells another outcome than executing its block gives"},
			{"wrong-local-read", "a local read is not the state at the block that it names"},
			{"lost-write", "an acknowledged write is not in the block that its receipt names"},
			{"lost-read", "an acknowledged read is not in the block that its receipt names"},
			{"effect-mismatch", "a transaction's answer is not what it does at its place"},
			{"failed-write", "an operation that failed for certain took effect"},
			{"duplicate-transaction", "one transaction is executed twice"},
		}},
		{Name: "linear", Doc: "Strong reads and writes of each key, taken by transactions, are linearizable.", Fed: "register", Anomalies: []Finding{
			{"nonlinearizable", "no order of the operations keeps to real time and to the values read"},
		}},
		{Name: "session", Doc: "What one client sees at one node does not go back while that node's process runs.", Fed: "local reads", Anomalies: []Finding{
			{"monotonic-reads", "an older state after a newer one"},
			{"read-your-writes", "a state from before the client's own acknowledged write"},
		}},
		{Name: "staleness", Doc: "Measures how old local reads are, and warns of a node that is far behind without a fault.", Fed: "local reads"},
		{Name: "counter", Doc: "Each strong read is within what the adds before and beside it allow.", Fed: "counter", Anomalies: []Finding{
			{"read-too-low", "less than the adds that had ended before the read began"},
			{"read-too-high", "more than all adds that had begun before the read ended"},
		}},
		{Name: "set-full", Doc: "No element that was acknowledged is lost, none is there twice, none comes from nowhere.", Fed: "set", Anomalies: []Finding{
			{"lost", "seen or acknowledged, and missing from all later reads"},
			{"stale", "missing from a read that began after it was known"},
			{"duplicated", "twice in one read"},
			{"unexpected", "in a read before anybody had begun to add it"},
		}},
		{Name: "bank", Doc: "At one block hash the balances have one total and none is below zero.", Fed: "bank", Anomalies: []Finding{
			{"wrong-total", "another total than the run began with"},
			{"negative-value", "an account below zero"},
			{"unexpected-key", "an account that there is not"},
			{"nil-balance", "an account without a balance"},
		}},
		{Name: "list-append", Doc: "Transactions of appends and reads of lists, held to Elle's lattice; jepgo explain strict-serializable and explain G1c say what its models and anomalies are.", Fed: "append", Anomalies: nil},
	}
}
