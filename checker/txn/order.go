package txn

import "github.com/jepgo/jepgo/checker/txn/graph"

// graph adds to the dependencies the order of processes and real time, where the
// options forbid an anomaly of these, and returns the graph of it all; ordered
// tells whether they order any two transactions. Those that did not take part are
// in no order.
func (t *txns) graph(b *graph.Builder, part []bool, o Options) (g *graph.Graph, ordered bool) {
	process, realtime := o.orders()
	if process {
		// Transactions are in the order of their completion.
		before := make([]int32, t.clients.len())
		for i, p := range t.process {
			if p < 0 || t.status[i] != committed {
				continue
			}
			if last := before[p] - 1; last >= 0 {
				b.Add(uint32(last), uint32(i), graph.Process)
				ordered = true
			}
			before[p] = int32(i) + 1
		}
	}
	if realtime {
		call, ret := make([]int32, t.len()), make([]int32, t.len())
		earliest, latest := graph.Never, int32(-1)
		for i := range call {
			call[i], ret[i] = -1, graph.Never
			if part[i] {
				call[i] = t.call[i]
				latest = max(latest, call[i])
			}
			if t.status[i] == committed {
				ret[i] = t.ret[i]
				earliest = min(earliest, ret[i])
			}
		}
		b.Times(call, ret)
		ordered = ordered || earliest < latest
	}
	return b.Graph(), ordered
}

// wants tells which classes of cycles are worth a search: those that are forbidden.
func (o Options) wants() func(class string) bool {
	forbidden := o.forbidden()
	return func(class string) bool { return forbidden[class] }
}
