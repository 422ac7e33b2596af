// Package reason words what the checkers of objects say alike: of an object in
// many parts, and of a history that has nothing to judge. It is not for what one
// checker alone has to say.
package reason

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Others continues a reason about the first bad part with what became of the others:
// of so many, some are bad too, and some are undecided. It is "" where there are none.
func Others(bad, undecided, others int) string {
	switch {
	case others == 0:
		return ""
	case bad == 1:
		return fmt.Sprintf(", nor is 1 of %d others", others)
	case bad > 1:
		return fmt.Sprintf(", nor are %d of %d others", bad, others)
	case undecided > 0:
		return fmt.Sprintf(", and %d of %d others could not be decided", undecided, others)
	case others == 1:
		return ", and the other one is"
	}
	return fmt.Sprintf(", and the %d others are", others)
}

// Nothing is the reason of a history in which no operation of a model completed:
// whether clients tried one, what else they did, and which operations the model
// judges, nil for every one.
func Nothing(tried bool, did map[string]bool, judged []string) string {
	switch {
	case tried:
		return "history has no completed operation of those that this model judges: " + names(judged)
	case len(did) == 0:
		return "history has no client operation, and this model judges " + names(judged)
	}
	return "clients did " + names(slices.Sorted(maps.Keys(did))) + ", and this model judges only " + names(judged)
}

// names lists operations as a history spells them.
func names(fs []string) string {
	if fs == nil {
		return "every operation"
	}
	return ":" + strings.Join(fs, ", :")
}
