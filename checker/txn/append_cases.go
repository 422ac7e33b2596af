package txn

import "fmt"

// maxShown is how many anomalies of a name are explained; all are counted.
const maxShown = 4

// cases collects anomalies that are no cycles, by name.
type cases struct {
	count map[string]int
	kept  map[string][]pointCase
	// beginnings counts the keys whose first elements nobody appended though nobody
	// saw the key without them, and beginningOf is the first of these keys.
	beginnings  int
	beginningOf int32
}

// pointCase is one such anomaly; what the fields mean depends on the name.
type pointCase struct {
	key, code, next int32
	a, b, c         int32 // transactions
	fewer           bool
}

// add counts an anomaly and returns what is to be filled in of it, nil when enough
// of its name are known. It is valid until the next add.
func (c *cases) add(name string) *pointCase {
	if c.count == nil {
		c.count = make(map[string]int)
		c.kept = make(map[string][]pointCase)
	}
	c.count[name]++
	if c.count[name] > maxShown {
		return nil
	}
	c.kept[name] = append(c.kept[name], pointCase{})
	return &c.kept[name][c.count[name]-1]
}

// show puts a case into words.
func (j *keyJudge) show(name string, c pointCase) shown {
	key, elem := j.name(c.key), ""
	if name != "internal" && name != "lost-update" && name != "incompatible-order" {
		elem = j.elem(c.code)
	}
	s := shown{name: name, txns: []int32{c.a}}
	switch name {
	case "G1a":
		s.txns = []int32{c.a, c.b}
		s.clauses = []string{
			fmt.Sprintf("T2 appended %s to key %s and failed", elem, key),
			fmt.Sprintf("T1 read a list of key %s that has %s in it", key, elem)}
		s.end = "What a transaction did that failed must not be seen."
	case "G1b":
		s.txns = []int32{c.a, c.b}
		s.clauses = []string{
			fmt.Sprintf("T2 appended %s to key %s, and then more", elem, key),
			fmt.Sprintf("T1 read a list of key %s that ends with %s", key, elem)}
		s.end = "A state in the middle of a transaction must not be seen by another one."
	case "internal":
		s.clauses = []string{fmt.Sprintf("a read of key %s in T1 is not what T1 itself had read and appended before makes it", key)}
		s.end = "A transaction must see what it did, and nothing new."
	case "future-read":
		s.clauses = []string{fmt.Sprintf("T1 read a list of key %s that has %s in it, and only then appended %s", key, elem, elem)}
		s.end = "A transaction must not see what it has yet to do."
	case "lost-update":
		s.txns = []int32{c.a, c.b}
		s.clauses = []string{
			fmt.Sprintf("T1 and T2 read the same list of key %s", key),
			"both of them then appended to it"}
		s.end = "One of them did not take into account what the other one did."
	case "dirty-update":
		s.txns, s.also = []int32{c.a, c.b}, []int32{c.c}
		s.clauses = []string{
			fmt.Sprintf("T1 appended %s to key %s and failed", elem, key),
			fmt.Sprintf("T2 appended %s to what T1 had left, and committed", j.elem(c.next))}
		s.end = "What a transaction did that failed must not be built upon."
	case "incompatible-order":
		s.txns = []int32{c.a, c.b}
		s.clauses = []string{fmt.Sprintf("the lists of key %s that T1 and T2 read are not one the beginning of the other", key)}
		s.end = "Elements are only ever appended."
		if c.fewer {
			s.clauses = []string{
				fmt.Sprintf("T1 appended %s and then %s to key %s", j.elem(c.code), j.elem(c.next), key),
				fmt.Sprintf("T2 read a list of key %s that has %s, but not %s before it", key, j.elem(c.next), j.elem(c.code))}
		}
	case "duplicate-elements":
		s.clauses = []string{fmt.Sprintf("T1 read a list of key %s that has %s in it more than once", key, elem)}
		s.end = "It was appended only once."
	case GarbageRead:
		s.clauses = []string{fmt.Sprintf("T1 read a list of key %s that has %s in it", key, elem)}
		s.end = fmt.Sprintf("Nobody in this history appended %s to key %s.", elem, key)
		if c.fewer {
			s.txns = append(s.txns, c.b)
			s.clauses = append(s.clauses, "T2 read a shorter list of that key, so that this is not from before the history")
		}
	}
	return s
}
