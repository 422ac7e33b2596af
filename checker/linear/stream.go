package linear

import (
	"github.com/jepgo/jepgo/history"
)

// model says which operations are of its kind.
type model struct {
	kind string   // what a register is called that has no key
	ops  []string // the :f that it judges, sorted
	lock bool
}

func registerModel() model { return model{kind: "the register", ops: []string{"cas", "read", "write"}} }

// mutexModel makes a lock of a register: acquire is cas from free to taken,
// release the reverse.
func mutexModel() model {
	return model{kind: "the lock", ops: []string{"acquire", "release"}, lock: true}
}

func (m model) action(f string) action {
	if m.lock {
		if f == "acquire" || f == "release" {
			return cas
		}
		return other
	}
	switch f {
	case "read":
		return read
	case "write":
		return write
	case "cas", "cas-miss":
		return cas
	}
	return other
}

// underWay is what a process is doing.
type underWay struct {
	row    row  // what is known of it
	keyed  bool // its key is
	key    int32
	begin  uint32
	action action
	busy   bool
	take   bool // an :acquire
}

// columns collects the operations of a history by key.
type columns struct {
	options Options
	model   model
	codes   codes
	journal journal
	// processes: it matters which process did what.
	processes bool

	keys    []*key
	byCode  map[int32]int32
	last    int32 // index of the key that was met last
	opens   []underWay
	near    []int32         // numbers of processes, plus one, by what they are called
	far     map[int64]int32 // numbers of those that are called by a large number
	free    int32           // codes of a lock's two states
	taken   int32
	initial int32
	events  bool            // there was any, if only of the nemesis
	tried   bool            // a client called for an operation of the model
	others  map[string]bool // what else clients did
	lastF   string          // one of others
	unnamed unnamed
	odd     int    // operations whose value cannot be read
	oddAt   int    // the first of them
	bytes   int64  // what keys take besides their records
	why     string // why nothing more is taken: a limit
}

// nearProcesses is how many process numbers are looked up without a map.
const nearProcesses = 1 << 16

func newColumns(o Options, m model) *columns {
	c := &columns{options: o, model: m, byCode: make(map[int32]int32)}
	c.journal = journal{dir: o.TempDir, budget: o.Records, limit: o.Memory}
	var tape history.Tape
	if m.lock {
		c.free, c.taken = c.codes.of(tape.Append(history.Flag(false))), c.codes.of(tape.Append(history.Flag(true)))
		c.initial = c.free
	} else {
		c.initial = c.codes.of(tape.Append(o.Initial))
	}
	return c
}

// take adds one event.
func (c *columns) take(e *history.Event) {
	c.events = true
	client, ok := e.Process.Client()
	if !ok && !e.Process.IsZero() || c.why != "" {
		return
	}
	if uint64(e.Position) >= never {
		c.why = "history has more than 4 billion events"
		return
	}
	if !ok {
		c.takeUnnamed(e)
		return
	}
	process := c.process(client)
	now := &c.opens[process]
	if e.Type == history.Invoke {
		c.abandon(now)
		*now = underWay{busy: true, begin: uint32(e.Position), action: c.model.action(e.F), take: e.F == "acquire"}
		if now.action == other {
			c.note(e.F)
			return
		}
		c.tried = true
		v, key, ok := c.split(e.Value)
		if !ok {
			return // the completion may tell
		}
		c.keys[key].rows++
		now.key, now.keyed = key, true
		now.row = row{begin: now.begin, end: never, process: process, action: now.action}
		now.row.unread = !c.read(&now.row, now.take, v)
		return
	}
	if !now.busy {
		*now = underWay{action: c.model.action(e.F), take: e.F == "acquire"}
		if now.action == other {
			c.note(e.F)
			return
		}
		c.tried = true
	}
	c.complete(e, process, now)
	*now = underWay{}
}

// complete ends what a process has under way, or adds all of an operation that
// had no invocation.
func (c *columns) complete(e *history.Event, process int32, now *underWay) {
	if now.action == other {
		return
	}
	r, v, told := &now.row, history.View{}, false
	if !now.keyed || e.Type == history.OK && (now.action == read || !e.Value.IsNil()) {
		inner, index, ok := c.split(e.Value)
		switch {
		case now.keyed && (!ok || index != now.key):
			c.strange(e.Position)
			return
		case !now.keyed && e.Type == history.Fail && !ok:
			return
		case !now.keyed && (!ok || now.busy && e.Type != history.OK):
			c.strange(max(e.Position, int(now.begin)))
			return
		case !now.keyed:
			c.keys[index].rows++
			now.key = index
			*r = row{begin: now.begin, process: process, action: now.action, lone: !now.busy, unread: true}
			if r.lone {
				r.begin = uint32(e.Position)
			}
		}
		v, told = inner, true
	}
	r.end = uint32(e.Position)
	switch e.Type {
	case history.OK:
		r.fate = done
		if r.action == cas && e.F == "cas-miss" {
			r.action = miss
		}
	case history.Fail:
		r.fate = failed
	default:
		r.fate = inDoubt
	}
	if told && (!v.IsNil() || r.unread || r.action == read) {
		r.unread = !c.read(r, now.take, v)
	}
	c.record(now.key, r)
}

// abandon ends an operation that never completes.
func (c *columns) abandon(now *underWay) {
	switch {
	case !now.busy || now.action == other:
	case now.keyed:
		c.record(now.key, &now.row)
	default:
		c.strange(int(now.begin)) // its key will never be known
	}
}

// strange notes an operation that cannot be read.
func (c *columns) strange(position int) {
	if c.odd == 0 || position < c.oddAt {
		c.oddAt = position
	}
	c.odd++
}

// note remembers what clients did that is not of the model.
func (c *columns) note(f string) {
	if f == c.lastF && c.others != nil {
		return
	}
	if c.others == nil {
		c.others = make(map[string]bool)
	}
	c.others[f], c.lastF = true, f
}

// process returns the number of a process, in the order in which they appear.
func (c *columns) process(client int64) int32 {
	if 0 <= client && client < nearProcesses {
		if int(client) >= len(c.near) {
			c.near = append(c.near, make([]int32, int(client)+1-len(c.near))...)
		}
		if c.near[client] == 0 {
			c.opens = append(c.opens, underWay{})
			c.near[client] = int32(len(c.opens))
		}
		return c.near[client] - 1
	}
	n, ok := c.far[client]
	if !ok {
		if c.far == nil {
			c.far = make(map[int64]int32)
		}
		n = int32(len(c.opens))
		c.far[client] = n
		c.opens = append(c.opens, underWay{})
	}
	return n
}

// split parts the value of an operation from its key.
func (c *columns) split(v history.View) (inner history.View, index int32, ok bool) {
	code := int32(0)
	if c.options.Keyed {
		first, second, pair := v.Pair()
		if !pair {
			return v, 0, false
		}
		code, v = c.codes.of(first), second
	}
	if int(c.last) < len(c.keys) && c.keys[c.last].code == code {
		return v, c.last, true
	}
	index, known := c.byCode[code]
	if !known {
		index = int32(len(c.keys))
		c.byCode[code] = index
		c.keys = append(c.keys, &key{code: code})
		c.bytes += keyBytes
	}
	c.last = index
	return v, index, true
}

// read puts a value into r; false when it is not one of its :f.
func (c *columns) read(r *row, take bool, v history.View) bool {
	switch {
	case c.model.lock:
		r.old, r.value = c.taken, c.free
		if take {
			r.old, r.value = c.free, c.taken
		}
	case r.action == read || r.action == write:
		r.value = c.codes.of(v)
	default:
		from, to, ok := v.Pair()
		if !ok {
			return false
		}
		r.old, r.value = c.codes.of(from), c.codes.of(to)
	}
	return true
}

// finish records what never completed.
func (c *columns) finish() {
	for i := range c.opens {
		if c.why == "" {
			c.abandon(&c.opens[i])
		}
	}
	c.opens = nil
}

// idle reports whether clients tried operations of the model in vain, or did
// nothing at all while others did.
func (c *columns) idle() bool { return c.tried || c.events && len(c.others) == 0 }
