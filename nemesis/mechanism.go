package nemesis

import (
	"context"
	"errors"
	"fmt"

	"github.com/jepgo/jepgo/devnet/cgroup"
	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/emulator"
	"github.com/jepgo/jepgo/devnet/link/kernel"
)

// Mechanism is one way to break things, which works on some machines.
type Mechanism struct {
	Name string
	Doc  string // one line
	// Probe returns nil when it works here, else what is missing and how to get
	// it. It leaves no trace.
	Probe func() error
	// Leftovers finds, by observation, what the mechanism has in force although
	// its owner is gone; nil where everything ends with the owner.
	Leftovers func() ([]Leftover, error)
}

// Leftover is one thing that a dead jepgo left on this machine, told from
// everybody else's by our mark on it.
type Leftover struct {
	What   string
	Remove func(ctx context.Context) error // idempotent
}

// Mechanisms lists the ways to break things. A new one is a line here.
func Mechanisms() []Mechanism {
	return []Mechanism{
		{Name: "signals", Doc: "kill, pause and the like, to processes of the same user", Probe: func() error { return nil }},
		diskMechanism(),
		{Name: "link proxy", Doc: "TCP proxies between the nodes, no privileges", Probe: func() error { return nil }},
		{Name: "rpc proxy", Doc: "JSON-RPC proxies before the nodes, no privileges", Probe: func() error { return nil }},
		{Name: "link emulator", Doc: "a network namespace for each node, frames switched by jepgo", Probe: emulator.Probe},
		{Name: "link direct", Doc: "nothing between the nodes, no faults in the links", Probe: func() error { return nil }},
		{Name: "link kernel", Doc: "a network namespace for each node, packets carried and lost by the kernel", Probe: kernel.Probe},
		helperMechanism(),
		groupMechanism(cgroup.CPU, "limit the processor time of single nodes"),
		groupMechanism(cgroup.Memory, "limit the memory of single nodes"),
		groupMechanism(cgroup.Freezer, "freeze single nodes"),
		groupMechanism(cgroup.IO, "limit the disk traffic of single nodes"),
		clockMechanism(),
	}
}

// Sweep removes what dead owners left on this machine, by observation and
// without any ledger. It returns one line for each thing, and an error for what
// it could not remove.
func Sweep(ctx context.Context) (did []string, err error) {
	var errs []error
	for _, m := range Mechanisms() {
		if m.Leftovers == nil {
			continue
		}
		left, err := m.Leftovers()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.Name, err))
		}
		for _, l := range left {
			if err := l.Remove(ctx); err != nil {
				errs = append(errs, fmt.Errorf("%s: %s: %w", m.Name, l.What, err))
				continue
			}
			did = append(did, fmt.Sprintf("%s: %s: removed", m.Name, l.What))
		}
	}
	return did, errors.Join(errs...)
}

// LinkFeatures returns what the links of a mechanism will be able to do.
func LinkFeatures(mechanism string) ([]link.Support, error) {
	switch mechanism {
	case LinkProxy:
		return link.ProxyFeatures(), nil
	case LinkEmulator:
		return emulator.Features(), nil
	case LinkKernel:
		return kernel.Features(), nil
	case LinkDirect:
		return link.DirectFeatures(), nil
	}
	return nil, fmt.Errorf("links %q: unknown; expected one of %s", mechanism, list(LinkMechanisms()))
}

// The mechanisms of links, as --link takes them.
const (
	LinkProxy    = "proxy"
	LinkEmulator = "emulator"
	LinkKernel   = "kernel"
	LinkDirect   = "direct"
)

// LinkMechanisms lists them.
func LinkMechanisms() []string { return []string{LinkProxy, LinkEmulator, LinkKernel, LinkDirect} }

// ProbeLinks returns nil when links of that mechanism can be made here, else
// what is missing and how to get it.
func ProbeLinks(mechanism string) error {
	switch mechanism {
	case LinkEmulator:
		return emulator.Probe()
	case LinkKernel:
		return kernel.Probe()
	}
	return nil
}
