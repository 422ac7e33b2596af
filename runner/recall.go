package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jepgo/jepgo/nemesis"
	"github.com/jepgo/jepgo/store"
	"github.com/jepgo/jepgo/usage"
)

// Recall fills the options with those of an earlier run, so that a test with
// them repeats it: the same load from the same seed, and the faults as they
// happened then, each at its moment. dir is the directory of the run. Where the
// new run is stored and what it prints stays as it was.
func Recall(dir string, o *Options) error {
	text, err := os.ReadFile(filepath.Join(dir, store.TestFile))
	if err != nil {
		return usage.Errorf("--replay %q: want the directory of a run, such as store/latest: %w", dir, err)
	}
	var was testRecord
	if err := json.Unmarshal(text, &was); err != nil {
		return usage.Errorf("--replay: %s: %w", filepath.Join(dir, store.TestFile), err)
	}
	if was.Attached {
		return usage.Errorf("--replay %q: that run was on a network that jepgo did not start, so there is nothing to repeat it on", dir)
	}
	o.Replay, err = nemesis.ReadSchedule(filepath.Join(dir, nemesis.ScheduleName))
	if err != nil {
		return usage.Errorf("--replay: %w", err)
	}
	for _, d := range []struct {
		text string
		at   *time.Duration
	}{{was.Time, &o.Time}, {was.OpTimeout, &o.OpTimeout}} {
		if *d.at, err = time.ParseDuration(d.text); err != nil {
			return usage.Errorf("--replay: %s: %w", filepath.Join(dir, store.TestFile), err)
		}
	}
	o.Workloads, o.Seed, o.Nodes = was.Workloads, was.Seed, len(was.Nodes)
	o.Concurrency, o.Rate = fmt.Sprint(was.Concurrency), was.Rate
	o.Claim, o.Bug, o.Link, o.Devnet, o.Irreversible = was.Claim, was.Bug, was.Link, was.Devnet, was.Irreversible
	o.Nemesis, o.Interval, o.Quorum = o.Replay.Nemesis, o.Replay.Interval, string(o.Replay.Quorum)
	return nil
}
