package runner

import (
	"context"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/history"
)

// sampleInterval is how often the resources of each node's process are looked at.
const sampleInterval = 5 * time.Second

// watchResources records, as :sample ops, what each node's process holds: of a
// leak, which shows in hours, a run sees the slope.
func (t *test) watchResources(ctx context.Context) {
	processes := t.net.power("").Processes
	if processes == nil {
		return // out of reach
	}
	tick := time.NewTicker(sampleInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, n := range t.net.Nodes() {
			id, runs := processes.Identity(n.Name)
			if !runs {
				continue
			}
			held, err := devnet.Held(id)
			if err != nil {
				continue // it ended meanwhile
			}
			if err := t.journal.note("sample", history.MapOf(
				history.Keyword("node"), history.Text(n.Name),
				history.Keyword("process"), history.Text(id.String()),
				history.Keyword("rss-bytes"), history.Int(held.RSS),
				history.Keyword("fds"), history.Int(int64(held.FDs)),
				history.Keyword("threads"), history.Int(int64(held.Threads)))); err != nil {
				return
			}
		}
	}
}
