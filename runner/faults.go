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
	out, err := nemesis.Run(load, nemesis.Options{
		Net: t.net.power(nemesis.Quorum(t.o.Quorum)), Faults: t.o.faults, Interval: t.o.Interval, Rand: stream(t.o.Seed, streamNemesis), Ledger: ledger, Guardian: guardian,
		Now: t.journal.rec.Now, Logger: t.log,
		Record: func(op history.Op) error {
			op, err := t.journal.record(op)
			if err == nil {
				t.faults = append(t.faults, op)
			}
			return err
		},
	})
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
