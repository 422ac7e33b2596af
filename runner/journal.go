package runner

import (
	"github.com/jepgo/jepgo/history"
)

// journal is the run's history as its many writers see it. When it cannot be
// written any more the run must stop, since what is not journaled cannot be
// judged.
type journal struct {
	rec   *history.Recorder
	meter *meter
}

func (j *journal) record(op history.Op) (history.Op, error) {
	op, err := j.rec.Record(op)
	if err == nil {
		j.meter.see(&op)
	}
	return op, err
}

// note records an op of jepgo's own.
func (j *journal) note(f string, value history.Value) error {
	_, err := j.record(history.Op{Type: history.Info, Process: history.Runner(), F: f, Value: value})
	return err
}

// Names of the phases, in order.
const (
	phaseRun   = "run"
	phaseHeal  = "heal"
	phaseFinal = "final"
	phaseEnd   = "end"
)

func (j *journal) phase(name string) error {
	j.meter.phase(name)
	return j.note("phase", history.Keyword(name))
}
