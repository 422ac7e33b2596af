package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// event is what an Event says, off its tape.
type event struct {
	position int
	op       Op
}

// scanned is all that a Scan tells.
type scanned struct {
	events []event
	cut    *CutError
	err    error
}

// scanAll takes all events of s.
func scanAll(s *Scan) scanned {
	var got scanned
	got.err = s.Each(context.Background(), func(e *Event) error {
		got.events = append(got.events, event{e.Position, Op{Index: e.Index, Time: e.Time, Type: e.Type, Process: e.Process, F: e.F, Value: e.Value.Value()}})
		return nil
	})
	got.cut = s.Cut()
	return got
}

// differs says in what a Scan differs from what ReadAll read; "" when in nothing.
func (got *scanned) differs(h *History, err error) string {
	if got, want := fmt.Sprint(got.err), fmt.Sprint(err); got != want {
		return fmt.Sprintf("error is %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(got.cut), fmt.Sprint(h.Cut); got != want {
		return fmt.Sprintf("cut is %s, want %s", got, want)
	}
	for i, e := range got.events {
		if i >= len(h.Ops) {
			return fmt.Sprintf("op %d is too much: %s", i, e.op.String())
		}
		want := h.Ops[i]
		want.Error, want.Node, want.Tag, want.Extra = Value{}, "", "", nil
		if e.position != i || !sameOps(&e.op, &want) {
			return fmt.Sprintf("op %d at position %d is\n%#v, want\n%#v", i, e.position, e.op, want)
		}
	}
	if len(got.events) != len(h.Ops) {
		return fmt.Sprintf("%d ops, want %d", len(got.events), len(h.Ops))
	}
	return ""
}

// sameOps is equalOps with kinds of values told apart.
func sameOps(a, b *Op) bool { return equalOps(a, b) && a.String() == b.String() }

// checkScan compares a Scan of text with ReadAll, its Ops and its Head too.
func checkScan(text []byte, o ScanOptions) error {
	h, readErr := ReadAll(bytes.NewReader(text), EDN())
	s, err := NewScan(bytes.NewReader(text), o)
	if err != nil {
		return err
	}
	defer s.Close()
	head, err := s.Head(3)
	if len(head.Ops) != min(3, len(h.Ops)) || err != nil && len(h.Ops) >= 3 {
		return fmt.Errorf("head of %d ops, error %v; the history has %d", len(head.Ops), err, len(h.Ops))
	}
	for range 2 {
		got := scanAll(s)
		if diff := got.differs(h, readErr); diff != "" {
			return errors.New(diff)
		}
	}
	if s.Count() != len(h.Ops) {
		return fmt.Errorf("count is %d, want %d", s.Count(), len(h.Ops))
	}
	var positions []int
	for at := len(h.Ops) - 1; at >= 0; at -= 1 + at/7 {
		positions = append(positions, at, len(h.Ops)-1-at, at)
	}
	ops, err := s.Ops(positions)
	if err != nil {
		return err
	}
	for i, at := range positions {
		if !sameOps(&ops[i], &h.Ops[at]) {
			return fmt.Errorf("op at %d is\n%#v, want\n%#v", at, ops[i], h.Ops[at])
		}
	}
	return nil
}

func TestScanCorpus(t *testing.T) {
	dir := corpus(t)
	seen := make(map[string]bool)
	for _, row := range manifest(t, dir) {
		path := row["path"]
		if row["format"] != "jepsen-edn" || seen[path] {
			continue
		}
		seen[path] = true
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		if err := checkScan(text, ScanOptions{}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestScanOutside(t *testing.T) {
	s, err := NewScan(strings.NewReader("{:index 0}"), ScanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	scanAll(s)
	for _, at := range []int{-1, 1} {
		if _, err := s.Ops([]int{at}); err == nil || !strings.Contains(err.Error(), "outside the history of 1 ops") {
			t.Errorf("position %d: error %v", at, err)
		}
	}
}
