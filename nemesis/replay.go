package nemesis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jepgo/jepgo/history"
)

// ScheduleName is the schedule's file name in the directory of a run.
const ScheduleName = "schedule.json"

const scheduleVersion = 1

// Schedule is what the nemesis of a run did and when, as it happened. Together
// with the options that it names it is enough to repeat the faults: the same
// faults with the same parameters on the same targets, in the same order, each at
// its moment. What the network does meanwhile is its own.
type Schedule struct {
	Version  int           `json:"schedule"`
	Nemesis  string        `json:"nemesis"` // what was asked for, as --nemesis takes it
	Interval time.Duration `json:"interval_ns"`
	Quorum   Quorum        `json:"quorum"`
	Nodes    []string      `json:"nodes"`
	Faults   []*Scheduled  `json:"faults"` // in the order in which they were applied

	path string // where it was read from
}

// Scheduled is one application of a fault.
type Scheduled struct {
	Fault   string        `json:"fault"`             // with its spec and times: kill:one@height=50+10s
	Seed    [2]uint64     `json:"seed"`              // what its draws follow from
	Nodes   []string      `json:"nodes,omitempty"`   // the nodes that it was planned on, where it says so
	Targets string        `json:"targets,omitempty"` // all that was chosen, in EDN as in the history
	At      time.Duration `json:"at_ns"`             // its moment, since the main phase began
	Height  uint64        `json:"height,omitempty"`  // the highest head then, where it was asked for
	Ops     int64         `json:"ops,omitempty"`     // operations completed by then, where they are counted
	Stay    time.Duration `json:"stay_ns,omitempty"` // in force, from the evidence to the request to undo it
}

func newSchedule(o Options) *Schedule {
	s := &Schedule{
		Version: scheduleVersion, Interval: o.Interval, Quorum: o.Net.Quorum, Nodes: o.Net.Nodes,
		Faults: []*Scheduled{},
	}
	if s.Quorum == "" {
		s.Quorum = QuorumAny
	}
	if o.Replay != nil {
		s.Nemesis = o.Replay.Nemesis
		return s
	}
	var names []string
	for _, f := range o.Faults {
		names = append(names, f.Name())
	}
	s.Nemesis = strings.Join(names, ",")
	return s
}

// application starts the record of one more application.
func (it *item) application(m moment) *Scheduled {
	s := &Scheduled{Fault: it.name, At: m.at, Height: m.height, Ops: m.ops}
	if it.repeat != nil {
		s.Seed, s.Nodes = it.repeat.Seed, it.repeat.Nodes
	} else {
		s.Seed = [2]uint64{it.rand.Uint64(), it.rand.Uint64()}
	}
	return s
}

// note adds what was planned.
func (s *Scheduled) note(targets history.Value) {
	s.Nodes, s.Targets = nodesOf(targets), targets.String()
}

// same says why targets are not those of s.
func (s *Scheduled) same(targets history.Value) error {
	was, err := history.ParseValue(s.Targets)
	if err != nil {
		return fmt.Errorf("replay: targets %q: %w", s.Targets, err)
	}
	cut, _ := targets.Field("cut")
	wasCut, _ := was.Field("cut")
	if !slices.Equal(nodesOf(targets), nodesOf(was)) || cut.String() != wasCut.String() {
		return fmt.Errorf("replay: the targets came out as %s, but the run had %s", targets, was)
	}
	return nil
}

// Parse reads the faults that the schedule applied, one for each kind of
// application, and says why one cannot be repeated with that reach. Nothing is
// touched.
func (s *Schedule) Parse(r Reach) ([]Fault, error) {
	if r.Nodes != len(s.Nodes) {
		return nil, fmt.Errorf("%s: it is of %d nodes (%s), and there are %d", s.place(), len(s.Nodes), list(s.Nodes), r.Nodes)
	}
	var faults []Fault
	seen := make(map[string]bool)
	for i, at := range s.Faults {
		if seen[at.Fault] {
			continue
		}
		seen[at.Fault] = true
		_, f, err := Lookup(at.Fault)
		if err == nil {
			err = at.known(s.Nodes)
		}
		if err == nil {
			err = f.Possible(r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: fault %d of %d: %w", s.place(), i+1, len(s.Faults), err)
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// place names the schedule in an error.
func (s *Schedule) place() string {
	if s.path == "" {
		return "schedule"
	}
	return fmt.Sprintf("schedule %q", s.path)
}

// Replayed returns a run's options with what a replay takes from the schedule
// instead: the faults, the interval and the quorum.
func (s *Schedule) Replayed(o Options) Options {
	o.Replay, o.Faults, o.Interval, o.Net.Quorum = s, nil, s.Interval, s.Quorum
	return o
}

// items are the turns of a replay, each after the one before it.
func (s *Schedule) items() []*item {
	var items []*item
	for _, at := range s.Faults {
		it := &item{name: at.Fault, memory: &memory{}, repeat: at}
		_, f, err := Lookup(at.Fault)
		if err != nil {
			continue // not reached: Parse took it
		}
		var when *trigger
		it.fault, when, it.stay = timesOf(f)
		it.when = at.moment(when)
		if at.Stay > 0 && (it.stay == nil || it.stay.blocks == 0) {
			it.stay = &length{d: at.Stay}
		}
		items = append(items, it)
	}
	return items
}

// moment is the trigger that repeats s: the same number of operations, the same
// block, or the same time, whichever it was that s waited for.
func (s *Scheduled) moment(when *trigger) *trigger {
	if when != nil {
		switch when.kind {
		case "height", "op", "proposer":
			return when
		case "epoch", "after":
			return &trigger{kind: "height", n: s.Height}
		}
	}
	return &trigger{kind: "time", d: s.At}
}

// Encode renders the schedule as the JSON that DecodeSchedule reads.
func (s *Schedule) Encode() []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // a trigger may have > in it
	if e.Encode(s) != nil {
		return nil // not reached: nothing in a Schedule can fail to be encoded
	}
	return text.Bytes()
}

// write replaces the file as a whole, so that a reader, or a run that is cut
// off, never has half of it.
func (s *Schedule) write(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ScheduleName+".*")
	if err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	_, err = f.Write(s.Encode())
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("schedule %q: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// ReadSchedule reads a schedule from its file or the directory of its run.
func ReadSchedule(path string) (*Schedule, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, ScheduleName)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("schedule: %w", err)
	}
	s, err := DecodeSchedule(text)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w", path, err)
	}
	s.path = path
	return s, nil
}

// DecodeSchedule reads a schedule. It is strict: what it does not know is an
// error, and errors name the line and the column.
func DecodeSchedule(text []byte) (*Schedule, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	s := new(Schedule)
	if err := d.Decode(s); err != nil {
		at := d.InputOffset()
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
			at, err = int64(len(text)), errors.New("ends too early")
		case errors.As(err, &syntax):
			at = syntax.Offset
		case errors.As(err, &kind):
			at, err = kind.Offset, fmt.Errorf("%s; expected the schedule.json of a run", wrongKind(kind))
		default:
			if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
				// The decoder is at the end of the value by now.
				at, err = int64(bytes.Index(text, []byte(name+":"))+1), fmt.Errorf("field %s: unknown", name)
			}
		}
		return nil, fmt.Errorf("%s: %w", place(text, at), err)
	}
	if rest := bytes.TrimLeft(text[d.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, fmt.Errorf("%s: expected the end after the schedule", place(text, int64(len(text)-len(rest)+1)))
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", place(text, 1), err)
	}
	for i, at := range s.Faults {
		err := at.check()
		if err == nil {
			if err = at.known(s.Nodes); err != nil {
				err = fmt.Errorf("fault %d of %d, %q: %w", i+1, len(s.Faults), at.Fault, err)
			}
		}
		if err == nil && i > 0 && at.At < s.Faults[i-1].At {
			err = fmt.Errorf("at_ns %d: expected none below that of the fault before it", at.At)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", place(text, offsetOfFault(text, i)), err)
		}
	}
	return s, nil
}

// wrongKind says what a JSON value is that must be another.
func wrongKind(e *json.UnmarshalTypeError) string {
	if e.Field == "" {
		return "it is of kind " + e.Value
	}
	return fmt.Sprintf("field %q is of kind %s", e.Field, e.Value)
}

func (s *Schedule) check() error {
	switch {
	case s.Version != scheduleVersion:
		return fmt.Errorf("schedule %d: expected version %d", s.Version, scheduleVersion)
	case s.Interval <= 0:
		return fmt.Errorf("interval_ns %d: expected more than 0", s.Interval)
	case s.Quorum != QuorumAny && s.Quorum != QuorumSafe:
		return fmt.Errorf("quorum %q: expected %s or %s", s.Quorum, QuorumAny, QuorumSafe)
	case len(s.Nodes) == 0:
		return errors.New("nodes: expected at least one")
	}
	for i, name := range s.Nodes {
		if want := fmt.Sprintf("n%d", i+1); name != want {
			return fmt.Errorf("nodes: %q in place %d: expected %q: the nodes of a devnet are n1, n2 and so on", name, i+1, want)
		}
	}
	return nil
}

// known refuses the name of a node that there is not.
func (s *Scheduled) known(nodes []string) error {
	targets, err := history.ParseValue(s.Targets)
	if err != nil {
		return fmt.Errorf("targets %q: %w", s.Targets, err)
	}
	named := append(slices.Clone(s.Nodes), nodesOf(targets)...)
	cut, _ := targets.Field("cut")
	for i, v := range cut.Elems() { // {"n1" #{"n2"}}
		if i%2 == 0 {
			named = append(named, v.Text())
			continue
		}
		for _, from := range v.Elems() {
			named = append(named, from.Text())
		}
	}
	for _, name := range named {
		if !slices.Contains(nodes, name) {
			return fmt.Errorf("node %q: unknown; the nodes are %s", name, list(nodes))
		}
	}
	return nil
}

func (s *Scheduled) check() error {
	if s == nil {
		return errors.New("fault null: expected a fault")
	}
	if _, _, err := Lookup(s.Fault); err != nil {
		return err
	}
	if s.At < 0 || s.Stay < 0 || s.Ops < 0 {
		return fmt.Errorf("at_ns %d, stay_ns %d, ops %d: expected none below 0", s.At, s.Stay, s.Ops)
	}
	if _, err := history.ParseValue(s.Targets); err != nil {
		return fmt.Errorf("targets %q: %w", s.Targets, err)
	}
	return nil
}

// offsetOfFault finds an element of the list of faults in JSON that was decoded
// before.
func offsetOfFault(text []byte, i int) int64 {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return 0
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return 0
		}
		if key != "faults" {
			if d.Decode(new(json.RawMessage)) != nil {
				return 0
			}
			continue
		}
		if _, err := d.Token(); err != nil {
			return 0
		}
		for ; i > 0 && d.More(); i-- {
			if d.Decode(new(json.RawMessage)) != nil {
				return 0
			}
		}
		at := d.InputOffset()
		return at + int64(bytes.IndexByte(text[at:], '{')) + 1
	}
	return 0
}

// place is the line and column, from 1, of the byte before offset at.
func place(text []byte, at int64) string {
	before := text[:min(max(at-1, 0), int64(len(text)))]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Sprintf("line %d, column %d", line, len(before)-bytes.LastIndexByte(before, '\n'))
}
