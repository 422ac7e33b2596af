package runner

import (
	"context"
	"errors"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/nemesis"
	"github.com/jepgo/jepgo/store"
)

// nemesis breaks things until load ends, then heals.
func (t *test) nemesis(load context.Context) (err error) {
	if len(t.o.faults) == 0 {
		return nil
	}
	power := t.net.power(nemesis.Quorum(t.o.Quorum))
	power.Ops = t.journal.meter.completed
	ledger, err := nemesis.CreateLedger(t.run.Path(nemesis.LedgerName))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	guardian, err := nemesis.StartGuardian(t.run.Path(nemesis.LedgerName))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, guardian.Close()) }()
	o := nemesis.Options{
		Net: power, Faults: t.o.faults, Schedule: t.run.Path(nemesis.ScheduleName), Interval: t.o.Interval, Rand: stream(t.o.Seed, streamNemesis), Ledger: ledger, Guardian: guardian,
		Now: t.journal.rec.Now, Logger: t.log,
		Record: func(op history.Op) error {
			op, err := t.journal.record(op)
			if err == nil {
				t.faults = append(t.faults, op)
			}
			return err
		},
	}
	if t.o.Replay != nil {
		o = t.o.Replay.Replayed(o)
	}
	out, err := nemesis.Run(load, o)
	if out.NotUndone > 0 {
		t.dirty = out.Problems
	}
	return err
}

// writeFaults stores the timeline of the faults, which only the nemesis'
// goroutine, ended by now, has added to.
func (t *test) writeFaults() error {
	return t.run.Write(store.FaultsFile, nemesis.Timeline(t.faults))
}
