package nemesis

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/cgroup"
	"github.com/jepgo/jepgo/devnet/clock"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/load"
	"github.com/jepgo/jepgo/history"
)

// ownerArgs tell the owner what to do and where to stand still.
type ownerArgs struct {
	Ledger string
	Fault  string
	Step   string
	Target devnet.Identity // a process that outlives the owner; none: one that dies with it
	Guard  bool            // with a guardian
	Does   string          // of one that dies with the owner: see doesEnv
}

// Steps of a fault's life, between any two writes of the ledger and any two acts.
func ownerSteps() []string {
	return []string{"before add", "after add", "after apply", "after probe", "after undo", "before done", "after done"}
}

// ownerMain runs one fault through the real schedule and stands still at one
// step, to be killed there.
func ownerMain() {
	var args ownerArgs
	if err := json.Unmarshal([]byte(os.Getenv(argsEnv)), &args); err != nil {
		panic(err)
	}
	at := func(step string) {
		if step == args.Step {
			fmt.Println(step)
			time.Sleep(time.Hour) // until it is killed
		}
	}
	faults, err := Parse(args.Fault, reach(4))
	if err != nil {
		panic(err)
	}
	ledger, err := CreateLedger(args.Ledger)
	if err != nil {
		panic(err)
	}
	if args.Guard {
		if _, err := StartGuardian(args.Ledger, nil); err != nil {
			panic(err)
		}
	}
	net, victim := ownedNet(args)
	fmt.Printf("victim %d %d\n", victim.PID, victim.Start)
	start := time.Now()
	out, err := Run(context.Background(), Options{
		Net: net, Faults: []Fault{halting{faults[0], at}}, Interval: time.Millisecond,
		Rand: seeded(1), Ledger: ledger,
		Record: func(op history.Op) error {
			if _, measured := op.Value.Field("evidence"); measured && op.F == faults[0].Stop() {
				at("after done")
			}
			return nil
		},
		Now: func() int64 { return int64(time.Since(start)) },
	})
	fmt.Println("never stood still:", args.Step, out, err)
}

// ownedNet is a network of one or two nodes. Its links, and for kill its node,
// belong to this process.
func ownedNet(args ownerArgs) (Net, devnet.Identity) {
	switch {
	case args.Target.PID != 0:
		return Net{Nodes: []string{"n1"}, Processes: &lone{id: args.Target}}, args.Target
	case strings.HasPrefix(args.Fault, "rpc-"):
		return ownedRPC(), devnet.Identity{}
	case args.Fault != "partition:one" && args.Fault != "delay:10ms:n1":
		l := &lone{spawn: spawner(), does: args.Does}
		id, err := l.Start(context.Background(), "n1")
		if err != nil {
			panic(err)
		}
		return Net{Nodes: []string{"n1"}, Processes: l}, id
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go listenAndTalk(l)
	proxy, err := link.NewProxy(link.Options{
		Nodes: []string{"n1", "n2"}, Protocols: []string{"p2p"},
		Target: func(string, string) string { return l.Addr().String() },
	})
	if err != nil {
		panic(err)
	}
	for _, e := range proxy.Edges() {
		go func() {
			for {
				if conn, err := net.Dial("tcp", proxy.Addr(e, "p2p")); err == nil {
					talk(conn)
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}
	return Net{Nodes: []string{"n1", "n2"}, Links: proxy}, devnet.Identity{}
}

// lone has power over one process: one that exists, or one that it starts and
// that dies with this process.
type lone struct {
	id    devnet.Identity
	does  string
	spawn func(*exec.Cmd) error
	ended chan struct{}
}

func (l *lone) Identity(string) (devnet.Identity, bool) {
	select {
	case <-l.ended:
		return devnet.Identity{}, false
	default:
		return l.id, true
	}
}

func (l *lone) Start(context.Context, string) (devnet.Identity, error) {
	if l.spawn == nil {
		return devnet.Identity{}, errors.New("not ours")
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args[0] = os.Args[0]
	p2p, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return devnet.Identity{}, err
	}
	defer p2p.Close()
	file, err := p2p.(*net.TCPListener).File()
	if err != nil {
		return devnet.Identity{}, err
	}
	defer file.Close()
	cmd.ExtraFiles = []*os.File{file, file}
	cmd.Env = append(os.Environ(), roleEnv+"=node", argsEnv+"=[]", doesEnv+"="+l.does)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if _, err := cmd.StdinPipe(); err != nil {
		return devnet.Identity{}, err
	}
	if err := l.spawn(cmd); err != nil {
		return devnet.Identity{}, err
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	l.ended = ended
	l.id, err = devnet.Lookup(cmd.Process.Pid)
	return l.id, err
}

func (l *lone) Ready(ctx context.Context, _ string) error { return ctx.Err() }

// halting stands still around each act of a fault.
type halting struct {
	Fault
	at func(step string)
}

func (h halting) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	app, err := h.Fault.Plan(ctx, net, rng)
	return haltingApp{app, h.at}, err
}

type haltingApp struct {
	Application
	at func(step string)
}

func (h haltingApp) UndoSteps() []Step {
	h.at("before add")
	return h.Application.UndoSteps()
}

func (h haltingApp) Apply(ctx context.Context) error {
	h.at("after add")
	err := h.Application.Apply(ctx)
	if err == nil {
		h.at("after apply")
	}
	return err
}

func (h haltingApp) Probe(ctx context.Context) (history.Value, error) {
	v, err := h.Application.Probe(ctx)
	if err == nil {
		h.at("after probe")
	}
	return v, err
}

func (h haltingApp) Undo(ctx context.Context) error {
	err := h.Application.Undo(ctx)
	if err == nil {
		h.at("after undo")
	}
	return err
}

func (h haltingApp) VerifyUndone(ctx context.Context) (history.Value, error) {
	v, err := h.Application.VerifyUndone(ctx)
	if err == nil {
		h.at("before done")
	}
	return v, err
}

var everyStep = flag.Bool("steps", false, "kill the owner of every fault at every step, not only where something may be left")

// Which of ownerSteps the owner of a fault is killed at.
func every(string) bool { return true }

// inside leaves out the steps at which nothing can be left, for slow faults whose
// mechanism another fault holds at every step.
func inside(step string) bool {
	return step != "before add" && step != "before done" && step != "after done"
}

// turning is for what the kernel ends together with its owner: there is nothing
// of it for Heal to find, and what Heal reads on the ledger is held at every step
// by the other faults. What is left to see is that it does end when it was not
// begun, when it is in force and when it was undone.
func turning(step string) bool {
	return step == "after add" || step == "after probe" || step == "after undo"
}

// TestHealAfterOwnerKilled kills the owner of a ledger at the steps of every
// fault. While it lives Heal must refuse; afterwards Heal must leave nothing,
// and find nothing the second time.
func TestHealAfterOwnerKilled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault string
		does  string // of a target that outlives the owner; "": it dies with it
		dies  string // of one that dies with it
		at    func(step string) bool
	}{
		// What outlives its owner: the ledger alone says what to take back.
		{fault: "pause:all", does: "tick", at: every},
		{fault: "pause:all:freeze", does: "tick", at: inside},
		{fault: "throttle:all:5%", does: "burn", at: inside},
		{fault: "clock-bump:all:1h", does: "tick", at: inside},
		// Control groups as those of throttle, and helpers.
		{fault: "burn:all:20%", does: "tick", at: inside},
		{fault: "io-throttle:all:256KiB", does: "store", at: inside},
		{fault: "memory-cap:all", dies: "grow", at: inside},
		{fault: "memory-pressure:all", dies: "store", at: inside},
		// The owner's nodes and proxies, which end with it.
		{fault: "kill:all", at: turning},
		{fault: "stop:all", at: turning},
		{fault: "restart:all", at: turning},
		{fault: "storm:all:20ms", at: turning},
		{fault: "partition:one", at: turning},
		{fault: "delay:10ms:n1", at: turning},
		{fault: "rpc-drop:all:request:100%", at: turning},
	} {
		for i, step := range ownerSteps() {
			if !*everyStep && !c.at(step) {
				continue
			}
			t.Run(c.fault+" "+step, func(t *testing.T) {
				possibleHere(t, c.fault)
				t.Parallel()
				dir := t.TempDir()
				args := ownerArgs{Ledger: filepath.Join(dir, LedgerName), Fault: c.fault, Step: step, Does: c.dies}
				if c.does != "" {
					args.Target = loner(t, c.does)
				}
				victim, owner := standStill(t, args)

				// Heal takes its time to be sure of an owner, and refuses whatever is on
				// the ledger: one step for a fault shows that it harms nothing.
				if c.fault == "pause:all" || step == "after probe" {
					var alive *OwnerError
					if _, err := Heal(t.Context(), dir); !errors.As(err, &alive) || alive.Owner.PID != owner.Process.Pid {
						t.Fatalf("heal beside a living owner: %v", err)
					}
					if !strings.Contains(alive.Error(), fmt.Sprintf("pid %d", owner.Process.Pid)) {
						t.Errorf("error does not name the owner: %v", alive)
					}
				}
				inForce := step == "after apply" || step == "after probe"
				if c.fault == "pause:all" && inForce {
					wait(t, "the target to stop", func() bool { return stateOf(t, victim) == stopped })
				}
				if (strings.HasPrefix(c.fault, "pause:all:freeze") || strings.HasPrefix(c.fault, "throttle")) && inForce && inGroups(t, victim) == "" {
					t.Error("the target is in no control group")
				}

				owner.Process.Kill()
				// No Wait yet: a zombie of an owner is as dead as any.
				self, err := devnet.Lookup(owner.Process.Pid)
				if err != nil {
					t.Fatal(err)
				}
				wait(t, "the owner to die", func() bool { return !devnet.Alive(self) })
				report, err := Heal(t.Context(), dir)
				if err != nil {
					t.Fatal(err)
				}
				pending := 0 < i && i < len(ownerSteps())-1
				if got := len(report.Actions) > 0; got != pending {
					t.Errorf("actions: %v", report.Actions)
				}
				switch {
				case c.does != "":
					untouched(t, victim)
				case c.fault != "partition:one":
					if pending && devnet.Alive(victim) {
						t.Errorf("target %s survived its owner", victim)
					}
				}
				nothingLeft(t, self)
				if again, err := Heal(t.Context(), args.Ledger); err != nil || len(again.Actions) > 0 {
					t.Errorf("second heal: %v, %v", again.Actions, err)
				}
				if left, err := ReadPending(dir); err != nil || len(left) > 0 {
					t.Errorf("left on the ledger: %v, %v", left, err)
				}
			})
		}
	}
}

// possibleHere skips a fault that this machine cannot do.
func possibleHere(t *testing.T, fault string) {
	t.Helper()
	if _, err := Parse(fault, reach(4)); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: %v", err)
	}
}

// untouched holds that a process runs as if nothing had been done to it: neither
// stopped nor frozen, in no control group of ours, and with the right clock.
func untouched(t *testing.T, id devnet.Identity) {
	t.Helper()
	state, was, err := devnet.State(id)
	if err != nil || state == stopped || !devnet.Alive(id) {
		t.Errorf("process %s: state %c, %v", id, state, err)
	}
	if in := inGroups(t, id); in != "" {
		t.Errorf("process %s is in %s", id, in)
	}
	if clock.Probe() == nil {
		if _, missing, err := clean(victim{"", id}); missing != "" || err != nil {
			t.Errorf("process %s: its clock: %s, %v", id, missing, err)
		}
	}
	wait(t, "processor time", func() bool {
		_, ticks, err := devnet.State(id)
		return err != nil || ticks > was
	})
}

// inGroups are the control groups of ours that a process is in.
func inGroups(t *testing.T, id devnet.Identity) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", id.PID))
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "/jepgo:") {
			ours = append(ours, strings.TrimSpace(line))
		}
	}
	return strings.Join(ours, " ")
}

// nothingLeft holds, by observation, that an owner that is gone has left nothing.
func nothingLeft(t *testing.T, owner devnet.Identity) {
	t.Helper()
	groups, err := cgroup.Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if g.Mark.Owner == owner {
			t.Errorf("left %s", g.Path)
		}
	}
	helpers, err := load.Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range helpers {
		// What the kernel was told to kill may still be on its way out.
		wait(t, "helper "+id.String()+" to end", func() bool { return !devnet.Alive(id) })
	}
}

// standStill starts an owner and returns when it stands still at its step.
func standStill(t *testing.T, args ownerArgs) (victim devnet.Identity, owner *exec.Cmd) {
	t.Helper()
	return standStillAs(t, "owner", args)
}

// standStillAs is standStill for another kind of owner.
func standStillAs(t *testing.T, role string, args ownerArgs) (victim devnet.Identity, owner *exec.Cmd) {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	owner = exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), roleEnv+"="+role, argsEnv+"="+string(b))
	owner.Stderr = os.Stderr
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		owner.Process.Kill()
		owner.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		fmt.Sscanf(lines.Text(), "victim %d %d", &victim.PID, &victim.Start)
		if lines.Text() == args.Step {
			return victim, owner
		}
	}
	t.Fatalf("owner ended before %q", args.Step)
	return victim, owner
}
