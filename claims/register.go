package claims

import (
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
	"github.com/jepgo/jepgo/checker/linear"
	"github.com/jepgo/jepgo/history"
)

// register claims that the chain orders the transactions of the workload of that
// name, and that what a node shows follows that order.
func register() claim {
	return claim{
		workload: "register",
		streams: func(p Profile, r *chain.Reader) []checker.Stream {
			out := []checker.Stream{r.Replay(), r.Session(), r.Staleness()}
			if p.FinalTag == latest {
				linearizable := linear.RegisterStream(linear.Options{Keyed: true})
				if p.OneNode {
					linearizable = localToo(linearizable)
				}
				out = append(out, linearizable)
			}
			return out
		},
		notClaimed: func(p Profile) []string {
			var out []string
			if !p.OneNode {
				out = append(out, "Local reads are not claimed to be linearizable: each node answers from its own height. Their staleness is measured.")
			}
			if p.FinalTag != latest {
				out = append(out, fmt.Sprintf("Transactions are not claimed to be linearizable: under the profile %s the head, which receipts come from, may reorganise.", p.Name))
			}
			return out
		},
	}
}

// localToo gives the local reads at latest to a checker of registers as well:
// where one node answers everybody, they are reads as good as transactions.
func localToo(s checker.Stream) checker.Stream { return &local{Stream: s} }

type local struct {
	checker.Stream
	event history.Event
}

func (l *local) Take(e *history.Event) {
	if e.F == "peek" {
		if tag, _ := e.Rest.Field("tag"); tag.Is(latest) {
			l.event = *e
			l.event.F = "read"
			e = &l.event
		}
	}
	l.Stream.Take(e)
}
