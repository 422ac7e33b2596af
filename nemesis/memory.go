package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/cgroup"
	"github.com/jepgo/jepgo/history"
)

// squeezed are victims whose memory is limited, and who may be killed for it.
type squeezed struct {
	seats
	lives
	was []cgroup.MemoryCount // when they were seated
}

func squeeze(ctx context.Context, fault string, who targets, net Net, rng *rand.Rand) (squeezed, error) {
	vs, err := who.plan(ctx, fault, net, rng)
	if err != nil {
		return squeezed{}, err
	}
	s, err := seat(net, vs, cgroup.Memory)
	if err != nil {
		return squeezed{}, fmt.Errorf("nemesis %q: %w", fault, err)
	}
	return squeezed{s, newLives(net, vs), make([]cgroup.MemoryCount, len(vs))}, nil
}

// UndoSteps take the limit back first: they are taken from the last to the first.
func (s *squeezed) UndoSteps() []Step {
	return append(steps(stepStart, s.seats.victims), s.seats.steps()...)
}

func (s *squeezed) Apply(context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	return each(len(s.groups), func(i int) (err error) {
		s.was[i], err = s.groups[i].Memory()
		return err
	})
}

// killed reports whether a victim has ended, and by the OOM killer in its group.
// The error says that something else ended it.
func (s *squeezed) killed(i int) (bool, cgroup.MemoryCount, error) {
	v := s.seats.victims[i]
	alive := devnet.Alive(v.id) // first: the kernel counts before it kills
	now, err := s.groups[i].Memory()
	if err != nil {
		return false, now, fmt.Errorf("%s: %w", v, err)
	}
	if alive {
		return false, now, nil
	}
	if now.Kills == s.was[i].Kills {
		return false, now, fmt.Errorf("%s: ended, and not by the OOM killer of its control group", v)
	}
	return true, now, nil
}

// Undo takes the limits back before anybody starts.
func (s *squeezed) Undo(ctx context.Context) error {
	if err := s.lift(ctx); err != nil {
		return err
	}
	return each(len(s.groups), func(i int) error {
		if v := s.lives.victims[i]; devnet.Alive(v.id) {
			s.fresh[i] = v.id
			return nil
		}
		return s.revive(ctx, i)
	})
}

func (s *squeezed) VerifyUndone(ctx context.Context) (history.Value, error) {
	if _, err := s.lifted(nil); err != nil {
		return history.Value{}, err
	}
	return s.ready(ctx, func(i int) []history.Value {
		return []history.Value{history.Keyword("group-gone"), history.Flag(!s.groups[i].Exists())}
	})
}

const (
	capStart = "start-memory-cap"
	capStop  = "stop-memory-cap"
	// capStep is the share of the memory in use by which the limit goes down at a
	// time.
	capStep = 0.1
	// capFloor is the lowest limit: nothing lives with less.
	capFloor = 64 << 10
)

// capFault takes memory away from nodes until the OOM killer takes them.
type capFault struct{ targets targets }

func memoryCapEntry() Entry {
	return Entry{
		Name: "memory-cap", Doc: "lower the memory limit of nodes until the kernel's OOM killer takes them, and start them again",
		Specs: specs(new(targets).param()), Start: capStart, Stop: capStop, Color: "#B07AA1", New: newMemoryCap,
	}
}

func newMemoryCap(spec string) (Fault, error) {
	var f capFault
	err := parseSpec(spec, f.targets.param())
	return f, err
}

func (f capFault) Name() string { return "memory-cap" + f.targets.suffix() }
func (capFault) Start() string  { return capStart }
func (capFault) Stop() string   { return capStop }
func (capFault) Needs() Needs   { return Needs{Cgroups: true} }

func (f capFault) Explain() string {
	return "Lowers the memory limit of each node's control group step by step below what is in use, until the OOM killer takes the node in the midst of its work, and starts it again without the limit. " +
		"It bites when the kernel counts an OOM kill in the group and the very process that was named is gone. " +
		"It is undone when no limit is in force, and each node runs as a new process, answers RPC and has caught up with consensus. " +
		"Memory that a node had before it was put into the group is not counted, so a node that needs no more may outlive it, which is no evidence; on a machine with swap, version 1 of control groups swaps first. " +
		f.targets.explain()
}

func (f capFault) Possible(r Reach) error {
	if err := f.targets.possible(f.Name(), r); err != nil {
		return err
	}
	return groupsMissing(f.Name(), cgroup.Memory)
}

func (f capFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	s, err := squeeze(ctx, f.Name(), f.targets, net, rng)
	if err != nil {
		return nil, err
	}
	return &capping{s}, nil
}

// capping is one application of memory-cap.
type capping struct{ squeezed }

func (c *capping) Value() history.Value { return restartingValue(c.seats.victims) }

// Probe lowers the limits: how far is known only when the kill is seen.
func (c *capping) Probe(ctx context.Context) (history.Value, error) {
	seen := make([]history.Value, len(c.groups))
	err := each(len(c.groups), func(i int) error {
		v, g := c.seats.victims[i], c.groups[i]
		limit, steps := int64(0), int64(0)
		return await(ctx, look, func() (string, error) {
			dead, now, err := c.killed(i)
			if err != nil {
				return "", err
			}
			if dead {
				seen[i] = history.MapOf(append(identity(v.id),
					history.Keyword("gone"), history.Flag(true),
					history.Keyword("oom-kills"), history.Int(now.Kills-c.was[i].Kills),
					history.Keyword("limit-bytes"), history.Int(limit),
					history.Keyword("steps"), history.Int(steps),
					history.Keyword("hits"), history.Int(now.Limit-c.was[i].Limit))...)
				return "", nil
			}
			limit = max(int64(float64(now.Usage)*(1-capStep)), capFloor)
			steps++
			// Busy: more is in use than can be freed, and the limit stays as it was. The
			// next page is one too many.
			if err := g.SetMemory(limit); err != nil && !errors.Is(err, syscall.EBUSY) && !errors.Is(err, syscall.EINTR) {
				return "", fmt.Errorf("%s: %w", v, err)
			}
			return fmt.Sprintf("%s: lives on with %d bytes in its control group, after %d hits of the limit", v, now.Usage, now.Limit-c.was[i].Limit), nil
		})
	})
	if err != nil {
		return history.Value{}, err
	}
	return perNode(c.seats.victims, seen), nil
}

const (
	pressureStart = "start-memory-pressure"
	pressureStop  = "stop-memory-pressure"
	// pressureRoom is what is left to a node of its own size.
	pressureRoom = 0.1
	// pressureLeast is the least that is left: a kernel that can free nothing more
	// kills.
	pressureLeast = 1 << 20
	// pressureWait is how long a node may take to need what is left, before less is.
	pressureWait = 2 * time.Second
)

// pressureFault makes memory scarce for nodes.
type pressureFault struct {
	targets targets
	room    float64 // of the memory that it has; 0: pressureRoom
}

func memoryPressureEntry() Entry {
	return Entry{
		Name: "memory-pressure", Doc: "limit the memory of nodes just above what they use", Specs: specs(new(pressureFault).params()...),
		Start: pressureStart, Stop: pressureStop, ByName: true, Color: "#CBA6C3", New: newMemoryPressure,
	}
}

func (f *pressureFault) params() []param {
	return []param{f.targets.param(), percent(&f.room, "the room that is left, as a share of the memory that a node has, such as 10%")}
}

func newMemoryPressure(spec string) (Fault, error) {
	var f pressureFault
	err := parseSpec(spec, f.params()...)
	return f, err
}

func (f pressureFault) Name() string {
	name := "memory-pressure" + f.targets.suffix()
	if f.room > 0 {
		name += ":" + percentText(f.room)
	}
	return name
}

func (pressureFault) Start() string { return pressureStart }
func (pressureFault) Stop() string  { return pressureStop }
func (pressureFault) Needs() Needs  { return Needs{Cgroups: true} }

func (f pressureFault) asked() float64 {
	if f.room == 0 {
		return pressureRoom
	}
	return f.room
}

func (f pressureFault) Explain() string {
	return fmt.Sprintf("Limits each node's control group to what it uses and %s of the node's memory more, so that the kernel frees page cache and the node waits for it; less is left when that is not needed within %v. "+
		"It bites when the kernel counts that the limit was hit and had to free memory, or when the OOM killer took the node. Whether it does depends on what the node needs meanwhile, so it is not part of all. "+
		"It is undone when no limit is in force and the node runs, answers RPC and has caught up with consensus. "+
		"Version 1 of control groups kills a node that needs more than can be freed, which then starts again: that is another fault, memory-cap, and no evidence here. ", percentText(f.asked()), pressureWait) +
		f.targets.explain()
}

func (f pressureFault) Possible(r Reach) error {
	if err := f.targets.possible(f.Name(), r); err != nil {
		return err
	}
	return groupsMissing(f.Name(), cgroup.Memory)
}

func (f pressureFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	s, err := squeeze(ctx, f.Name(), f.targets, net, rng)
	if err != nil {
		return nil, err
	}
	return &pressing{s, f.asked(), make([]int64, len(s.groups)), make([]int64, len(s.groups))}, nil
}

// pressing is one application of memory-pressure.
type pressing struct {
	squeezed
	share float64
	rss   []int64 // of the node, when it was seated
	limit []int64 // in force
}

func (p *pressing) Value() history.Value {
	room := []history.Value{history.Keyword("room-share"), history.FloatOf(p.share)}
	if p.groups[0].Version == 1 { // there the limit may kill
		return restartingValue(p.seats.victims, room...)
	}
	return onNodes(p.seats.victims, room...)
}

func (p *pressing) Apply(ctx context.Context) error {
	if err := p.squeezed.Apply(ctx); err != nil {
		return err
	}
	return each(len(p.groups), func(i int) (err error) {
		if p.rss[i], err = cgroup.Resident(p.seats.victims[i].id); err != nil {
			return err
		}
		return p.press(i, p.was[i].Usage, int64(p.share*float64(p.rss[i])))
	})
}

func (p *pressing) press(i int, usage, room int64) error {
	p.limit[i] = usage + max(room, pressureLeast)
	err := p.groups[i].SetPressure(p.limit[i])
	if err != nil && !errors.Is(err, syscall.EBUSY) { // busy: it has grown meanwhile
		return fmt.Errorf("%s: %w", p.seats.victims[i], err)
	}
	return nil
}

func (p *pressing) Probe(ctx context.Context) (history.Value, error) {
	seen := make([]history.Value, len(p.groups))
	err := each(len(p.groups), func(i int) error {
		v := p.seats.victims[i]
		room, since := int64(p.share*float64(p.rss[i])), time.Now()
		return await(ctx, look, func() (string, error) {
			dead, now, err := p.killed(i)
			if err != nil {
				return "", err
			}
			if dead { // more pressure than it could bear
				seen[i] = history.MapOf(append(identity(v.id),
					history.Keyword("oom-killed"), history.Flag(true),
					history.Keyword("limit-bytes"), history.Int(p.limit[i]),
					history.Keyword("node-bytes"), history.Int(p.rss[i]))...)
				return "", nil
			}
			if hits := now.Limit - p.was[i].Limit; hits > 0 {
				seen[i] = history.MapOf(append(identity(v.id),
					history.Keyword("hits"), history.Int(hits),
					history.Keyword("limit-bytes"), history.Int(p.limit[i]),
					history.Keyword("group-bytes"), history.Int(now.Usage),
					history.Keyword("node-bytes"), history.Int(p.rss[i]))...)
				return "", nil
			}
			if time.Since(since) > pressureWait {
				room, since = room/2, time.Now()
				if err := p.press(i, now.Usage, room); err != nil {
					return "", err
				}
			}
			return fmt.Sprintf("%s: has not needed more than %d bytes", v, p.limit[i]), nil
		})
	})
	if err != nil {
		return history.Value{}, err
	}
	return perNode(p.seats.victims, seen), nil
}
