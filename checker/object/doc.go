// Package object decides whether any object with a sequential specification is
// linearizable: whether every operation can be given one moment between its
// invocation and its completion so that the operations, in the order of those
// moments, are what one such object would have done (Herlihy and Wing, 1990).
//
// A [Model] is the specification: an initial state and a step. [Models] lists
// those that come with the package: key-value stores, several registers at once,
// queues, stacks, sets, counters, semaphores. Registers and locks have a faster
// package of their own, checker/linear.
//
// # What it guarantees
//
// Valid and Invalid are exact. A problem that is NP-complete in general cannot
// always be decided, so there are limits, and beyond them the answer is Unknown
// with the key, the place and the limit in its reason. Limits are counted in
// steps and bytes, never in seconds: the same history has the same answer on
// every machine, loaded or idle.
//
// # How
//
// Keys, and other parts that cannot see each other, are judged by themselves and
// in parallel. Queues of values that differ, sets that only grow and counters that
// answer are judged by monitors in O(n log n), stacks in O(n) for each level of
// their depth. Everything else goes to a search in two shapes: a depth-first
// one that is greedy (Wing and Gong 1993, Lowe 2017) for as long as it gets on,
// then the frontier of all states of affairs that are possible after each event
// (Lowe's just-in-time linearization), which needs memory for the operations
// that are open at once and none for those that are done. Both are exponential
// in the number of operations open at once, at worst, and linear in their number.
//
// # What it is not for
//
// Transactions (checker/txn has Elle's anomalies), eventual consistency, and
// objects whose operations take effect at more than one moment.
package object
