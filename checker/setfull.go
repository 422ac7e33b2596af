package checker

import (
	"sort"

	"github.com/jepgo/jepgo/history"
)

// SetFullOptions say what a set promises.
type SetFullOptions struct {
	// Linearizable: an element must be in every read that begins a millisecond or
	// more after its add was known to have happened. By default such a read is only
	// counted as stale.
	Linearizable bool
}

// SetFull returns the checker set-full: elements are added one by one (:add x),
// and any number of ok :reads return the whole set. An element is known from the
// ok of its add or the first read that holds it, whichever is earlier. Of the
// reads that ended after its add began, by the place where they began, it is
//
//   - stable, if the last that holds it is later than the last that lacks it,
//   - lost, if it is known, and the last that lacks it began later than that and
//     later than the last that holds it,
//   - never-read otherwise.
//
// Anything lost, or any element twice in one read (duplicated), is Invalid; else
// nothing stable is Unknown; else it is Valid, unless it should be linearizable
// and a stable element was missing too late (stale) or a read held an element
// before anybody had begun to add it (unexpected). A read whose beginning is not
// known proves no loss. With an ok read of no collection nothing is Valid.
//
// Where Jepsen differs: its check for duplicates can never fire; it forgets what
// it knew of an element that is added a second time; elements that nobody added
// it passes over in silence (here they are a warning, if not an anomaly).
//
// A read costs a comparison for each element that stands where the read before
// had it, and a look-up for each other. Memory: some 100 bytes an element, 30 a
// read. (Jepsen compares every element with every read.)
func SetFull(o SetFullOptions) Stream { return &setFull{linearizable: o.Linearizable} }

type setFull struct {
	linearizable bool
	in           interner
	held         collection
	elems        []timeline
	adds         puts
	begun        opened[moment]
	reads        []span
	peaks        []int32    // reads that began later than every read after them
	repeated     []sighting // elements that some read held twice
	early        []sighting // elements that a read held before an add of them began; the first few
	earlies      int
	unread       int // ok reads without a collection
	unreadAt     int // the first of them
}

// moment is a place in the history and the time written there.
type moment struct {
	at   int
	time int64
}

// span is one ok read: where it began, unknownStart when the history does not
// say, and where it ended.
type span struct{ from, to moment }

// unknownStart is the place of an invocation that the history lacks, and never is
// earlier than that.
const (
	unknownStart = nowhere
	never        = nowhere - 1
)

type sighting struct{ elem, read int32 }

// timeline is what is known of one element. Reads are numbers of setFull.reads.
type timeline struct {
	add      try
	known    moment // from where on it is known to exist, or nowhere
	present  int32  // the read that began last of those that hold it, or none
	absent   int32  // the read that began last of those that lack it, or none
	since    int32  // the first read that present and absent do not count yet
	in       bool   // whether all reads from since on hold it; else all lack it
	repeated bool
	early    bool
}

const none = int32(-1)

func (*setFull) Name() string { return "set-full" }

func (s *setFull) Take(e *history.Event) {
	if !ofClient(e) {
		return
	}
	switch e.F {
	case "add":
		s.takeAdd(e)
	case "read":
		switch e.Type {
		case history.Invoke:
			s.begun.begin(e.Process, moment{e.Position, e.Time})
		case history.OK:
			s.takeRead(e)
		default:
			s.begun.end(e.Process)
		}
	}
}

// elem returns the timeline of an element.
func (s *setFull) elem(id int32) *timeline {
	for len(s.elems) <= int(id) {
		s.elems = append(s.elems, timeline{
			add: untried(), known: moment{at: nowhere}, present: none, absent: none,
		})
	}
	return &s.elems[id]
}

func (s *setFull) takeAdd(e *history.Event) {
	id, call, ok := s.adds.of(&s.in, e)
	if !ok {
		return
	}
	t := s.elem(id)
	if t.add.invoked == nowhere {
		t.since = int32(len(s.reads)) // what ended before says nothing of the element
	}
	t.add.take(e, call)
	if e.Type == history.OK {
		s.notice(t)
		if t.known.at == nowhere {
			t.known = moment{e.Position, e.Time}
		}
	}
}

func (s *setFull) takeRead(e *history.Event) {
	began, ok := s.begun.end(e.Process)
	if !isCollection(e.Value) {
		if s.unread++; s.unread == 1 {
			s.unreadAt = e.Position
		}
		return
	}
	if !ok {
		began = moment{unknownStart, history.Absent}
	}
	s.held.read(e.Value, &s.in, (*reading)(s))
	for len(s.peaks) > 0 && s.reads[s.peaks[len(s.peaks)-1]].from.at <= began.at {
		s.peaks = s.peaks[:len(s.peaks)-1]
	}
	s.peaks = append(s.peaks, int32(len(s.reads)))
	s.reads = append(s.reads, span{began, moment{e.Position, e.Time}})
	for _, id := range s.held.entered {
		s.notice(&s.elems[id])
	}
	s.held.entered = s.held.entered[:0]
}

// notice makes the element known by the first read that holds it.
func (s *setFull) notice(t *timeline) {
	if t.in && t.known.at == nowhere && t.add.invoked != nowhere && int(t.since) < len(s.reads) {
		t.known = s.reads[t.since].to
	}
}

// settle counts the reads from since on.
func (s *setFull) settle(t *timeline) {
	if t.add.invoked == nowhere {
		return
	}
	s.notice(t)
	i := sort.Search(len(s.peaks), func(i int) bool { return s.peaks[i] >= t.since })
	if i < len(s.peaks) {
		latest, so := s.peaks[i], &t.absent
		if t.in {
			so = &t.present
		}
		if *so == none || s.reads[*so].from.at < s.reads[latest].from.at {
			*so = latest
		}
	}
	t.since = int32(len(s.reads))
}

// reading is what a read changes; the read's number is len(reads).
type reading setFull

func (r *reading) enter(id int32) {
	s := (*setFull)(r)
	t := s.elem(id)
	s.settle(t)
	t.in = true
	s.held.entered = append(s.held.entered, id)
	if t.add.invoked == nowhere && !t.early {
		t.early = true
		if s.earlies++; s.earlies <= enough {
			s.early = append(s.early, sighting{id, int32(len(s.reads))})
		}
	}
}

func (r *reading) leave(id int32) {
	s := (*setFull)(r)
	t := s.elem(id)
	s.settle(t)
	t.in = false
}

func (r *reading) again(id int32) {
	s := (*setFull)(r)
	t := s.elem(id)
	if !t.repeated {
		t.repeated = true
		s.repeated = append(s.repeated, sighting{id, int32(len(s.reads))})
	}
}
