package nemesis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/usage"
)

// Entry is one kind of fault in the registry.
type Entry struct {
	Name  string
	Doc   string   // one line
	Specs []string // what may follow the name and a colon: kill:one
	Start string   // :f of the ops that start it
	Stop  string   // :f of the ops that undo it
	Color string   // of its bands on plots, #rrggbb
	// Irreversible faults destroy what no undo brings back: only on demand, never
	// part of all.
	Irreversible bool
	// Lies says that the fault gives clients answers that no node gave, so that a
	// healthy network must be found invalid: only on demand, never part of all.
	Lies bool
	// ByName faults bite only by chance, depending on what a node happens to do:
	// on demand, not part of all.
	ByName bool
	// New returns a fault; spec is the part after the colon, "" for the default.
	New func(spec string) (Fault, error)
}

// Registry lists the kinds of faults. To add a fault, add a file with its entry
// and a line.
func Registry() []Entry {
	return []Entry{
		partitionEntry(),
		delayEntry(),
		jitterEntry(),
		lossEntry(),
		duplicateEntry(),
		reorderEntry(),
		corruptEntry(),
		bandwidthEntry(),
		stallEntry(),
		sliceEntry(),
		slowCloseEntry(),
		halfOpenEntry(),
		resetEntry(),
		disconnectEntry(),
		killEntry(),
		pauseEntry(),
		stopEntry(),
		restartEntry(),
		stormEntry(),
		throttleEntry(),
		isolateKillEntry(),
		brownoutEntry(),
		burnEntry(),
		memoryCapEntry(),
		memoryPressureEntry(),
		ioThrottleEntry(),
		configEntry(),
		peerEntry(),
		clockBumpEntry(),
		clockDriftEntry(),
		clockStrobeEntry(),
		clockResetEntry(),
		rpcDelayEntry(),
		rpcDropEntry(),
		rpcErrorEntry(),
		rpcStaleEntry(),
		rpcCorruptEntry(),
		diskErrorEntry(),
		diskFullEntry(),
		diskSlowEntry(),
		diskReadonlyEntry(),
		diskFlipEntry(),
		diskTornEntry(),
		diskFillEntry(),
		powerEntry(),
		fileTruncateEntry(),
		fileFlipEntry(),
		fileDeleteEntry(),
		wipeEntry(),
		rollbackEntry(),
	}
}

const (
	noFaults  = "none"
	allFaults = "all"
)

// Names lists what Parse takes, without the specs after a colon.
func Names() []string {
	names := []string{noFaults, allFaults}
	for _, e := range Registry() {
		names = append(names, e.Name)
	}
	return names
}

// Parse reads the value of --nemesis: faults joined by commas, each with an
// optional spec after a colon ("partition:halves,kill:one,pause"), an optional
// trigger after an @ and an optional length after a + ("kill:one@height=50+10s",
// see Triggers); "none" for none, which returns an empty list; "all" for one of
// each kind that is possible with that reach and can be undone. An error names
// the first that does not exist, or is not possible. Nothing is touched.
func Parse(text string, r Reach) ([]Fault, error) {
	if text == noFaults {
		return nil, nil
	}
	var faults []Fault
	for item := range strings.SplitSeq(text, ",") {
		if item == allFaults {
			all, err := everything(r)
			if err != nil {
				return nil, err
			}
			faults = append(faults, all...)
			continue
		}
		_, f, err := Lookup(item)
		if err != nil {
			return nil, err
		}
		if err := f.Possible(r); err != nil {
			return nil, err
		}
		if _, when, _ := timesOf(f); when != nil && when.kind == "after" && len(faults) == 0 {
			return nil, fmt.Errorf("nemesis %q: expected a fault before it in the list, from whose end it counts", item)
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// Asked lists the kinds that a value of --nemesis names, in its order and once
// each, without their specs and times; all stays all. It is what a run must have
// injected, while of the members of all some may find no time.
func Asked(text string) []string {
	var kinds []string
	for item := range strings.SplitSeq(text, ",") {
		if end := strings.IndexAny(item, ":@+"); end >= 0 {
			item = item[:end]
		}
		if item != noFaults && !slices.Contains(kinds, item) {
			kinds = append(kinds, item)
		}
	}
	return kinds
}

// Selections are the words that stand for faults in the value of --nemesis, each
// with what it means.
func Selections() map[string]string {
	var in, irreversible, lies, byName []string
	for _, e := range Registry() {
		at := &in
		switch {
		case e.Irreversible:
			at = &irreversible
		case e.Lies:
			at = &lies
		case e.ByName:
			at = &byName
		}
		*at = append(*at, e.Name)
	}
	return map[string]string{
		noFaults: "No fault: the network is left alone. It goes with no other.",
		allFaults: "One fault of each kind that is possible with these nodes, this --link and this machine (jepgo doctor says which), in rounds of random order: " +
			list(in) + ".\nLeft out, to be asked for by name: what destroys data for good (" + list(irreversible) + "), what gives clients answers that no node gave, so that the checkers must object (" +
			list(lies) + "), and what bites only by chance (" + list(byName) + ").\nOne of them for which a run finds no time is a warning, not a doubt.",
	}
}

// everything is one fault of each kind that is possible.
func everything(r Reach) ([]Fault, error) {
	var faults []Fault
	var last error
	for _, e := range Registry() {
		if e.Irreversible || e.Lies || e.ByName {
			continue
		}
		f, err := e.New("")
		if err != nil {
			return nil, fmt.Errorf("nemesis %q: %w", e.Name, err)
		}
		if err := f.Possible(r); err != nil {
			last = err
			continue
		}
		faults = append(faults, f)
	}
	if len(faults) == 0 {
		return nil, fmt.Errorf("nemesis %q: none is possible here: %w", allFaults, last)
	}
	return faults, nil
}

// Lookup reads one fault with its options and times and returns it with its
// entry.
func Lookup(item string) (Entry, Fault, error) {
	text, when, stay, err := cutTimes(item)
	if err != nil {
		return Entry{}, nil, fmt.Errorf("nemesis %q: %w", item, err)
	}
	name, spec, colon := strings.Cut(text, ":")
	switch {
	case item == noFaults:
		return Entry{}, nil, fmt.Errorf("nemesis %q: goes with no other", noFaults)
	case name == noFaults || name == allFaults:
		return Entry{}, nil, fmt.Errorf("nemesis %q: %s takes nothing after it", item, name)
	}
	for _, e := range Registry() {
		if name != e.Name {
			continue
		}
		if colon && spec == "" {
			return Entry{}, nil, fmt.Errorf("nemesis %q: expected after the colon %s", item, strings.Join(e.Specs, ", or "))
		}
		f, err := e.New(spec)
		if err != nil {
			return Entry{}, nil, fmt.Errorf("nemesis %q: %w", item, err)
		}
		if when != nil || stay != nil {
			f = timed{f, when, stay}
		}
		return e, f, nil
	}
	if item == "" {
		return Entry{}, nil, fmt.Errorf("nothing between two commas, or around one; expected %s, joined by commas", list(Names()))
	}
	return Entry{}, nil, fmt.Errorf("nemesis %q: unknown; %sexpected %s, joined by commas", item, usage.Meant(name, Names()), list(Names()))
}
