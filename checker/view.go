package checker

import (
	"iter"

	"github.com/jepgo/jepgo/history"
)

// isCollection reports whether v is a list, vector or set.
func isCollection(v history.View) bool {
	return v.IsSequence() || v.Kind() == history.Set
}

// elements yields the elements of a list, vector or set; nothing for any other
// value.
func elements(v history.View) iter.Seq[history.View] {
	return func(yield func(history.View) bool) {
		if !isCollection(v) {
			return
		}
		elem, n := v, v.Len()
		for i := range n {
			if i == 0 {
				elem = v.First()
			} else {
				elem = elem.Next()
			}
			if !yield(elem) {
				return
			}
		}
	}
}

// entries yields the keys and values of a map; nothing for any other value.
func entries(v history.View) iter.Seq2[history.View, history.View] {
	return func(yield func(key, value history.View) bool) {
		if v.Kind() != history.Map {
			return
		}
		n := v.Len() / 2
		for i := range n {
			key := v.First()
			if i > 0 {
				key = v.Next()
			}
			v = key.Next()
			if !yield(key, v) {
				return
			}
		}
	}
}
