// Package graph finds cycles in the dependency graph of transactions and names
// them as Adya and Elle do, with the shortest witness that it finds for each.
//
// A node is a transaction, an edge says that one must come before another, and
// the edge's Rel says why. A Builder collects edges, its Graph keeps them
// compactly, and Graph.Search reports one verified cycle per class and strongly
// connected component.
//
// # What is guaranteed
//
// Sound: a reported cycle is simple, each of its steps is an edge of the graph
// (or follows from the times, for Realtime), and its class is computed from its
// steps alone.
//
// Complete per component: a class is reported when the component holds such a
// cycle and no reported class implies it (Implies), with one exception. Whether
// two non-adjacent rw edges lie on one simple cycle is a hard question where
// other cycles without rw run through the same transactions, so beside a G0 or
// G1c of the same suffix the G-nonadjacent classes are searched, not decided;
// every model that they rule out is ruled out by that G0 or G1c already.
//
// Deterministic: limits count edges visited, never seconds, so that the same
// graph gives the same report on any machine. Only ctx can end a search early,
// and Report.Unfinished then says so.
//
// # Cost
//
// With n transactions and e edges: building and components O(n+e), classifying
// a component a fixed number of linear passes over it, plus the search for
// G-single and for short witnesses, each bounded by Options.Work.
// A Graph holds 4 bytes a node and 5 an edge, and 16 a node more when it knows
// times. Searching takes 4 bytes a node (8 with times) and what the stack of the
// traversal needs, 8 bytes a node if one path runs through all of them; then
// about 60 bytes a node and 10 an edge of the largest component.
//
// Real-time order never becomes edges. Transactions sorted by their invocation
// stand in a row of barriers, barrier i leading to the i-th of them and to
// barrier i+1; a transaction leads to the first barrier after its completion.
//
// The package is not for graphs of other things: it knows nothing of keys and
// values, and does not explain why an edge is there.
package graph
