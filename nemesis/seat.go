package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/cgroup"
	"github.com/jepgo/jepgo/history"
)

// stepGroup takes back what is in force in the control group at Path, which was
// made for Node's process Target.
const stepGroup = "cgroup"

// seats are victims in control groups of theirs.
type seats struct {
	net     Net
	victims []victim
	groups  []*cgroup.Group
}

// seat says which groups the victims will sit in. Nothing is touched.
func seat(net Net, vs []victim, c cgroup.Controller) (seats, error) {
	s := seats{net: net, victims: vs}
	for _, v := range vs {
		m, err := cgroup.Mine(v.node)
		if err != nil {
			return s, err
		}
		g, err := cgroup.For(c, v.id, m)
		if err != nil {
			return s, fmt.Errorf("%s: %w", v, err)
		}
		s.groups = append(s.groups, g)
	}
	return s, nil
}

func (s *seats) steps() []Step {
	ss := steps(stepGroup, s.victims)
	for i := range ss {
		ss[i].Path = s.groups[i].Path
	}
	return ss
}

// enter moves the victims in and refuses where such a limit is in force already:
// two faults of one kind on one node could not be told apart when they are
// undone.
func (s *seats) enter() error {
	return each(len(s.victims), func(i int) error {
		g := s.groups[i]
		if g.Exists() {
			in, err := g.OwnInForce()
			if err != nil {
				return err
			}
			if len(in) > 0 {
				return fmt.Errorf("%s: another fault is in force in its control group: %s", s.victims[i], list(in))
			}
		}
		if err := g.Enter(s.victims[i].id); err != nil {
			return fmt.Errorf("%s: %w", s.victims[i], err)
		}
		return nil
	})
}

// Stands holds that each victim that lives is in its group, and a limit in force
// there.
func (s *seats) Stands() error {
	return each(len(s.victims), func(i int) error {
		v, g := s.victims[i], s.groups[i]
		if !devnet.Alive(v.id) {
			return nil
		}
		if !g.Exists() || !g.Has(v.id) {
			return fmt.Errorf("%s: somebody took it out of its control group %q", v, g.Path)
		}
		in, err := g.OwnInForce()
		if err == nil && len(in) == 0 {
			err = errors.New("somebody took the limit off")
		}
		if err != nil && devnet.Alive(v.id) {
			return fmt.Errorf("%s: control group %q: %w", v, g.Path, err)
		}
		return nil
	})
}

// lift takes the limits back.
func (s *seats) lift(ctx context.Context) error {
	return each(len(s.groups), func(i int) error { return s.groups[i].Lift(ctx) })
}

// lifted holds that no limit is left, and adds what more says to the evidence.
func (s *seats) lifted(more func(i int) ([]history.Value, error)) (history.Value, error) {
	var kvs []history.Value
	for i, v := range s.victims {
		g := s.groups[i]
		if err := g.Lifted(); err != nil {
			return history.Value{}, fmt.Errorf("%s: %w", v, err)
		}
		seen := append(identity(v.id), history.Keyword("group-gone"), history.Flag(!g.Exists()))
		seen = append(seen, s.fate(i)...)
		if more != nil {
			vs, err := more(i)
			if err != nil {
				return history.Value{}, err
			}
			seen = append(seen, vs...)
		}
		kvs = append(kvs, history.Text(v.node), history.MapOf(seen...))
	}
	return history.MapOf(kvs...), nil
}

// fate says of a victim that has ended whether a successor runs, for which the
// limit does not hold.
func (s *seats) fate(i int) []history.Value {
	v := s.victims[i]
	if devnet.Alive(v.id) {
		return nil
	}
	vs := []history.Value{history.Keyword("gone"), history.Flag(true)}
	if id, up := s.net.Processes.Identity(v.node); up && id != v.id {
		vs = append(vs, history.Keyword("successor"), history.MapOf(identity(id)...))
	}
	return vs
}

// used is the processor time of a victim so far, in clock ticks of 10 ms. The
// error says that it has ended.
func (v victim) used() (uint64, error) {
	_, ticks, err := devnet.State(v.id)
	if err == nil && !devnet.Alive(v.id) {
		err = os.ErrProcessDone
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", v, err)
	}
	return ticks, nil
}

func takeBackGroup(ctx context.Context, s Step) (string, error) {
	g, err := cgroup.Open(s.Path)
	if err != nil {
		return "nothing", err
	}
	v := victim{s.Node, s.Target}
	if !g.Exists() {
		return fmt.Sprintf("%s: its control group is gone", v), nil
	}
	if err := g.Remove(ctx); err != nil {
		return "nothing", fmt.Errorf("%s: %w", v, err)
	}
	return fmt.Sprintf("%s: its control group was taken back", v), nil
}

// groupsMissing is why a fault that needs a controller is not possible.
func groupsMissing(fault string, c cgroup.Controller) error {
	if err := cgroup.Probe(c); err != nil {
		return fmt.Errorf("nemesis %q: %w", fault, err)
	}
	return nil
}

// groupMechanism is one controller, for those who ask what this machine can.
func groupMechanism(c cgroup.Controller, doc string) Mechanism {
	m := Mechanism{
		Name: "cgroup " + string(c), Also: []string{"cgroup", "cgroups"}, Doc: doc, Probe: func() error { return cgroup.Probe(c) },
		More: "A control group of ours, version 2 or 1, for each node that is hit, as near to its own as the kernel's rules allow, and never outside a limit. It does not end by itself with jepgo: the guardian and jepgo heal take the limit back and remove the group, which they know by its name.",
	}
	if c == cgroup.CPU { // the groups of all controllers, once
		m.Leftovers = groupLeftovers
	}
	return m
}

func groupLeftovers() ([]Leftover, error) {
	groups, err := cgroup.Leftovers()
	var left []Leftover
	for _, g := range groups {
		left = append(left, Leftover{What: fmt.Sprintf("control group of node %q", g.Mark.Node), Remove: g.Remove})
	}
	return left, err
}
