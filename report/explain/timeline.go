package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/history"
)

// bar is one operation of a witness on the time line.
type bar struct {
	process    string
	text       string
	begin, end int // columns; end is the number of columns where it never ended
	class      string
	positions  []int
}

// Width of a column: what the longest text of an operation needs, within bounds.
const (
	narrowest = 46.0
	widest    = 150.0
)

// timelineSVG draws the operations of a witness as bars over the order of events,
// a lane for each process, with the reasons below. Those that are blocked are
// red, those in doubt dashed.
func timelineSVG(a *checker.Anomaly) string {
	bars, columns := readBars(a)
	lanes := laneOf(bars)
	columnWidth := narrowest
	for _, b := range bars {
		need := charWidth*float64(len([]rune(b.text))) + 12
		columnWidth = max(columnWidth, min(need/float64(max(1, b.end-b.begin)), widest))
	}
	left := margin
	for process := range lanes {
		left = max(left, margin+charWidth*float64(len([]rune(process))+2))
	}
	d := &drawing{}
	d.width = left + columnWidth*float64(columns+1) + margin
	d.height = margin + float64(len(lanes))*2.4*lineHeight + margin
	for process, lane := range lanes {
		y := margin + float64(lane)*2.4*lineHeight
		d.text(margin/2, y+lineHeight+2, "quiet", process)
		d.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="lane"/>`, left, y+2*lineHeight, d.width-margin, y+2*lineHeight)
	}
	for _, b := range bars {
		y := margin + float64(lanes[b.process])*2.4*lineHeight
		x := left + columnWidth*float64(b.begin)
		w := max(columnWidth*float64(b.end-b.begin), columnWidth*0.8)
		d.box(x, y, w, 1.6*lineHeight, b.class, fmt.Sprintf("ops %v: %s", b.positions, b.text))
		d.text(x+5, y+lineHeight+2, "", fit(b.text, w))
	}
	d.note("note name", a.Name)
	d.note("note", a.Message)
	if a.State != "" {
		d.note("note", "State after the longest order that works: "+a.State)
	}
	for _, b := range a.Blocked {
		d.note("note", fmt.Sprintf("op %d cannot be next: %s", b.Index, b.Why))
	}
	d.height += margin
	return d.String()
}

func fit(s string, width float64) string {
	r := []rune(s)
	if n := int((width - 10) / charWidth); len(r) > n && n > 1 {
		return string(r[:n-1]) + "…"
	}
	return s
}

// readBars pairs the ops of a witness by process. Columns are the places of the
// ops among those of the witness.
func readBars(a *checker.Anomaly) (bars []bar, columns int) {
	blocked := make(map[int]bool)
	for _, b := range a.Blocked {
		blocked[b.Index] = true
	}
	open := make(map[string]int) // process → bar
	for column, r := range a.Witness {
		op, err := history.ParseValue(r.Op)
		if err != nil {
			continue
		}
		process, kind := field(op, "process"), field(op, "type")
		text := field(op, "f") + " " + field(op, "value")
		at, isOpen := open[process]
		if kind == ":invoke" || !isOpen {
			b := bar{process: process, text: text, begin: column, end: column, class: "box", positions: []int{r.Index}}
			if kind == ":invoke" {
				open[process] = len(bars)
				b.end, b.class = len(a.Witness), "doubt"
			}
			bars = append(bars, b)
			at = len(bars) - 1
		} else {
			delete(open, process)
			b := &bars[at]
			b.positions = append(b.positions, r.Index)
			if kind != ":info" {
				b.end, b.class = column, "box"
			}
			if kind == ":ok" {
				b.text = text
			}
			if kind == ":fail" {
				b.text += " failed"
			}
		}
		if blocked[r.Index] {
			bars[at].class = "bad"
		}
	}
	return bars, len(a.Witness)
}

func field(op history.Value, name string) string {
	v, _ := op.Field(name)
	return v.String()
}

// laneOf gives each process a lane, in the order of their first operation.
func laneOf(bars []bar) map[string]int {
	order := slices.Clone(bars)
	slices.SortStableFunc(order, func(x, y bar) int { return cmp.Compare(x.begin, y.begin) })
	lanes := make(map[string]int)
	for _, b := range order {
		if _, ok := lanes[b.process]; !ok {
			lanes[b.process] = len(lanes)
		}
	}
	return lanes
}
