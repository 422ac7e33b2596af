package cli

import (
	"fmt"
	"strings"

	"github.com/jepgo/jepgo/judge"
)

// modelTable lists the models for the help.
func modelTable() string {
	var text strings.Builder
	for _, name := range judge.Models() {
		fmt.Fprintf(&text, "  %-21s %s\n", name, judge.Describe(name))
	}
	return text.String()
}

// columns lists names, several in a line.
func columns(names []string) string {
	const width = 78
	var text strings.Builder
	line := " "
	for _, name := range names {
		if len(line)+1+len(name) > width {
			text.WriteString(line + "\n")
			line = " "
		}
		line += " " + name
	}
	return text.String() + line + "\n"
}
