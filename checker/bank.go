package checker

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/jepgo/jepgo/history"
)

// BankOptions say what a bank starts with and what it allows.
type BankOptions struct {
	// Accounts are the ids that may occur; empty: those of the first ok read.
	Accounts []history.Value
	// Total is the sum of all balances; nil: that of the first ok read.
	Total *int64
	// NegativeBalances allows an account to be overdrawn.
	NegativeBalances bool
}

// Bank returns the checker bank: an ok :read returns a map of accounts to
// balances, and since money only moves, each must have the same total. A read is
// wrong, by the first of these that holds, with an account that does not exist
// (unexpected-key), a balance of nil (nil-balance), another total (wrong-total),
// or a negative balance (negative-value). Transfers are not looked at. Unknown
// when nothing was read, or something that cannot be added up.
//
// As Jepsen's, which must be told accounts and total. Account ids that are texts
// of integers are those integers: JSON has no others. A read that lacks an account
// and still has the right total is a warning.
//
// O(n) time, constant memory beyond the accounts. Of each kind of error the first,
// the worst and the last are explained.
func Bank(o BankOptions) Stream {
	b := &bank{negative: o.NegativeBalances, basis: [2]int{nowhere, nowhere}}
	if o.Total != nil {
		b.total, b.hasTotal = *o.Total, true
	}
	var tape history.Tape
	for _, id := range o.Accounts {
		keyNumber(&b.accounts, tape.Append(id))
	}
	b.known = b.accounts.len()
	return b
}

type bank struct {
	negative bool
	accounts interner
	known    int // accounts with a smaller number exist
	total    int64
	hasTotal bool
	basis    [2]int // the reads that accounts and total come from, or nowhere

	begun  opened[int]
	reads  int
	errors [bankErrors]badReads
	low    int64 // total of all wrong ones
	high   int64
	fewer  int // reads that lack an account
	odd    int // ok reads that cannot be added up
	oddAt  int // the first of them
}

const (
	unexpectedKey = iota
	nilBalance
	wrongTotal
	negativeValue
	bankErrors
)

// badReads are the reads with one kind of error.
type badReads struct {
	count              int
	first, worst, last badRead
}

type badRead struct {
	call, at int
	badness  float64
	why      string
}

// keyNumber is number for a key of a map: in JSON those are texts, even where the
// same id is a number elsewhere.
func keyNumber(in *interner, v history.View) int32 {
	if b := v.Bytes(); len(b) > 0 && len(b) < 20 && v.Kind() == history.String && (b[0] == '-' || b[0] <= '9') {
		n, err := strconv.ParseInt(string(b), 10, 64)
		if err == nil && strconv.FormatInt(n, 10) == string(b) {
			return in.numberInt(n)
		}
	}
	return in.number(v)
}

func (*bank) Name() string { return "bank" }

func (b *bank) Take(e *history.Event) {
	if e.F != "read" || !ofClient(e) {
		return
	}
	switch e.Type {
	case history.Invoke:
		b.begun.begin(e.Process, e.Position)
	case history.OK:
		call, ok := b.begun.end(e.Process)
		if !ok {
			call = nowhere
		}
		b.read(e, call)
	default:
		b.begun.end(e.Process)
	}
}

func (b *bank) read(e *history.Event, call int) {
	if e.Value.Kind() != history.Map {
		b.unreadable(e)
		return
	}
	infer := b.known == 0
	var strange, nils, negative, sum int64
	var unknown int32
	for key, balance := range entries(e.Value) {
		id := keyNumber(&b.accounts, key)
		if int(id) >= b.known && !infer {
			strange++
			unknown = id
		}
		if balance.IsNil() {
			nils++
			continue
		}
		n, ok := b.accounts.whole(balance)
		if !ok || sum > math.MaxInt64/2 || sum < math.MinInt64/2 || n > math.MaxInt64/2 || n < math.MinInt64/2 {
			b.unreadable(e)
			return
		}
		sum += n
		if n < 0 {
			negative += n
		}
	}
	b.reads++
	if infer {
		b.known, b.basis[0] = b.accounts.len(), e.Position
	}
	if !b.hasTotal {
		b.total, b.hasTotal, b.basis[1] = sum, true, e.Position
	}
	bad := badRead{call: call, at: e.Position}
	switch {
	case strange > 0:
		bad.badness = float64(strange)
		bad.why = fmt.Sprintf("has %s that do not exist, such as %s", plural(int(strange), "account"), b.accounts.name(unknown))
		b.add(unexpectedKey, bad)
	case nils > 0:
		bad.badness = float64(nils)
		bad.why = fmt.Sprintf("has no balance for %s", plural(int(nils), "account"))
		b.add(nilBalance, bad)
	case sum != b.total:
		bad.badness = math.Abs(float64(sum) - float64(b.total))
		bad.why = fmt.Sprintf("has a total of %d, not %d", sum, b.total)
		if b.errors[wrongTotal].count == 0 {
			b.low, b.high = sum, sum
		}
		b.low, b.high = min(b.low, sum), max(b.high, sum)
		b.add(wrongTotal, bad)
	case negative < 0 && !b.negative:
		bad.badness = -float64(negative)
		bad.why = fmt.Sprintf("has accounts that are overdrawn, by %d in all", -negative)
		b.add(negativeValue, bad)
	case e.Value.Len()/2 < b.known:
		b.fewer++
	}
}

// unreadable notes a read that cannot be added up.
func (b *bank) unreadable(e *history.Event) {
	if b.odd++; b.odd == 1 {
		b.oddAt = e.Position
	}
}

func (b *bank) add(kind int, bad badRead) {
	e := &b.errors[kind]
	if e.count++; e.count == 1 {
		e.first, e.worst = bad, bad
	}
	if bad.badness > e.worst.badness {
		e.worst = bad
	}
	e.last = bad
}

func (b *bank) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: b.Name(), Facts: b.reads}
	if ctx.Err() != nil {
		return Ended(ctx, b.Name())
	}
	names := [bankErrors]string{"unexpected-key", "nil-balance", "wrong-total", "negative-value"}
	var found findings
	wrong := 0
	r.Stats = []Stat{{"reads", fmt.Sprint(b.reads)}, {"total", fmt.Sprint(b.total)}}
	for kind, name := range names {
		e := &b.errors[kind]
		if e.count == 0 {
			continue
		}
		wrong += e.count
		stat := fmt.Sprintf("%d; first op %d, worst op %d, last op %d", e.count, e.first.at, e.worst.at, e.last.at)
		if kind == wrongTotal {
			stat += fmt.Sprintf("; lowest %d, highest %d", b.low, b.high)
		}
		r.Stats = append(r.Stats, Stat{name, stat})
		b.explain(&found, name, "first", e, e.first)
		if e.worst.at != e.first.at {
			b.explain(&found, name, "worst", e, e.worst)
		}
		if e.last.at != e.first.at && e.last.at != e.worst.at {
			b.explain(&found, name, "last", e, e.last)
		}
	}
	if b.fewer > 0 {
		r.Warnings = append(r.Warnings, plural(b.fewer, "read")+" with the right total although an account is missing")
	}
	odd := ""
	if b.odd > 0 {
		odd = fmt.Sprintf("%s cannot be added up, such as op %d: want a map of accounts to integers of less than 63 bits", plural(b.odd, "ok read"), b.oddAt)
		if wrong > 0 {
			r.Warnings = append(r.Warnings, odd)
		}
	}
	r.Anomalies = found.anomalies(src)
	switch {
	case wrong > 0:
		r.Verdict = Invalid
		r.Reason = fmt.Sprintf("%d of %s wrong", wrong, plural(b.reads, "read")) + such(r.Anomalies)
	case odd != "":
		r.Reason = odd
	case b.reads == 0:
		r.Reason = "no balances were read"
	default:
		r.Verdict = Valid
		r.Reason = fmt.Sprintf("%s with a total of %d", plural(b.reads, "read"), b.total)
	}
	return r
}

func (b *bank) explain(found *findings, name, which string, e *badReads, bad badRead) {
	found.room(name)
	of := ""
	if e.count > 1 {
		of = fmt.Sprintf(" It is the %s of %d of its kind.", which, e.count)
	}
	found.explain(name, []int{b.basis[0], b.basis[1], bad.call, bad.at}, "Read %d %s.%s", bad.at, bad.why, of)
}
