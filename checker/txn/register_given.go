package txn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/jepgo/jepgo/history"
)

// Written is one write in the order in which a store made them.
type Written struct{ Key, Value history.Value }

// ReadOrder reads in which order a store committed what it was given, for the
// options of RWRegister. The file is one of:
//
//   - an EDN map from the :index of a transaction's completion to its place in the
//     order, {0 2, 1 1}, as Elle's :transaction-order: it becomes Order
//   - the write-ahead log of ArangoDB, one JSON object a line: data._key is the key,
//     data.rwAttr the value that was written. Lines without these are of other
//     kinds. It becomes Versions
//
// It takes the whole file into memory.
func (o *Options) ReadOrder(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("version order: %w", err)
	}
	if first := bytes.TrimSpace(text); len(first) > 1 && first[0] == '{' && bytes.HasPrefix(bytes.TrimSpace(first[1:]), []byte{'"'}) {
		o.Versions, err = readLog(text)
	} else {
		o.Order, err = readPlaces(text)
	}
	if err != nil {
		return fmt.Errorf("version order %q: %w", path, err)
	}
	return nil
}

func readPlaces(text []byte) (map[int]int, error) {
	form, err := history.ParseValue(string(text))
	if err != nil {
		return nil, err
	}
	if form.Kind() != history.Map {
		return nil, errors.New("text is neither an EDN map from index to place, such as {0 2, 1 1}, nor a log of JSON objects")
	}
	order := make(map[int]int)
	kvs := form.Elems()
	for i := 0; i+1 < len(kvs); i += 2 {
		index, ok := kvs[i].Int()
		place, ok2 := kvs[i+1].Int()
		if !ok || !ok2 {
			return nil, fmt.Errorf("entry %s %s is not an index and a place", kvs[i], kvs[i+1])
		}
		order[int(index)] = int(place)
	}
	return order, nil
}

func readLog(text []byte) ([]Written, error) {
	type entry struct {
		Data struct {
			Key   *string         `json:"_key"`
			Value json.RawMessage `json:"rwAttr"`
		} `json:"data"`
	}
	var log []Written
	for n, line := range bytes.Split(text, []byte{'\n'}) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		if e.Data.Key == nil || e.Data.Value == nil {
			continue
		}
		var value history.Value
		if n, err := strconv.ParseInt(string(e.Data.Value), 10, 64); err == nil {
			value = history.Int(n)
		} else {
			var s string
			if err := json.Unmarshal(e.Data.Value, &s); err != nil {
				return nil, fmt.Errorf("line %d: value %s is neither an integer nor a string", n+1, e.Data.Value)
			}
			value = history.Text(s)
		}
		log = append(log, Written{history.Text(*e.Data.Key), value})
	}
	return log, nil
}

// givenOrder returns the versions of each key in the order that the options give,
// nil when they give none; places is, by transaction, its place in Order.
func (r *registers) givenOrder(o Options, places map[int32]int) func(key int32) []int32 {
	if o.Versions != nil {
		lists := r.logged(o.Versions)
		return func(key int32) []int32 { return lists[key] }
	}
	if o.Order == nil {
		return nil
	}
	return func(key int32) []int32 {
		var wrote []touch
		for _, t := range r.touches(key) {
			if _, placed := places[t.txn]; placed && t.wrote != noVersion {
				wrote = append(wrote, t)
			}
		}
		slices.SortStableFunc(wrote, func(a, b touch) int { return places[a.txn] - places[b.txn] })
		versions := make([]int32, len(wrote))
		for i, t := range wrote {
			versions[i] = t.wrote
		}
		return versions
	}
}

// logged finds the versions of a log, by key. A log has every key as a string: "7"
// is the key 7 of the history where that has no key "7".
func (r *registers) logged(log []Written) map[int32][]int32 {
	keys := make(map[string]int32)
	for k := range int32(r.keys.len()) {
		keys[r.keys.value(k).Key()] = k
	}
	versions := make(map[pairKey]int32, len(r.key))
	for v := range int32(len(r.key)) {
		versions[pairKey{r.key[v], r.value(v).Key()}] = v
	}
	lists := make(map[int32][]int32)
	listed := make([]bool, len(r.key))
	for _, w := range log {
		key, ok := keys[w.Key.Key()]
		if n, err := strconv.ParseInt(w.Key.Text(), 10, 64); !ok && err == nil {
			key, ok = keys[history.Int(n).Key()]
		}
		if !ok {
			continue
		}
		if v, ok := versions[pairKey{key, w.Value.Key()}]; ok && !listed[v] {
			listed[v] = true
			lists[key] = append(lists[key], v)
		}
	}
	return lists
}

// loggedAt returns what tells whether a version that nobody wrote has its place in a
// log: then its write is missing from the history, not before it.
func (r *registers) loggedAt(log []Written, given func(key int32) []int32) func(v int32) bool {
	listed := make(map[int32]bool)
	if log != nil {
		seen := make(map[int32]bool)
		for _, v := range r.garbage {
			if key := r.key[v]; !seen[key] {
				seen[key] = true
				for _, v := range given(key) {
					listed[v] = true
				}
			}
		}
	}
	return func(v int32) bool { return listed[v] }
}

type pairKey struct {
	key   int32
	value string
}
