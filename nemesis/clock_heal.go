package nemesis

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/clock"
)

// stepClock restores the vDSO of Target, and of whatever else process Was, the
// owner, has set off: a target that came back meanwhile.
const stepClock = "clock"

// takeBackClock restores the target, and what else the owner of the step set off.
func takeBackClock(_ context.Context, s Step) (string, error) {
	v := victim{s.Node, s.Target}
	did := fmt.Sprintf("%s: its clock is right", v)
	if err := clock.Restore(v.id); errors.Is(err, os.ErrProcessDone) {
		did = fmt.Sprintf("%s is gone", v)
	} else if err != nil {
		return "nothing", fmt.Errorf("%s: %w", v, err)
	}
	found, err := clock.Sweep()
	errs := []error{err}
	for _, p := range found {
		if p.Owner.String() != s.Was {
			continue
		}
		if err := clock.Restore(p.Target); err != nil && !errors.Is(err, os.ErrProcessDone) {
			errs = append(errs, err)
			continue
		}
		did += fmt.Sprintf(", and that of process %s", p.Target)
	}
	return did, errors.Join(errs...)
}

// clockMechanism is for doctor and for the sweep.
func clockMechanism() Mechanism {
	return Mechanism{
		Name: "clock", Also: []string{"vdso", "vdso clock"}, Doc: "the real-time clock of one process, through its vDSO, by ptrace",
		More:  "The page of code that the kernel gives the process to read the time is patched, in that process alone. The host's clock and everybody else's stay. Raw system calls, armed timers and file times are not moved. The patch has a lease: without jepgo it is without effect within about two seconds.",
		Probe: clock.Probe,
		Leftovers: func() ([]Leftover, error) {
			if clock.Probe() != nil {
				return nil, nil // nobody could have set one off
			}
			found, err := clock.Sweep()
			var left []Leftover
			for _, p := range found {
				if devnet.Alive(p.Owner) {
					continue
				}
				left = append(left, Leftover{
					What: fmt.Sprintf("process %s: a hook in its vDSO", p.Target),
					Remove: func(context.Context) error {
						if err := clock.Restore(p.Target); !errors.Is(err, os.ErrProcessDone) {
							return err
						}
						return nil
					},
				})
			}
			return left, err
		},
	}
}
