// Package chain judges what the nodes of a blockchain said about their blocks:
// whether they agree (Fork), whether what is final stays so (Finality), whether
// one client of one node sees time go forward (Session), whether every answer is
// what the chain's own transactions make of it (Replay), and how old local reads
// were (Staleness).
//
// All checkers take time and memory linear in the history and in the blocks that
// it names. None of them trusts a clock. What a history does not tell, a block
// that no node reported, say, is a gap: it is counted and never a violation.
//
// What is final depends on the kind of network. A checker that needs to know is
// told the final tag: "latest" where every block is final at once, "finalized"
// where the head may reorganise, "" where nothing ever is. The others read the
// profile from the history's :test op.
package chain
