// Package runner owns the life of a test: set up, ready, run, heal, verify
// healed, converge, final reads, close the history, judge, report.
//
// It guarantees that the history on disk is never lost because a later step
// failed; that each fault is undone, or the run is called dirty; and that the
// judgement is made from the files alone, by the same code that jepgo check
// runs.
package runner
