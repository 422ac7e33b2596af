package runner

import (
	"context"
	"errors"

	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/nemesis"
	"github.com/jepgo/jepgo/store"
)

// guard opens the ledger and starts its guardian, before there is anything that
// jepgo's death could leave behind. unguard is for when the network is closed.
func (t *test) guard() (err error) {
	if len(t.o.faults) == 0 {
		return nil
	}
	path := t.run.Path(nemesis.LedgerName)
	if t.ledger, err = nemesis.CreateLedger(path); err != nil {
		return err
	}
	t.guardian, err = nemesis.StartGuardian(path, t.log)
	return err
}

func (t *test) unguard() error {
	var errs []error
	if t.guardian != nil {
		errs = append(errs, t.guardian.Close())
	}
	if t.ledger != nil {
		errs = append(errs, t.ledger.Close())
	}
	return errors.Join(errs...)
}

// nemesis breaks things until load ends, then heals.
func (t *test) nemesis(load context.Context) error {
	if len(t.o.faults) == 0 {
		return nil
	}
	power := t.net.power(nemesis.Quorum(t.o.Quorum))
	power.Ops = t.journal.meter.completed
	o := nemesis.Options{
		Net: power, Faults: t.o.faults, Schedule: t.run.Path(nemesis.ScheduleName), Interval: t.o.Interval, Rand: stream(t.o.Seed, streamNemesis), Ledger: t.ledger, Guardian: t.guardian,
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
