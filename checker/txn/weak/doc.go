// Package weak decides the isolation of transactions of which only the reads and
// writes are known, and not in which order a key took its values: read committed,
// read atomic and causal consistency, prefix consistency, snapshot isolation and
// serializability, each with or without the order of sessions, the last three in
// real time too.
//
// A level holds when the transactions can be put into one order that obeys its
// axiom (Biswas & Enea, OOPSLA 2019): for a transaction r that read a key from w1,
// every other transaction w2 that wrote the key and that r had to see comes before
// w1. What r had to see is
//
//   - ReadCommitted: what it had already read from
//   - ReadAtomic: what it read from, and what came before it in its session
//   - Causal: the same, and what these had to see in turn
//   - Prefix: all that comes, in the order, before anything of that kind
//   - SnapshotIsolation: the same, and all that comes before a transaction that
//     wrote a key that r writes as well
//   - Serializable: all that comes before r
//
// ReadCommitted is stronger than what Adya calls so (PL-2): it is monotonic atomic
// view (Bailis et al., VLDB 2013).
//
// # The weak levels
//
// Infer decides the first three. It adds those edges of the order that an axiom
// forces and looks for a cycle (AWDIT: Møldrup & Pavlogiannis, PLDI 2025): with n
// reads and writes and k sessions O(n^1.5) for the first two and O(n·k) for Causal.
// Of edges into a transaction only the latest from each session is kept, and none
// that the order of causes implies; vector clocks are freed as soon as nobody needs
// them; why an edge is there is found out again for the cycle that is shown. It
// takes some 30 bytes for each read and write; clocks share what they agree on, so
// that sessions which have ended cost next to nothing.
//
// # The strong levels
//
// Search decides the others, which is NP-complete (Papadimitriou 1979; Biswas &
// Enea). It lines the transactions up as well as a single pass can, then mends the
// line: where a write stands between a write and its reader it must move before
// the one or behind the other. Where only one of these is possible that is forced,
// else one is tried and taken back when it leads to a contradiction. The line is
// kept in order as edges come and go (Pearce & Kelly, JEA 2007). Histories of real
// databases, and of update-in-place workloads above all, leave little to try.
//
// A level is said to hold only with a line that was replayed against the history,
// and to be broken only with a small set of transactions that break it by
// themselves: no transaction can be left out of it, and a second procedure that
// shares no code with the search finds it contradictory as well, by forced edges
// alone or, in sets of up to twelve, by trying all orders; Violation.Checked says so,
// and is false only for larger sets that forced edges do not refute. Work is counted
// in steps; when it runs out the answer is neither.
//
// What it is not for: histories in which two transactions write the same value to
// a key, and predicates.
package weak
