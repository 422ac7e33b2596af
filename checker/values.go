package checker

import "github.com/jepgo/jepgo/history"

// Values numbers values so that checkers compare small integers: equal values
// get one number, and nil is 0. The zero Values is ready for use, by one
// goroutine.
type Values struct {
	ints map[int64]int32 // a short cut past Key for what nearly all values are
	keys map[string]int32
	list []history.Value
}

// Number returns the number of v.
func (vs *Values) Number(v history.Value) int32 {
	if v.IsNil() {
		return 0
	}
	n, isInt := v.Int()
	if isInt {
		if id, ok := vs.ints[n]; ok {
			return id
		}
	}
	if vs.keys == nil {
		vs.keys = make(map[string]int32)
		vs.ints = make(map[int64]int32)
		vs.list = append(vs.list, history.Value{})
	}
	key := v.Key()
	id, ok := vs.keys[key]
	if !ok {
		id = int32(len(vs.list))
		vs.keys[key] = id
		vs.list = append(vs.list, v)
	}
	if isInt {
		vs.ints[n] = id
	}
	return id
}

// Value returns the value of a number that Number returned.
func (vs *Values) Value(id int32) history.Value {
	if id <= 0 || int(id) >= len(vs.list) {
		return history.Value{}
	}
	return vs.list[id]
}

// Len is how many numbers are in use, nil's included.
func (vs *Values) Len() int { return max(1, len(vs.list)) }
