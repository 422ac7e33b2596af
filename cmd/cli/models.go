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
		fmt.Fprintf(&text, "  %-15s %s\n", name, judge.Describe(name))
	}
	return text.String()
}
