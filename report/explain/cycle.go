package explain

import (
	"fmt"
	"math"

	"github.com/jepgo/jepgo/checker"
)

// placed is a box with its middle and size.
type placed struct {
	box
	x, y, w, h float64
}

// cycleSVG draws a cycle of transactions as boxes on an ellipse, in the order of
// the steps, clockwise from the top, with what each step means below.
func cycleSVG(a *checker.Anomaly) string {
	all := place(boxes(a))
	d := &drawing{}
	for _, b := range all {
		d.width = max(d.width, b.x+b.w/2+margin)
		d.height = max(d.height, b.y+b.h/2+margin)
	}
	markers(d, a)
	at := make(map[int]placed)
	for _, b := range all {
		at[b.position] = b
	}
	cx, cy := middle(all)
	for _, s := range a.Steps {
		arrow(d, at[s.From], at[s.To], s, cx, cy)
	}
	for _, b := range all {
		d.box(b.x-b.w/2, b.y-b.h/2, b.w, b.h, "box", fmt.Sprintf("op %d", b.position))
		top := b.y - b.h/2 + lineHeight
		d.text(b.x-b.w/2+8, top, "name", fmt.Sprintf("%s  op %d", b.name, b.position))
		for i, line := range b.lines {
			d.text(b.x-b.w/2+8, top+lineHeight*float64(i+1), "", line)
		}
	}
	d.height += lineHeight
	d.note("note name", a.Name)
	names := nameSteps(a)
	for _, s := range a.Steps {
		d.note("note", fmt.Sprintf("%s before %s (%s): %s", names[s.From], names[s.To], s.Rel, s.Why))
	}
	d.height += margin
	return d.String()
}

// place puts the boxes on an ellipse that is wide enough for them.
func place(list []box) []placed {
	all := make([]placed, len(list))
	widest, highest := 0.0, 0.0
	for i, b := range list {
		chars := len(b.name) + 12
		for _, line := range b.lines {
			chars = max(chars, len([]rune(line)))
		}
		all[i] = placed{box: b, w: charWidth*float64(chars) + 16, h: lineHeight*float64(len(b.lines)+1) + 14}
		widest, highest = max(widest, all[i].w), max(highest, all[i].h)
	}
	n := float64(len(list))
	rx := max(widest*0.75, widest*n/5) + 40
	ry := max(highest*0.9, highest*n/5) + 50
	for i := range all {
		angle := 2*math.Pi*float64(i)/n - math.Pi/2
		all[i].x = margin + widest/2 + rx*(1+math.Cos(angle))
		all[i].y = margin + highest/2 + ry*(1+math.Sin(angle))
	}
	return all
}

func middle(all []placed) (x, y float64) {
	for _, b := range all {
		x, y = x+b.x/float64(len(all)), y+b.y/float64(len(all))
	}
	return x, y
}

// markers defines an arrow head for each colour that occurs.
func markers(d *drawing, a *checker.Anomaly) {
	done := make(map[string]bool)
	for _, s := range a.Steps {
		c := colour(s.Rel)
		if done[c] {
			continue
		}
		done[c] = true
		d.add(`<marker id="m%s" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L10 5L0 10z" fill=%q/></marker>`, c[1:], c)
	}
}

// arrow draws a step as a curve that bends away from the middle, from edge to
// edge of the two boxes.
func arrow(d *drawing, from, to placed, s checker.Step, cx, cy float64) {
	mx, my := (from.x+to.x)/2, (from.y+to.y)/2
	// A bend across the line between the boxes keeps T1 -> T2 and T2 -> T1 apart.
	dx, dy := to.x-from.x, to.y-from.y
	length := math.Hypot(dx, dy)
	if length == 0 {
		return
	}
	bend := 0.22 * length
	qx, qy := mx+bend*dy/length, my-bend*dx/length
	if math.Hypot(qx-cx, qy-cy) < math.Hypot(mx-cx, my-cy) {
		qx, qy = mx-bend*dy/length, my+bend*dx/length
	}
	if math.Hypot(mx-cx, my-cy) < 1 { // two boxes: the middle is on the line
		qx, qy = mx+bend*dy/length, my-bend*dx/length
	}
	x1, y1 := rim(from, qx, qy)
	x2, y2 := rim(to, qx, qy)
	c := colour(s.Rel)
	d.add(`<path d="M%.1f %.1fQ%.1f %.1f %.1f %.1f" fill="none" stroke=%q stroke-width="1.6" marker-end="url(#m%s)"><title>%s</title></path>`,
		x1, y1, qx, qy, x2, y2, c, c[1:], escape(s.Why))
	d.add(`<text x="%.1f" y="%.1f" text-anchor="middle" class="edge" style="fill:%s">%s</text>`, (x1+2*qx+x2)/4, (y1+2*qy+y2)/4-4, c, escape(s.Rel))
}

// rim is the point of a box's border on the way from its middle to (x, y).
func rim(b placed, x, y float64) (float64, float64) {
	dx, dy := x-b.x, y-b.y
	scale := math.Inf(1)
	if dx != 0 {
		scale = math.Abs((b.w/2 + 3) / dx)
	}
	if dy != 0 {
		scale = min(scale, math.Abs((b.h/2+3)/dy))
	}
	if math.IsInf(scale, 1) || scale > 1 {
		return b.x, b.y
	}
	return b.x + dx*scale, b.y + dy*scale
}
