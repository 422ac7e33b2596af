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
// cycle and no reported class implies it (Implies), or Report.Unfinished says that
// it is open. Only two questions can stay open. Which rw edge of very many makes
// a G-single, where there are G-nonadjacent; and whether there is a G-nonadjacent
// where a G0 or G1c runs through the same transactions: one cycle may not pass a
// transaction twice, which makes that a hard question, and an idle one, since the
// G0 or G1c rules out all models that the answer could.
//
// Deterministic: limits count edges visited, never seconds, so that the same
// graph gives the same report on any machine. Only ctx can end a search early,
// and Report.Unfinished then says so.
//
// Brief: where a witness of the strongest class has more than eight steps, and
// the order of processes or real time gives a cycle of the same kind with half of
// them, that one is reported as well.
//
// # Cost
//
// With n transactions and e edges: building and components O(n+e), classifying
// a component a fixed number of linear passes over it, plus the search for
// G-single and for short witnesses, each bounded by Options.Work. A million
// transactions with five million edges take about half a second if they are in
// order, a component of a hundred thousand with all of its classes less than one.
//
// A Builder holds 9 bytes an edge; a Graph 4 bytes a node and 5 an edge, and 8 a
// node more when it knows times. Searching takes 4 bytes a node, 20 with times,
// and the path of the traversal, up to 12 bytes a node though hardly any where
// dependencies follow time; then up to 150 bytes a node and 20 an edge of the
// largest component. There may be 2³¹ edges.
//
// Real-time order never becomes edges. Transactions sorted by their invocation
// stand in a row of barriers, barrier i leading to the i-th of them and to
// barrier i+1; a transaction leads to the first barrier after its completion.
//
// The package is not for graphs of other things: it knows nothing of keys and
// values, and does not explain why an edge is there.
package graph
