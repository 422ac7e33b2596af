package cgroup

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
)

// Leftovers lists the groups with our mark whose owner is gone. It goes by
// observation alone: it looks through every mounted hierarchy. Groups of owners
// in another pid namespace are not ours to judge. Cost: one walk over all control
// groups of the machine.
func Leftovers() ([]*Group, error) {
	groups, err := marked()
	var left []*Group
	for _, g := range groups {
		if g.Mark.orphaned() {
			left = append(left, g)
		}
	}
	return left, err
}

// Groups lists the groups of that owner and node, in every hierarchy.
func (m Mark) Groups() ([]*Group, error) {
	groups, err := marked()
	var own []*Group
	for _, g := range groups {
		if g.Mark.Owner == m.Owner && g.Mark.Node == m.Node && g.Mark.space == pidSpace() {
			own = append(own, g)
		}
	}
	return own, err
}

func marked() ([]*Group, error) {
	hs, err := hierarchies()
	if err != nil {
		return nil, err
	}
	var groups []*Group
	seen := make(map[string]bool)
	for _, h := range hs {
		err := filepath.WalkDir(h.mount, func(path string, d fs.DirEntry, err error) error {
			if err != nil { // removed while we look, or none of our business
				return nil
			}
			if !d.IsDir() {
				return nil
			}
			m, err := parseMark(d.Name())
			if err != nil {
				return nil
			}
			if !seen[path] {
				seen[path] = true
				groups = append(groups, &Group{"", h.version, path, m.homeOf(path), m})
			}
			return fs.SkipDir
		})
		if err != nil {
			return groups, err
		}
	}
	return groups, nil
}

// Sweep removes the Leftovers: it thaws them, takes their limits back, moves
// their processes back where they came from, and removes them. It returns those
// that are gone; an error says which are not.
func Sweep(ctx context.Context) ([]*Group, error) {
	left, err := Leftovers()
	errs := []error{err}
	var gone []*Group
	for _, g := range left {
		if err := g.Remove(ctx); err != nil {
			errs = append(errs, err)
			continue
		}
		gone = append(gone, g)
	}
	return gone, errors.Join(errs...)
}
