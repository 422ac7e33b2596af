package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jepgo/jepgo/history"
)

// outcome sorts the elements of a set.
type outcome struct {
	attempts                      int
	stable, lost, unread          []int32
	stale                         []staleness
	brief                         int // stable, and missing from a read that began less than a millisecond too late
	stableLatencies, lostLatences []time.Duration
}

type staleness struct {
	elem int32
	by   time.Duration
}

func (s *setFull) Finish(ctx context.Context, src history.Source) Result {
	r := Result{Checker: s.Name()}
	if ctx.Err() != nil {
		return Ended(ctx, s.Name())
	}
	odd := s.adds.odd("add")
	if s.unread > 0 {
		odd = fmt.Sprintf("%s without a collection, such as op %d", plural(s.unread, "ok read"), s.unreadAt)
	}
	var out outcome
	for id := range s.elems {
		if t := &s.elems[id]; t.add.invoked != nowhere {
			s.settle(t)
			out.attempts++
			s.sort(int32(id), t, &out)
		}
	}
	var found findings
	s.explain(&found, &out)
	r.Stats = s.stats(&out)
	r.Facts = len(out.stable) + len(out.lost) + len(s.repeated)
	if s.earlies > 0 && !s.linearizable {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s in reads before anybody had begun to add them, such as %s (op %d)",
			plural(s.earlies, "element"), s.in.name(s.early[0].elem), s.reads[s.early[0].read].to.at))
	}
	if out.brief > 0 && s.linearizable {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s missing from a read that began less than a millisecond after they were known", plural(out.brief, "element")))
	}
	r.Anomalies = found.anomalies(src)
	if odd != "" && len(r.Anomalies) > 0 {
		r.Warnings = append(r.Warnings, odd)
	}
	switch {
	case len(r.Anomalies) > 0:
		r.Verdict = Invalid
		r.Reason = fmt.Sprintf("of %s, %d are lost, %d were read twice at once, %d are stale", plural(out.attempts, "element"), len(out.lost), len(s.repeated), len(out.stale))
	case odd != "":
		r.Reason = odd
	case len(s.reads) == 0:
		r.Reason = "the set was never read"
	case len(out.stable) == 0:
		r.Reason = fmt.Sprintf("no element is known to be there for good: none of %d was lost, and none was in the reads that began last", out.attempts)
	default:
		r.Verdict = Valid
		r.Reason = fmt.Sprintf("%s stable, none lost, in %s", plural(len(out.stable), "element"), plural(len(s.reads), "read"))
	}
	return r
}

// from is where a read began.
func (s *setFull) from(read int32) moment {
	if read == none {
		return moment{at: never}
	}
	return s.reads[read].from
}

func (s *setFull) sort(id int32, t *timeline, out *outcome) {
	present, absent := s.from(t.present), s.from(t.absent)
	switch {
	case present.at > absent.at:
		out.stable = append(out.stable, id)
		latency := time.Duration(0)
		if t.absent != none && t.known.at != nowhere {
			switch late := absent.at > t.known.at; {
			case absent.time < 0 || t.known.time < 0:
				if late { // by place alone
					latency = time.Millisecond
				}
			default:
				latency = time.Duration(max(0, absent.time+1-t.known.time))
				if late && latency < time.Millisecond {
					out.brief++
				}
			}
		}
		if latency >= time.Millisecond {
			out.stale = append(out.stale, staleness{id, latency})
		}
		out.stableLatencies = append(out.stableLatencies, latency)
	case t.known.at != nowhere && absent.at > present.at && absent.at > t.known.at:
		out.lost = append(out.lost, id)
		latency := time.Duration(0)
		if t.present != none && present.time >= 0 && t.known.time >= 0 {
			latency = time.Duration(max(0, present.time+1-t.known.time))
		}
		out.lostLatences = append(out.lostLatences, latency)
	default:
		out.unread = append(out.unread, id)
	}
}

// spans returns the positions of reads and of what made an element known.
func (s *setFull) spans(t *timeline, reads ...int32) []int {
	at := []int{t.add.invoked, t.add.call, t.add.ok, t.known.at}
	for _, read := range reads {
		if read != none {
			at = append(at, s.reads[read].from.at, s.reads[read].to.at)
		}
	}
	return at
}

func (s *setFull) explain(found *findings, out *outcome) {
	for _, id := range out.lost {
		if t := &s.elems[id]; found.room("lost") {
			found.explain("lost", s.spans(t, t.present, t.absent),
				"%s was known to be in the set (op %d), but a read that began later (op %d) does not hold it, nor does any that began after.",
				s.in.name(id), t.known.at, s.from(t.absent).at)
		}
	}
	for _, twice := range s.repeated {
		if found.room("duplicated") {
			read := s.reads[twice.read]
			found.explain("duplicated", []int{read.from.at, read.to.at}, "One read (op %d) holds %s more than once.", read.to.at, s.in.name(twice.elem))
		}
	}
	slices.SortStableFunc(out.stale, func(a, b staleness) int { return cmp.Compare(b.by, a.by) })
	if !s.linearizable {
		return
	}
	for _, stale := range out.stale {
		if t := &s.elems[stale.elem]; found.room("stale") {
			found.explain("stale", s.spans(t, t.absent, t.present),
				"%s was known to be in the set (op %d), but a read that began later (op %d, %v after) does not hold it.",
				s.in.name(stale.elem), t.known.at, s.from(t.absent).at, brief(stale.by))
		}
	}
	for i := range s.earlies {
		if found.room("unexpected") {
			early := s.early[i]
			read := s.reads[early.read]
			found.explain("unexpected", []int{read.from.at, read.to.at}, "A read (op %d) holds %s before anybody had begun to add it.", read.to.at, s.in.name(early.elem))
		}
	}
}

func (s *setFull) stats(out *outcome) []Stat {
	var stale, twice []int32
	var worst []string
	for i, st := range out.stale {
		stale = append(stale, st.elem)
		if i < enough {
			worst = append(worst, fmt.Sprintf("%s %v", s.in.name(st.elem), brief(st.by)))
		}
	}
	for _, t := range s.repeated {
		twice = append(twice, t.elem)
	}
	stats := []Stat{
		{"attempts", fmt.Sprint(out.attempts)}, {"stable", fmt.Sprint(len(out.stable))},
		s.in.countOf("lost", out.lost), s.in.countOf("never-read", out.unread),
		s.in.countOf("stale", stale), s.in.countOf("duplicated", twice),
	}
	if len(worst) > 0 {
		stats = append(stats, Stat{"worst-stale", strings.Join(worst, ", ")})
	}
	stats = appendQuantiles(stats, "stable-latencies", out.stableLatencies)
	return appendQuantiles(stats, "lost-latencies", out.lostLatences)
}

// appendQuantiles adds a Stat of a sample, which it sorts, unless it is empty.
func appendQuantiles(stats []Stat, name string, sample []time.Duration) []Stat {
	if len(sample) == 0 {
		return stats
	}
	slices.Sort(sample)
	var parts []string
	for _, q := range []float64{0, 0.5, 0.95, 0.99, 1} {
		parts = append(parts, fmt.Sprintf("%v %v", q, brief(Quantile(sample, q))))
	}
	return append(stats, Stat{name, strings.Join(parts, ", ")})
}
