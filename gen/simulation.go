package gen

import (
	"bufio"
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
)

// journal writes ops as Jepsen does.
type journal struct {
	w     *bufio.Writer
	line  []byte
	index int64
	time  int64
	err   error
}

func (j *journal) begin(process int64, kind, f string) {
	j.time += 1000 + j.index%7*113
	j.line = append(j.line[:0], "{:index "...)
	j.line = strconv.AppendInt(j.line, j.index, 10)
	j.line = append(j.line, ", :time "...)
	j.line = strconv.AppendInt(j.line, j.time, 10)
	j.line = append(j.line, ", :type :"...)
	j.line = append(j.line, kind...)
	j.line = append(j.line, ", :process "...)
	j.line = strconv.AppendInt(j.line, process, 10)
	j.line = append(j.line, ", :f :"...)
	j.line = append(j.line, f...)
	j.line = append(j.line, ", :value "...)
	j.index++
}

func (j *journal) end() {
	j.line = append(j.line, '}', '\n')
	if _, err := j.w.Write(j.line); err != nil && j.err == nil {
		j.err = err
	}
}

// simulation is a run of clients against a system.
type simulation struct {
	o       *Options
	r       *rand.Rand
	out     *journal
	system  system
	planted []planted
	nextID  int64 // next process of a client that replaces a crashed one
}

// planted is a script on its way into the history.
type planted struct {
	at      int // operation before which its next line comes
	script  script
	next    int
	process int64
	key     int
}

const checkEvery = 4096

func (s *simulation) run(ctx context.Context) error {
	actors := make([]actor, s.o.Clients)
	for i := range actors {
		actors[i].slot, actors[i].process = i, int64(i)
	}
	s.nextID = int64(s.o.Clients)
	left, open := s.o.Ops, 0
	for steps := 0; left > 0 || open > 0; steps++ {
		if steps%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		a := &actors[s.r.IntN(len(actors))]
		switch a.phase {
		case idle:
			if left == 0 {
				continue
			}
			s.scripts(s.o.Ops - left)
			left--
			open++
			s.invoke(a)
		case invoked:
			if a.fate == fails || a.fate == vanishes || s.system.step(a) {
				a.phase = finished
			}
		case finished:
			s.complete(a)
			open--
		}
		if s.out.err != nil {
			return s.out.err
		}
	}
	s.scripts(s.o.Ops)
	if last, ok := s.system.(finisher); ok {
		s.finish(last, &actors[0])
	}
	return s.out.err
}

// finish does the last operations, one after the other. They end well.
func (s *simulation) finish(last finisher, a *actor) {
	a.fate, a.failed = fine, false
	for s.out.err == nil {
		if a.f = last.last(a); a.f == "" {
			return
		}
		s.out.begin(a.process, "invoke", a.f)
		s.out.line = s.system.value(s.out.line, a, false)
		s.out.end()
		for !s.system.step(a) {
		}
		s.complete(a)
	}
}

func (s *simulation) invoke(a *actor) {
	a.fate, a.failed = fine, false
	switch x := s.r.Float64(); {
	case x < s.o.Crash/2:
		a.fate = crashes
	case x < s.o.Crash:
		a.fate = vanishes
	case x < s.o.Crash+s.o.Fail:
		a.fate = fails
	}
	a.f = s.system.draw(a)
	s.out.begin(a.process, "invoke", a.f)
	s.out.line = s.system.value(s.out.line, a, false)
	s.out.end()
	a.phase = invoked
}

func (s *simulation) complete(a *actor) {
	kind := "ok"
	switch {
	case a.fate == crashes || a.fate == vanishes:
		kind = "info"
	case a.fate == fails || a.failed:
		kind = "fail"
	}
	s.out.begin(a.process, kind, a.f)
	s.out.line = s.system.value(s.out.line, a, kind == "ok")
	s.out.end()
	if kind == "ok" {
		s.system.ended(a)
	}
	if kind == "info" {
		a.process = s.nextID
		s.nextID++
	}
	a.phase = idle
}

// plant schedules a script somewhere in the middle of the history.
func (s *simulation) plant(script script) {
	// Processes and keys far from those of the clients, and of other scripts.
	const far = 1_000_000_000
	p := planted{script: script, process: int64(far + 1000*len(s.planted)), key: far + 1000*len(s.planted)}
	p.at = s.r.IntN(s.o.Ops + 1)
	s.planted = append(s.planted, p)
}

// scripts writes the lines of planted scripts that come before operation n. All
// that are left come at the end.
func (s *simulation) scripts(n int) {
	s.planted = slices.DeleteFunc(s.planted, func(p planted) bool { return p.next == len(p.script.lines) })
	for i := range s.planted {
		p := &s.planted[i]
		for p.next < len(p.script.lines) && (n >= p.at || n == s.o.Ops) {
			l := p.script.lines[p.next]
			p.next++
			s.out.begin(p.process+int64(l.process), l.kind, l.f)
			s.out.line = append(s.out.line, expand(l.value, p.key)...)
			s.out.end()
			p.at = n + 1 + s.r.IntN(3)
		}
	}
}
