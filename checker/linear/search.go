package linear

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/jepgo/jepgo/checker"
)

// outcome is what was found out about one key.
type outcome struct {
	verdict checker.Verdict
	why     string // what stopped the search, when the verdict is Unknown
	cut     uint32 // the history up to there fails already, when it is Invalid
	proof   []call // calls that fail by themselves, where they were found at once
	// The numbers of the values in proof, where there is no memory to decode the key.
	numbers *register
	certain int
	pruned  int
	work    int64
}

// shares is among how many keys at once the memory is split. It is a constant so
// that no verdict depends on the number of cores.
const shares = 8

// decideAll decides every key, GOMAXPROCS at once. Each gets an equal share of
// the work; those that it did not suffice for share once more what the others
// left over.
func decideAll(ctx context.Context, c *columns) []outcome {
	found := make([]outcome, len(c.keys))
	todo := make([]int, len(c.keys))
	for i := range todo {
		todo[i] = i
	}
	left, room := c.options.Work, c.room()
	for round := 0; round < 2 && len(todo) > 0; round++ {
		share := left / int64(len(todo))
		if round == 0 && len(todo) > 1 {
			share = max(share/2, min(left/2, 1_000_000))
		}
		each(todo, func(i int) {
			used := found[i].work
			found[i] = c.decide(ctx, c.keys[i], share, room)
			found[i].work += used
		})
		for _, i := range todo {
			left -= found[i].work
		}
		todo = slices.DeleteFunc(todo, func(i int) bool { return found[i].verdict != checker.Unknown || found[i].why != sayWork })
		if len(todo) == len(c.keys) && len(todo) == 1 || left <= 0 {
			break
		}
	}
	for i := range found {
		if found[i].why == sayWork {
			found[i].why = fmt.Sprintf("work limit of %d steps reached", c.options.Work)
		}
	}
	return found
}

const sayWork = "work"

// each calls do for every one of a list, GOMAXPROCS at once.
func each(list []int, do func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), len(list), shares)
	if workers == 1 {
		for _, i := range list {
			do(i)
		}
		return
	}
	next := make(chan int)
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for _, i := range list {
		next <- i
	}
	close(next)
	wait.Wait()
}

// decide decides one key within work steps: without its calls where that will do,
// else with them.
func (c *columns) decide(ctx context.Context, k *key, work int64, room *room) outcome {
	if bytes := k.lightBytes(); !k.misses && room.enter(bytes) {
		found, ok := c.decideLight(ctx, k, k.fullBytes() <= room.all)
		room.leave(bytes)
		if ok {
			return found
		}
	}
	bytes := k.fullBytes()
	if !room.enter(bytes) {
		return outcome{why: c.sayTooLarge(bytes)}
	}
	defer room.leave(bytes)
	r, err := c.decode(k)
	if err != nil {
		return outcome{why: err.Error()}
	}
	s := &searcher{ctx: ctx, initial: r.initial, values: len(r.values), work: work,
		memory: c.options.Memory / int64(min(shares, len(c.keys)))}
	found := s.decide(r.calls)
	found.certain, found.pruned, found.work = r.certain, r.pruned, work-s.work
	return found
}

// decideLight decides a key without its calls; ok is false where that takes them.
// The calls of one that is invalid serve to explain it, if there is memory for
// them.
func (c *columns) decideLight(ctx context.Context, k *key, full bool) (found outcome, ok bool) {
	l := &light{c: c, k: k}
	unique, err := l.decide(ctx)
	switch {
	case err != nil:
		return outcome{why: err.Error()}, true
	case !unique || full && l.bad != nil:
		return outcome{}, false
	case l.bad == nil:
		return l.found, true
	}
	if l.found.proof, err = l.prove(ctx); err != nil {
		return outcome{why: err.Error()}, true
	}
	l.found.cut = ending(l.found.proof)
	l.found.numbers = &register{initial: l.initial, values: l.numbers.codes, certain: l.found.certain}
	return l.found, l.found.proof != nil
}

// room is the memory that is left for deciding keys.
func (c *columns) room() *room {
	return newRoom(c.options.Memory - c.bytes - c.codes.bytes - c.journal.taken)
}

func (c *columns) sayTooLarge(bytes int64) string {
	return fmt.Sprintf("%s: its operations at once need %d MiB", sayMemory(c.options.Memory), (bytes+1<<20-1)>>20)
}

// searcher decides calls on one register.
type searcher struct {
	ctx     context.Context
	initial int32
	values  int   // how many there are
	work    int64 // how many more steps all searches may take
	memory  int64
}

// decide decides calls that prune has seen, in the cheapest way that does.
func (s *searcher) decide(calls []call) outcome {
	if s.ctx.Err() != nil {
		return outcome{why: context.Cause(s.ctx).Error()}
	}
	s.work -= int64(len(calls))
	if clusters, ok := unique(calls, s.values, s.initial); ok {
		bad := chained(calls, clusters, s.initial)
		if bad == nil {
			return outcome{verdict: checker.Valid}
		}
		proof := bad.proof(calls)
		return outcome{verdict: checker.Invalid, cut: ending(proof), proof: proof}
	}
	if named, values, ok := split(calls, s.initial, s.values); ok {
		named = prune(named, values)
		clusters, _ := unique(named, values, 0)
		bad := chained(named, clusters, 0)
		if bad == nil {
			return outcome{verdict: checker.Valid}
		}
		return outcome{verdict: checker.Invalid, cut: ending(bad.proof(named))}
	}
	if end := s.early(calls); end != never {
		return outcome{verdict: checker.Invalid, cut: end}
	}
	return s.search(calls)
}

// ending is where the last of calls ends that does.
func ending(calls []call) uint32 {
	end := uint32(0)
	for i := range calls {
		if !calls[i].crashed {
			end = max(end, calls[i].end)
		}
	}
	return end
}

// early finds the first end of a call that saw a value before any call that sets
// it had begun; never when there is none.
func (s *searcher) early(calls []call) uint32 {
	set := make([]uint32, s.values)
	for i := range set {
		set[i] = never
	}
	set[s.initial] = 0
	for i := range calls {
		if c := &calls[i]; c.sets() {
			set[c.value] = min(set[c.value], c.begin)
		}
	}
	first := uint32(never)
	for i := range calls {
		if v, ok := calls[i].needs(); ok && calls[i].end < set[v] {
			first = min(first, calls[i].end)
		}
	}
	return first
}

const (
	// firstWidth is how many configurations are kept at first, widen the factor by
	// which they become more.
	firstWidth = 8
	widen      = 8
	// deepens is how often the walk becomes wider and wider from a little before the
	// place where it got stuck; then it goes back further instead.
	deepens = 2
	// markEvery is the number of calls between two places to go back to.
	markEvery = 256
)

// search walks the frontier: narrow first, which finds an order of nearly all
// histories that have one. Where it gets stuck it goes back, a little and then
// more, and on with more configurations until it is past that place. When that
// does not help at once, the calls near there are tried for a proof of their own
// that they have no order, then all calls, with those in doubt as jokers. Then it
// goes back further and further, as a call in doubt that is missing may have been
// used long before, and last to where it first left something out. Before each
// time a proof may take as many steps as all has taken so far, since it takes many
// to find out that there is none. So a history whose frontier is wide at some
// places only costs little more than they do.
func (s *searcher) search(calls []call) outcome {
	if need := frontierBytes(calls, s.values); need > s.memory/8 {
		return outcome{why: sayMemory(s.memory) + fmt.Sprintf(": %d values at once need %d MiB", s.values, 8*need>>20)}
	}
	f := begin(calls, s.values, 0, []int32{s.initial}, false, s.memory/4)
	all := s.work
	var root *frontier // as it was before something was left out
	var past marks     // places since to go back to
	var vain refuted
	// How many configurations are kept now, how many at least until the walk is past
	// the place where it got stuck, and how many after that.
	width, base, rest := firstWidth, firstWidth, firstWidth
	joked := false
	hard, level := int32(-1), 0 // where the walk got stuck last, and how often near there
	// How many it kept from the root on, and the last place where it began there anew.
	rootWidth, restarted := firstWidth, int32(-1)
	every := int32(max(markEvery, s.values/8))
	for {
		before := f.steps
		why, at := f.walk(s.ctx, width, f.next+every-f.next%every, s.work)
		s.work -= f.steps - before
		if root == nil {
			root = f.saved
		}
		switch {
		case why == arrived:
			return outcome{verdict: checker.Valid}
		case why == ended:
			return outcome{why: context.Cause(s.ctx).Error()}
		case why == spent:
			return outcome{why: sayWork}
		case why == paused:
			if f.next > hard+every/4 {
				base = rest
				width, level = base, 0
			}
			if f.dropped {
				past.add(f.clone())
			}
			// The step over the place where it paused.
			f.invoke()
			continue
		case !f.dropped:
			return outcome{verdict: checker.Invalid, cut: calls[at].end}
		}
		cut := uint32(never)
		switch {
		case level == 1:
			cut = s.refute(calls, at, quickSteps, &vain)
		case level == deepens && !joked:
			joked = true
			cut = s.joke(calls)
		case level > deepens:
			cut = s.refute(calls, at, all-s.work, &vain)
		}
		if cut != never {
			return outcome{verdict: checker.Invalid, cut: cut}
		}
		hard = max(hard, at)
		if level++; level <= deepens {
			width *= widen
		} else {
			width = base * widen
		}
		// From where nothing was left out since, it would go the same way again.
		if mark := past.before(min(at-16<<min(2*level, 24), f.cutAt-1)); mark != nil {
			f = mark.clone()
			continue
		}
		if level <= deepens {
			f = root.clone()
			continue
		}
		if root.full {
			return outcome{why: sayMemory(s.memory)}
		}
		// The second place that takes that much shows that there will be more.
		if at <= restarted || rest == rootWidth {
			rootWidth *= widen
		} else {
			rest = rootWidth
		}
		restarted = max(restarted, at)
		width, base, level = rootWidth, rootWidth, 0
		f, root = root, nil
	}
}

// prefix is the history up to position cut: what began later is gone, and what
// had not ended is in doubt. A prefix of a linearizable history is linearizable:
// what begins after the cut comes after all that ended before it, in any order
// that is one.
func prefix(calls []call, cut uint32) []call {
	var part []call
	for _, c := range calls {
		if c.begin > cut {
			break
		}
		if c.end > cut && !c.crashed {
			if !c.sets() {
				continue
			}
			c.crashed, c.end = true, never
		}
		part = append(part, c)
	}
	return part
}
