package history

// History is a list of ops in the order in which they happened.
type History struct {
	Ops []Op
	// Cut is not nil when the file ends in the middle of a form, as after a
	// crash: Ops then holds everything before the cut.
	Cut *CutError
	// Skipped is not nil when ops could not be read, so that Ops lacks them.
	Skipped *Skipped
}

// Pair is one operation: the positions in History.Ops of its invocation and
// its completion. Either is -1 where the history lacks it.
type Pair struct {
	Invoke   int
	Complete int
}

// Pairs matches each completion of a client with the last open invocation of
// the same process, in the order of invocation (of completion where there is
// none). An op without a process, or of a process that is not a client, is left
// out. A second invocation by a busy process leaves the first without a
// completion. Cost: O(n) time, O(processes) beyond the result.
func (h *History) Pairs() []Pair {
	open := make(map[Process]int)
	pairs := make([]Pair, 0, len(h.Ops)/2)
	for i := range h.Ops {
		op := &h.Ops[i]
		if !op.Process.IsClient() {
			continue
		}
		if op.Type == Invoke {
			open[op.Process] = len(pairs)
			pairs = append(pairs, Pair{Invoke: i, Complete: -1})
			continue
		}
		at, ok := open[op.Process]
		if !ok {
			pairs = append(pairs, Pair{Invoke: -1, Complete: i})
			continue
		}
		pairs[at].Complete = i
		delete(open, op.Process)
	}
	return pairs
}
