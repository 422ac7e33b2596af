package nemesis

import (
	"context"
	"fmt"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/link"
)

// Step is one undo as the ledger keeps it: enough for another process to take
// it back, or to see that it is gone, after this one died. Which fields count is
// the Kind's to say.
type Step struct {
	Kind   string          `json:"kind"`
	Node   string          `json:"node,omitempty"`
	Target devnet.Identity `json:"target,omitzero"`
	Edges  []link.Edge     `json:"edges,omitempty"`
	Path   string          `json:"path,omitempty"` // of a file, a directory, a mount
	Was    string          `json:"was,omitempty"`  // what Path held before, to be put back
}

// stepKind is how one kind of step is taken back by a process that did not
// apply it.
type stepKind struct {
	name string
	// takeBack undoes the step and says what it saw. It is idempotent, and an
	// error when the undoing could not be seen. ctx bounds it.
	takeBack func(ctx context.Context, s Step) (did string, err error)
	// afterBoot takes it back when the machine has started anew since; nil for
	// what ends with the machine.
	afterBoot func(ctx context.Context, s Step) (did string, err error)
}

// stepKinds lists the kinds of steps. A new kind is a line here, beside the
// fault that writes it.
func stepKinds() []stepKind {
	return []stepKind{
		{name: stepLinks, takeBack: takeBackLinks, afterBoot: takeBackLinks},
		{name: stepResume, takeBack: takeBackPause},
		{name: stepStart, takeBack: takeBackKill},
		{name: stepGroup, takeBack: takeBackGroup},
		{name: stepClock, takeBack: takeBackClock},
		{name: stepRPC, takeBack: takeBackRPC, afterBoot: takeBackRPC},
		{name: stepDisk, takeBack: takeBackDisk},
		{name: stepFiller, takeBack: takeBackFiller, afterBoot: takeBackFiller},
		{name: stepCopy, takeBack: takeBackCopy, afterBoot: takeBackCopy},
		{name: stepHelper, takeBack: takeBackHelper},
	}
}

// takeBack undoes one step whose owner is gone, and says what it saw.
func (s Step) takeBack(ctx context.Context, sameBoot bool) (did string, err error) {
	ctx, cancel := context.WithTimeout(ctx, healWait)
	defer cancel()
	for _, k := range stepKinds() {
		switch {
		case k.name != s.Kind:
			continue
		case sameBoot:
			return k.takeBack(ctx, s)
		case k.afterBoot != nil:
			return k.afterBoot(ctx, s)
		}
		return fmt.Sprintf("%s (process %s) ended when the machine did", s.Node, s.Target), nil
	}
	return "nothing", fmt.Errorf("ledger step %q: unknown, made by a newer jepgo", s.Kind)
}
