package nemesis

import (
	"context"
	"errors"
	"fmt"

	"github.com/jepgo/jepgo/devnet/cgroup"
	"github.com/jepgo/jepgo/devnet/link/emulator"
	"github.com/jepgo/jepgo/devnet/link/kernel"
)

// Mechanism is one way to break things, which works on some machines.
type Mechanism struct {
	Name string
	Also []string // other names that people know it by
	Doc  string   // one line
	// More says what it can and cannot do, and what becomes of it when jepgo dies.
	More string
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
		{
			Name: "signals", Also: []string{"kill -9", "pidfd"}, Doc: "kill, pause and the like, to processes of the same user", Probe: works,
			More: "A signal goes to the very incarnation that was meant, told by pid and start time, so that a stranger with the same pid is never hit. A stopped process is let go on by the guardian or jepgo heal; nodes end with jepgo.",
		},
		diskMechanism(),
		{
			Name: "link proxy", Doc: "TCP proxies between the nodes, no privileges", Probe: works,
			More: "Each direction of each pair has one, inside jepgo. It sees streams: it delays, slows, cuts, stalls, slices, breaks and falsifies them, and cannot lose a packet. What a node learns of another in another way than from jepgo goes past it. It ends with jepgo.",
		},
		{
			Name: "rpc proxy", Doc: "JSON-RPC proxies before the nodes, no privileges", Probe: works,
			More: "Clients find each node behind one, inside jepgo, which holds back, loses, refuses and falsifies requests and answers by rules. What jepgo itself asks a node goes past it. It ends with jepgo.",
		},
		{
			Name: "link emulator", Also: []string{"tap", "tun", "netns"}, Doc: "a network namespace for each node, frames switched by jepgo", Probe: emulator.Probe,
			More: "Single packets are lost, doubled, reordered and corrupted, by draws that follow from the seed. " + inSpaces + " Namespaces and devices have no names and vanish with jepgo.",
		},
		{
			Name: "link kernel", Also: []string{"nftables", "netem", "veth"}, Doc: "a network namespace for each node, packets carried and lost by the kernel", Probe: kernel.Probe,
			More: "Rules of nftables and HTB cut, lose, slow and break; the draws are the kernel's. netem is not used: it counts nothing that would prove what it did. " + inSpaces + " Everything vanishes with jepgo.",
		},
		{
			Name: "link direct", Also: []string{"loopback"}, Doc: "nothing between the nodes, no faults in the links", Probe: works,
			More: "Nodes dial each other on the loopback device. It is what the other links are measured against.",
		},
		helperMechanism(),
		groupMechanism(cgroup.CPU, "limit the processor time of single nodes"),
		groupMechanism(cgroup.Memory, "limit the memory of single nodes"),
		groupMechanism(cgroup.Freezer, "freeze single nodes"),
		groupMechanism(cgroup.IO, "limit the disk traffic of single nodes"),
		clockMechanism(),
	}
}

// inSpaces says where nodes live, of the embedded devnet or of a devnet file.
const inSpaces = "Whatever a node sends another goes over these links, and it reaches nothing else; RPC and metrics are found by forwarders, past the links. For a user who is not root, jepgo makes a user namespace for them."

// works is the Probe of what needs nothing.
func works() error { return nil }

// Sweep removes what dead owners left on this machine, by observation and
// without any ledger. It returns one line for each thing, and an error for what
// it could not remove.
func Sweep(ctx context.Context) (did []string, err error) { return sweep(ctx, Mechanisms()) }

func sweep(ctx context.Context, mechanisms []Mechanism) (did []string, err error) {
	var errs []error
	for _, m := range mechanisms {
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
