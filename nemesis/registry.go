package nemesis

import (
	"fmt"
	"strings"
)

// Entry is one kind of fault in the registry.
type Entry struct {
	Name  string
	Doc   string   // one line
	Specs []string // what may follow the name and a colon: kill:one
	Start string   // :f of the ops that start it
	Stop  string   // :f of the ops that undo it
	Color string   // of its bands on plots, #rrggbb
	// New returns a fault; spec is the part after the colon, "" for the default.
	New func(spec string) (Fault, error)
}

// Registry lists the kinds of faults. To add a fault, add a file and a line.
func Registry() []Entry {
	return []Entry{
		{"partition", "cut links between nodes by a grudge, and heal them", grudgeNames(), partitionStart, partitionStop, "#E9A0E6", newPartition},
		{"kill", "SIGKILL nodes, and start them again on their old data", targetNames(), killStart, killStop, "#E9A4A0", newKill},
		{"pause", "SIGSTOP nodes, and let them go on", targetNames(), pauseStart, pauseStop, "#A0B1E9", newPause},
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
// optional spec after a colon ("partition:halves,kill:one,pause"); "all" for one
// of each kind; "none" for none, which returns an empty list.
func Parse(text string) ([]Fault, error) {
	if text == noFaults {
		return nil, nil
	}
	var faults []Fault
	for item := range strings.SplitSeq(text, ",") {
		fs, err := parseItem(item)
		if err != nil {
			return nil, err
		}
		faults = append(faults, fs...)
	}
	return faults, nil
}

func parseItem(item string) ([]Fault, error) {
	name, spec, colon := strings.Cut(item, ":")
	if item == noFaults {
		return nil, fmt.Errorf("nemesis %q: goes with no other", noFaults)
	}
	var faults []Fault
	for _, e := range Registry() {
		if name != e.Name && item != allFaults {
			continue
		}
		if colon && spec == "" {
			return nil, fmt.Errorf("nemesis %q: expected one of %s after the colon", item, list(e.Specs))
		}
		f, err := e.New(spec)
		if err != nil {
			return nil, fmt.Errorf("nemesis %q: %w", item, err)
		}
		faults = append(faults, f)
	}
	if len(faults) == 0 {
		return nil, fmt.Errorf("nemesis %q: unknown; expected %s, joined by commas", item, list(Names()))
	}
	return faults, nil
}

// Check returns why one of the faults cannot work on that many nodes; control is
// false when their processes and links are out of reach. It touches nothing.
func Check(faults []Fault, nodes int, control bool) error {
	for _, f := range faults {
		if err := f.Possible(nodes, control); err != nil {
			return err
		}
	}
	return nil
}
