package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/history"
)

// Exceptions returns the checker unhandled-exceptions: what the :info completions
// of a history say went wrong, by kind, the most frequent first. The kind is the
// class of an :exception (Jepsen's datafied map: the :type of the first of :via),
// else the :error: a keyword, the first word of a vector, a text.
//
// It judges nothing: Valid means that it has looked. As Jepsen's, which leaves out
// what has no :exception. Neither key is in an Event, so Finish reads the ops
// again, at most 100,000 of them (an even sample of more); 8 bytes for each.
func Exceptions() Stream { return &exceptions{} }

type exceptions struct{ infos sample }

func (*exceptions) Name() string { return "unhandled-exceptions" }

func (x *exceptions) Take(e *history.Event) {
	if e.Type == history.Info && ofClient(e) {
		x.infos.take(e.Position)
	}
}

func (x *exceptions) asks() []int { return x.infos.at }

// kindOfError names what went wrong in an op; "" when it does not say.
func kindOfError(op *history.Op) string {
	if exception, ok := op.Lookup("exception"); ok {
		via, _ := exception.Field("via")
		if elems := via.Elems(); len(elems) > 0 {
			if class, ok := elems[0].Field("type"); ok {
				return class.String()
			}
		}
		if class, ok := exception.Field("type"); ok {
			return class.String()
		}
		return cut(exception.String())
	}
	if op.Error.IsNil() {
		return ""
	}
	of := op.Error
	if elems := of.Elems(); len(elems) > 0 && (of.Kind() == history.Vector || of.Kind() == history.List) {
		of = elems[0]
	}
	return cut(of.String())
}

// cut shortens what identifies an error.
func cut(text string) string {
	const most = 120
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}

func (x *exceptions) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: x.Name(), Facts: max(1, x.infos.count)}
	if ctx.Err() != nil {
		return Ended(ctx, x.Name())
	}
	type kind struct {
		name           string
		count, example int
	}
	byName := make(map[string]*kind)
	next, quiet := 0, 0
	err := eachOp(ctx, src, x.infos.at, func(op *history.Op) {
		at := x.infos.at[next]
		next++
		name := kindOfError(op)
		if name == "" {
			quiet++
			return
		}
		k := byName[name]
		if k == nil {
			k = &kind{name: name, example: at}
			byName[name] = k
		}
		k.count++
	})
	if err != nil {
		return Result{Checker: x.Name(), Reason: fmt.Sprintf("ops in doubt could not be looked at again: %v", err)}
	}
	kinds := make([]*kind, 0, len(byName))
	for _, k := range byName {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b *kind) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.example, b.example))
	})
	for i, k := range kinds {
		if i == listedKeys {
			r.Stats = append(r.Stats, Stat{"others", plural(len(kinds)-i, "kind")})
			break
		}
		r.Stats = append(r.Stats, Stat{k.name, fmt.Sprintf("%d, such as op %d", k.count, k.example)})
	}
	if quiet > 0 {
		r.Stats = append(r.Stats, Stat{"without-error", fmt.Sprint(quiet)})
	}
	if x.infos.step > 1 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("one in %d of %d ops in doubt was looked at", x.infos.step, x.infos.count))
	}
	r.Verdict = Valid
	r.Reason = fmt.Sprintf("%s of error in %s in doubt; this is not judged", plural(len(kinds), "kind"), plural(x.infos.count, "op"))
	return r
}
