package explain

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// drawing collects the elements of an SVG.
type drawing struct {
	width, height float64
	body          strings.Builder
}

const svgStyle = `text{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px;fill:#111827;paint-order:stroke;stroke:#ffffff;stroke-width:0}
.edge{stroke-width:4px}.name{font-weight:bold}.note{font-family:system-ui,sans-serif;font-size:13px}.quiet{fill:#6b7280}
.box{fill:#f9fafb;stroke:#374151}.bad{fill:#fee2e2;stroke:#b91c1c}.doubt{fill:#fef3c7;stroke:#b45309;stroke-dasharray:4 3}.lane{stroke:#e5e7eb}`

func (d *drawing) add(format string, args ...any) { fmt.Fprintf(&d.body, format+"\n", args...) }

// text puts one line with its left end at x and its base at y.
func (d *drawing) text(x, y float64, class, s string) {
	d.add(`<text x="%.1f" y="%.1f" class=%q>%s</text>`, x, y, class, escape(s))
}

func (d *drawing) box(x, y, w, h float64, class, title string) {
	d.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="5" class=%q><title>%s</title></rect>`, x, y, w, h, class, escape(title))
}

func (d *drawing) String() string {
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n<style>%s</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n%s</svg>\n",
		d.width, d.height, d.width, d.height, svgStyle, d.body.String())
}

// escape makes s safe in XML; what XML cannot hold becomes a replacement mark.
func escape(s string) string {
	var t strings.Builder
	_ = xml.EscapeText(&t, []byte(s)) // a Builder does not fail
	return t.String()
}

const (
	charWidth  = 7.3 // of the monospace text, roughly
	lineHeight = 16.0
	margin     = 20.0
	noteLength = 100 // characters in a line of prose
)

// note writes prose below what is drawn, broken into lines.
func (d *drawing) note(class, s string) {
	for _, line := range wrap(s, noteLength) {
		d.height += lineHeight + 2
		d.text(margin, d.height-margin+lineHeight/2, class, line)
		d.width = max(d.width, 2*margin+charWidth*float64(len([]rune(line))))
	}
}

func wrap(s string, length int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && len(line)+1+len(word) > length {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
