package nemesis

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// length is how long a fault stays in force once it was seen to bite: a time or
// a number of blocks; none for the interval of the run.
type length struct {
	d      time.Duration
	blocks uint64
}

const blocksUnit = "blocks"

// parseLength reads what follows the + of a fault in --nemesis: 10s, 5blocks.
func parseLength(text string) (length, error) {
	if number, ok := strings.CutSuffix(text, blocksUnit); ok {
		n, err := strconv.ParseUint(number, 10, 31)
		if err == nil && n > 0 {
			return length{blocks: n}, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 && isDigit(text[0]) {
		return length{d: d}, nil
	}
	return length{}, fmt.Errorf("length %q: expected a time such as 10s, or blocks such as 5blocks", text)
}

func (l length) String() string {
	if l.blocks > 0 {
		return strconv.FormatUint(l.blocks, 10) + blocksUnit
	}
	return l.d.String()
}

// timed is a fault with a moment of its own, a length of its own, or both.
type timed struct {
	Fault
	when *trigger // nil: takes its turn by the interval
	stay *length  // nil: the interval
}

// cutTimes parts an item of --nemesis, fault[@trigger][+length], and reads the
// last two.
func cutTimes(item string) (fault string, when *trigger, stay *length, err error) {
	fault, moment, triggered := strings.Cut(item, "@")
	rest := &fault
	if triggered {
		rest = &moment
		if _, _, lasting := cutLength(fault); lasting {
			return "", nil, nil, fmt.Errorf("%q: expected the length after the trigger, as in kill@height=50+10s", fault)
		}
	}
	before, after, lasting := cutLength(*rest)
	*rest = before
	if triggered {
		t, err := parseTrigger(moment)
		if err != nil {
			return "", nil, nil, err
		}
		when = &t
	}
	if lasting {
		l, err := parseLength(after)
		if err != nil {
			return "", nil, nil, err
		}
		stay = &l
	}
	return fault, when, stay, nil
}

// cutLength parts a text at the + of a length. One right behind a colon is the sign
// of a number: clock-bump:+10s.
func cutLength(text string) (before, after string, lasting bool) {
	for i := range len(text) {
		if text[i] == '+' && (i == 0 || text[i-1] != ':') {
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// timesOf returns the fault itself and its times.
func timesOf(f Fault) (inner Fault, when *trigger, stay *length) {
	if t, ok := f.(timed); ok {
		return t.Fault, t.when, t.stay
	}
	return f, nil, nil
}

// Name is what --nemesis takes: kill:one@height=50+10s.
func (t timed) Name() string {
	name := t.Fault.Name()
	if t.when != nil {
		name += "@" + t.when.String()
	}
	if t.stay != nil {
		name += "+" + t.stay.String()
	}
	return name
}

// Explain adds the times to what the fault says of itself.
func (t timed) Explain() string {
	text := t.Fault.Explain()
	if t.when != nil {
		text += fmt.Sprintf(" It starts by its trigger (%s).", t.when.of().doc)
	}
	if t.stay != nil {
		text += fmt.Sprintf(" It stays in force for %s.", t.stay)
	}
	return text
}

// Possible asks the fault, and whether its moment can come.
func (t timed) Possible(r Reach) error {
	if err := t.Fault.Possible(r); err != nil {
		return err
	}
	if t.when != nil {
		if err := t.when.possible(r); err != nil {
			return fmt.Errorf("nemesis %q: %w", t.Name(), err)
		}
	}
	if t.stay != nil && r.Time > 0 && t.stay.d >= r.Time {
		return fmt.Errorf("nemesis %q: length %q: the main phase is over after %v; expected less, or a longer --time", t.Name(), t.stay, r.Time)
	}
	if t.stay != nil && t.stay.blocks > 0 {
		if missing := needsChain(r); missing != "" {
			return fmt.Errorf("nemesis %q: length %q: %s", t.Name(), t.stay, missing)
		}
	}
	return nil
}

// Needs are those of the fault.
func (t timed) Needs() Needs {
	if n, ok := t.Fault.(Needy); ok {
		return n.Needs()
	}
	return Needs{}
}
