package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/history"
)

// Independent returns a Stream over operations whose values are [key v]: each key
// has a Stream of its own from begin, which sees the operations of that key with v
// as the value, at their true positions. The worst verdict of any key counts.
//
// A completion by :fail or :info that lost its key belongs to the key of the
// invocation, and so does an ok without a value of what was invoked with one. Other
// client operations without a key go to no Stream; they are a warning, and if one
// is ok, or there is no key at all, nothing is Valid. Ops of other
// processes than clients, such as the nemesis, go to no Stream either.
//
// Where Jepsen differs: it gives ops without a key to every key, and lists only
// the keys that are invalid; here the unknown ones are listed, too. Anomalies of
// the first 32 keys that fail are explained; their messages begin with the key.
//
// Cost: that of begin's Streams, and a look-up for each operation.
func Independent(name string, begin func() Stream) Stream {
	return &independent{name: name, begin: begin}
}

type independent struct {
	name  string
	begin func() Stream
	keys  interner
	subs  []Stream
	open  opened[keyedCall]
	event history.Event

	keyless, keylessAt int
	lost, lostAt       int // the ok ones of those
	strayed, strayedAt int // completions of another key than their invocation
}

// keyedCall is an open operation on a key; writes if it says a value.
type keyedCall struct {
	key    int32
	writes bool
}

const (
	manyKeys   = 32  // keys whose anomalies are explained
	listedKeys = 128 // keys that are named
)

func (in *independent) Name() string { return in.name }

func (in *independent) Take(e *history.Event) {
	if !ofClient(e) {
		return
	}
	var invoked keyedCall
	open := false
	if e.Type != history.Invoke {
		invoked, open = in.open.end(e.Process)
	}
	key, value, pair := e.Value.Pair()
	switch {
	case pair:
		id := in.keys.number(key)
		if int(id) == len(in.subs) {
			in.subs = append(in.subs, in.begin())
		}
		if e.Type == history.Invoke {
			in.open.begin(e.Process, keyedCall{id, !value.IsNil()})
		} else if open && invoked.key != id {
			if in.strayed++; in.strayed == 1 {
				in.strayedAt = e.Position
			}
		}
		in.event = *e
		in.event.Value = value
		in.subs[id].Take(&in.event)
	case open && (e.Type != history.OK || invoked.writes && e.Value.IsNil()):
		in.subs[invoked.key].Take(e)
	default:
		if e.Type == history.OK {
			if in.lost++; in.lost == 1 {
				in.lostAt = e.Position
			}
		}
		if in.keyless++; in.keyless == 1 {
			in.keylessAt = e.Position
		}
	}
}

func (in *independent) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: in.name, Verdict: Valid}
	if ctx.Err() != nil {
		return Ended(ctx, in.name)
	}
	if in.keyless > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s without [key value] as the value, such as op %d, belong to no key", plural(in.keyless, "operation"), in.keylessAt))
	}
	if in.strayed > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s for another key than the invocation, such as op %d", plural(in.strayed, "completion"), in.strayedAt))
	}
	if len(in.subs) == 0 {
		r.Verdict, r.Reason = Unknown, "no operation has a key"
		return r
	}
	stripped := &keyedSource{src: src, kept: make(map[int]history.Op)}
	ahead := 0 // keys whose ops are in stripped
	var bad, unknown []int32
	for id, sub := range in.subs {
		if ctx.Err() != nil {
			return Ended(ctx, in.name)
		}
		if id >= ahead {
			if ahead = in.ask(ctx, stripped, id); ahead < 0 {
				return Result{Checker: in.name, Reason: fmt.Sprintf("operations could not be looked at again: %v", stripped.err)}
			}
		}
		in.add(&r, int32(id), sub.Finish(ctx, stripped), &bad, &unknown)
	}
	fillRefs(src, r.Anomalies)
	valid := len(in.subs) - len(bad) - len(unknown)
	r.Stats = append([]Stat{
		{"keys", fmt.Sprint(len(in.subs))}, {"valid", fmt.Sprint(valid)},
		{"failing-keys", in.list(bad)}, {"unknown-keys", in.list(unknown)},
	}, r.Stats...)
	r.Reason = fmt.Sprintf("all of %s valid", plural(len(in.subs), "key"))
	var parts []string
	if len(bad) > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s fail: %s", len(bad), plural(len(in.subs), "key"), in.list(bad)))
	}
	if len(unknown) > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s unknown: %s", len(unknown), plural(len(in.subs), "key"), in.list(unknown)))
	}
	if in.lost > 0 {
		r.Verdict = Worst(r.Verdict, Unknown)
		parts = append(parts, fmt.Sprintf("%s without [key value] as the value, such as op %d", plural(in.lost, "ok operation"), in.lostAt))
	}
	if len(parts) > 0 {
		r.Reason = strings.Join(parts, "; ")
	}
	return r
}

// add takes the result of one key into the whole.
func (in *independent) add(r *Result, id int32, sub Result, bad, unknown *[]int32) {
	name := in.keys.name(id)
	if sub.Verdict == Valid && sub.Facts == 0 {
		sub.Verdict = Unknown
	}
	r.Verdict = Worst(r.Verdict, sub.Verdict)
	r.Facts += sub.Facts
	switch sub.Verdict {
	case Valid:
	case Invalid:
		*bad = append(*bad, id)
		if len(*bad) <= manyKeys {
			for _, a := range sub.Anomalies {
				a.Message = fmt.Sprintf("Key %s: %s", name, a.Message)
				r.Anomalies = append(r.Anomalies, a)
			}
		}
	default:
		*unknown = append(*unknown, id)
	}
	if sub.Verdict != Valid && len(*bad)+len(*unknown) <= manyKeys {
		r.Stats = append(r.Stats, Stat{"key " + name, sub.Verdict.String() + ": " + sub.Reason})
	}
	for _, w := range sub.Warnings {
		if len(r.Warnings) < manyKeys {
			r.Warnings = append(r.Warnings, fmt.Sprintf("key %s: %s", name, w))
		}
	}
}

// list names keys.
func (in *independent) list(ids []int32) string {
	ids = in.keys.sorted(ids)
	names := make([]string, 0, min(len(ids), listedKeys))
	for _, id := range ids {
		if len(names) == listedKeys {
			names = append(names, fmt.Sprintf("and %d more", len(ids)-listedKeys))
			break
		}
		names = append(names, in.keys.name(id))
	}
	return "[" + strings.Join(names, " ") + "]"
}

// ask gets the ops that the next keys will ask for, of as many keys as fit into
// memory, and returns the first key that is not among them, or -1.
func (in *independent) ask(ctx context.Context, s *keyedSource, from int) (ahead int) {
	clear(s.kept)
	var at []int
	for ahead = from; ahead < len(in.subs) && (len(at) == 0 || len(at) < askedAtOnce); ahead++ {
		if a, ok := in.subs[ahead].(asker); ok {
			at = append(at, a.asks()...)
		}
	}
	slices.Sort(at)
	at = slices.Compact(at)
	next := 0
	s.err = eachOp(ctx, s.src, at, func(op *history.Op) {
		s.kept[at[next]] = strip(*op)
		next++
	})
	if s.err != nil {
		return -1
	}
	return ahead
}

// strip takes the key off an op's value.
func strip(op history.Op) history.Op {
	kind := op.Value.Kind()
	if elems := op.Value.Elems(); len(elems) == 2 && (kind == history.Vector || kind == history.List) {
		op.Value = elems[1]
	}
	return op
}

// keyedSource gives ops without their key. Refs are left to Independent, so that
// it asks once for those of all keys.
type keyedSource struct {
	src  history.Source
	kept map[int]history.Op
	err  error
}

func (*keyedSource) fillsRefs() {}

func (s *keyedSource) Ops(positions []int) ([]history.Op, error) {
	ops := make([]history.Op, 0, len(positions))
	for _, at := range positions {
		op, ok := s.kept[at]
		if !ok {
			break
		}
		ops = append(ops, op)
	}
	if len(ops) == len(positions) {
		return ops, nil
	}
	ops, err := s.src.Ops(positions)
	if err != nil {
		return nil, err
	}
	ops = slices.Clone(ops)
	for i := range ops {
		ops[i] = strip(ops[i])
	}
	return ops, nil
}

// fillRefs reads the ops of all refs at once.
func fillRefs(src history.Source, anomalies []Anomaly) {
	var refs []*Ref
	for i := range anomalies {
		a := &anomalies[i]
		for j := range a.Witness {
			refs = append(refs, &a.Witness[j])
		}
		for j := range a.Order {
			refs = append(refs, &a.Order[j])
		}
		for j := range a.Blocked {
			refs = append(refs, &a.Blocked[j].Ref)
		}
	}
	at := make([]int, len(refs))
	for i := range refs {
		at[i] = refs[i].Index
	}
	if len(at) == 0 {
		return
	}
	full := RefsFrom(src, at...)
	shorten(full)
	for _, ref := range refs {
		n, ok := slices.BinarySearchFunc(full, ref.Index, func(r Ref, at int) int { return r.Index - at })
		if ok {
			ref.Op = full[n].Op
		}
	}
}
