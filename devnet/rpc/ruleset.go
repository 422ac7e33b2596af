package rpc

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// RuleCounters is what one rule has done since it was set. Everything is counted
// after it was done.
type RuleCounters struct {
	Name    string `json:"name"`
	Seen    int64  `json:"seen"`    // messages that the rule looked at
	Matched int64  `json:"matched"` // of those, the method matched
	Chosen  int64  `json:"chosen"`  // of those, the gate and the share let through

	Delayed    int64         `json:"delayed"`
	DelayTime  time.Duration `json:"delay_time"` // sum over Delayed, as measured
	MinDelay   time.Duration `json:"min_delay"`  // the shortest of Delayed
	Dropped    int64         `json:"dropped"`    // lost for good, or answers that were
	Errored    int64         `json:"errored"`    // answered with a status, a page or an error
	Stale      int64         `json:"stale"`      // answered as of Behind blocks ago
	Behind     int64         `json:"behind"`     // sum over Stale of the blocks between that and the node's head
	Corrupted  int64         `json:"corrupted"`  // answers with an edit, a cut or a wrong id
	Duplicated int64         `json:"duplicated"` // sent a second time, and answered
}

// Acted is the number of times that the rule did what it says.
func (c RuleCounters) Acted() int64 {
	return c.Delayed + c.Dropped + c.Errored + c.Stale + c.Corrupted + c.Duplicated
}

// rule is a Rule at work.
type rule struct {
	Rule
	set     *ruleset
	seed    uint64
	matches func(method string) bool

	seen, matched, passed, chosen                          atomic.Int64
	delayed, delayTime, minDelay                           atomic.Int64
	dropped, errored, stale, behind, corrupted, duplicated atomic.Int64
}

func (r *rule) counters() RuleCounters {
	return RuleCounters{
		Name: r.name(), Seen: r.seen.Load(), Matched: r.matched.Load(), Chosen: r.chosen.Load(),
		Delayed: r.delayed.Load(), DelayTime: time.Duration(r.delayTime.Load()), MinDelay: time.Duration(r.minDelay.Load()),
		Dropped: r.dropped.Load(), Errored: r.errored.Load(), Stale: r.stale.Load(), Behind: r.behind.Load(),
		Corrupted: r.corrupted.Load(), Duplicated: r.duplicated.Load(),
	}
}

func (r *rule) countDelay(d time.Duration) {
	for {
		least := r.minDelay.Load()
		if least > 0 && least <= int64(d) || r.minDelay.CompareAndSwap(least, int64(d)) {
			break
		}
	}
	r.delayTime.Add(int64(d))
	r.delayed.Add(1)
}

// mix is the finalizer of SplitMix64 (Steele, Lea, Flood, 2014): neighbouring
// numbers come out unlike.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// firing is one message that a rule acts on.
type firing struct {
	*rule
	rng *rand.Rand // hash(seed, rule, number of the message): for all that the action draws
}

// fire decides about one message.
func (r *rule) fire(method string) (firing, bool) {
	r.seen.Add(1)
	if !r.matches(method) {
		return firing{}, false
	}
	n := r.matched.Add(1)
	g := r.Gate
	if n -= g.SkipFirst; n <= 0 || g.EveryN > 1 && (n-1)%g.EveryN != 0 {
		return firing{}, false
	}
	rng := rand.New(rand.NewPCG(r.seed, mix(uint64(r.passed.Add(1)))))
	if r.Share > 0 && rng.Float64() >= r.Share {
		return firing{}, false
	}
	for {
		done := r.chosen.Load()
		if g.Max > 0 && done >= g.Max {
			return firing{}, false
		}
		if r.chosen.CompareAndSwap(done, done+1) {
			return firing{r, rng}, true
		}
	}
}

// ruleset is what Proxy.Set puts in force.
type ruleset struct {
	rules []*rule
	done  chan struct{} // closed when it is replaced: whatever it holds back is let go
}

func newRuleset(rules []Rule, seed uint64) (*ruleset, error) {
	s := &ruleset{done: make(chan struct{})}
	names := map[string]bool{}
	for i, r := range rules {
		if err := r.Check(); err != nil {
			return nil, err
		}
		if names[r.name()] {
			return nil, fmt.Errorf("rpc rule %q: given twice, expected different names", r.name())
		}
		names[r.name()] = true
		matches, err := matcher(r.Methods)
		if err != nil {
			return nil, err
		}
		s.rules = append(s.rules, &rule{Rule: r, set: s, seed: mix(seed + mix(uint64(i))), matches: matches})
	}
	return s, nil
}

func (s *ruleset) replaced() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// fire lists what happens to a message of that method.
func (s *ruleset) fire(method string) []firing {
	var fired []firing
	for _, r := range s.rules {
		if f, ok := r.fire(method); ok {
			fired = append(fired, f)
		}
	}
	return fired
}
