package linear

import (
	"fmt"
	"strings"
)

// count says how many there are of a thing, in the right number.
func count(n int, thing string) string { return fmt.Sprintf("%d %s", n, plural(n, thing, thing+"s")) }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func sayOp(position int) string { return fmt.Sprintf("op %d", position) }

// sayGood is the reason of a history in which all is as it should be.
func (c *columns) sayGood(facts int, what string) string {
	object := c.model.kind
	if c.options.Keyed {
		object = count(len(c.keys), strings.TrimPrefix(c.model.kind, "the "))
	}
	return fmt.Sprintf("%s on %s %s %s", count(facts, "operation"), object, plural(facts, "is", "are"), what)
}

// sayIdle is the reason why a history is valid in which no operation completed.
func (c *columns) sayIdle() string {
	if c.tried {
		return "no operation completed; Knossos calls that valid"
	}
	return "no client did anything, so no operation completed; Knossos calls that valid"
}
