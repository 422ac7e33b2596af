package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
)

// Ender is what Processes may tell beside: how an incarnation ended, such as
// "exit status 0". ok is false while it is not known.
type Ender interface {
	Ended(node string, id devnet.Identity) (state string, ok bool)
}

// glance is how often an end is looked for whose time counts.
const glance = 5 * time.Millisecond

// lives are victims whose processes end and start anew.
type lives struct {
	net     Net
	victims []victim
	told    []bool            // the signal of tell was delivered
	fresh   []devnet.Identity // incarnation after revive
	forced  []bool            // took SIGKILL to end
}

func newLives(net Net, vs []victim) lives {
	return lives{net, vs, make([]bool, len(vs)), make([]devnet.Identity, len(vs)), make([]bool, len(vs))}
}

// tell sends all victims a signal to end. Of one that had ended before, its end is
// somebody else's work and not ours to claim.
func (l *lives) tell(sig syscall.Signal) error {
	var errs []error
	for i, v := range l.victims {
		err := devnet.Signal(v.id, sig)
		l.told[i] = err == nil
		if errors.Is(err, os.ErrProcessDone) {
			err = fmt.Errorf("%s: ended before it was told to", v)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// spared is whether the victim was never told and lives on, so that there is nothing
// to undo.
func (l *lives) spared(i int) bool {
	v := l.victims[i]
	if l.told[i] || !devnet.Alive(v.id) {
		return false
	}
	l.fresh[i] = v.id
	return true
}

// end waits that long for the end of a victim that was told to end, and then
// ends it.
func (l *lives) end(ctx context.Context, i int, grace time.Duration) error {
	v := l.victims[i]
	if outlives(ctx, v.id, grace) {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: has not ended: %w", v, context.Cause(ctx))
		}
		err := devnet.Signal(v.id, syscall.SIGKILL)
		if errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		if err != nil {
			return err
		}
		l.forced[i] = true
	}
	return await(ctx, look, func() (string, error) {
		if devnet.Alive(v.id) {
			return fmt.Sprintf("%s: still runs after SIGKILL", v), nil
		}
		return "", nil
	})
}

// revive sees to it that the node of a victim that has ended runs again.
func (l *lives) revive(ctx context.Context, i int) (err error) {
	l.fresh[i], err = revive(ctx, l.net, l.victims[i])
	return err
}

func revive(ctx context.Context, net Net, v victim) (id devnet.Identity, err error) {
	var up bool
	err = await(ctx, glance, func() (string, error) {
		id, up = net.Processes.Identity(v.node)
		if up && id == v.id {
			return fmt.Sprintf("%s: its end was not noticed", v), nil
		}
		return "", nil
	})
	if err != nil || up {
		return id, err
	}
	if id, err = net.Processes.Start(ctx, v.node); err != nil {
		return id, fmt.Errorf("node %q: start: %w", v.node, err)
	}
	return id, nil
}

// ready waits until every node votes again as the incarnation of revive, and
// adds what more says to the evidence.
func (l *lives) ready(ctx context.Context, more func(i int) []history.Value) (history.Value, error) {
	err := each(len(l.victims), func(i int) error {
		node := l.victims[i].node
		err := whileUp(ctx, l.net, node, func(ctx context.Context) error { return l.net.Processes.Ready(ctx, node) })
		if err != nil {
			return fmt.Errorf("node %q: not ready after its start: %w", node, err)
		}
		id, up := l.net.Processes.Identity(node)
		if !up || !devnet.Alive(id) || id != l.fresh[i] {
			return fmt.Errorf("node %q: process %s did not stay up", node, l.fresh[i])
		}
		return nil
	})
	if err != nil {
		return history.Value{}, err
	}
	var kvs []history.Value
	for i, v := range l.victims {
		seen := append(identity(l.fresh[i]),
			history.Keyword("was"), history.MapOf(identity(v.id)...),
			history.Keyword("ready"), history.Flag(true))
		if l.forced[i] {
			seen = append(seen, history.Keyword("forced"), history.Flag(true))
		}
		if more != nil {
			seen = append(seen, more(i)...)
		}
		kvs = append(kvs, history.Text(v.node), history.MapOf(seen...))
	}
	return history.MapOf(kvs...), nil
}

// noticeWait is how long a network may take to notice the end of a process.
const noticeWait = time.Second

// ended is how a victim ended, where the network tells.
func (l *lives) ended(ctx context.Context, i int) []history.Value {
	e, ok := l.net.Processes.(Ender)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, noticeWait)
	defer cancel()
	var state string
	err := await(ctx, glance, func() (string, error) {
		if state, ok = e.Ended(l.victims[i].node, l.victims[i].id); !ok {
			return "how it ended", nil
		}
		return "", nil
	})
	if err != nil {
		return nil // it has ended, that much was seen
	}
	return []history.Value{history.Keyword("exit"), history.Text(state)}
}

// restartingValue is the value of an application that ends processes, with its
// parameters.
func restartingValue(vs []victim, params ...history.Value) history.Value {
	return onNodes(vs, append(params, history.Keyword("restarts"), history.Flag(true))...)
}

// onNodes is the value of an application on nodes, with its parameters.
func onNodes(vs []victim, params ...history.Value) history.Value {
	return history.MapOf(append([]history.Value{history.Keyword("nodes"), history.Vec(texts(names(vs))...)}, params...)...)
}

// signalNames are the signals that end a process which does not handle them.
func signalNames() []string {
	return []string{"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGABRT", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGALRM", "SIGPIPE"}
}

// signalNamed is one of signalNames; SIGKILL for "".
func signalNamed(name string) syscall.Signal {
	return map[string]syscall.Signal{
		"": syscall.SIGKILL, "SIGKILL": syscall.SIGKILL, "SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT,
		"SIGHUP": syscall.SIGHUP, "SIGQUIT": syscall.SIGQUIT, "SIGABRT": syscall.SIGABRT, "SIGSEGV": syscall.SIGSEGV,
		"SIGBUS": syscall.SIGBUS, "SIGFPE": syscall.SIGFPE, "SIGILL": syscall.SIGILL, "SIGTRAP": syscall.SIGTRAP,
		"SIGALRM": syscall.SIGALRM, "SIGPIPE": syscall.SIGPIPE,
	}[name]
}
