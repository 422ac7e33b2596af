// Package nemesis breaks a network on purpose and takes every break back.
//
// A fault is four verbs and a proof: apply, probe that it bites, undo, verify
// that it is undone. The exact undo is on disk, fsynced, before the fault is
// applied (see Ledger), so that Heal can finish in another process whatever
// ended this one. Every random choice comes from one *rand.Rand: the same seed
// and the same nodes give the same faults on the same targets.
//
// Guarantees: a signal reaches only the very incarnation that it was meant for;
// a fault that was not seen to bite is reported as one without evidence; a fault
// whose undoing was not seen is reported as not undone; nothing is undone that
// this ledger did not add. Bounds: one fault is in force at a time, and every
// wait for a condition has a limit.
//
// It is not for judging: what a fault did to the chain is for the checkers.
//
// # Where things are
//
// A fault is one file, named after it, with its entry for Registry: partition.go,
// disk_slow.go. It holds what is its own and takes the rest from the files that
// the family shares:
//
//	what it is asked for   spec.go, target.go, quorum.go, power.go
//	links                  linkfault.go, shaping.go, bites.go; of cuts grudge.go
//	processes              life.go, comeback.go, await.go
//	control groups         seat.go; helper processes: burn.go
//	clocks                 clock.go, clock_proof.go, clock_heal.go, clock_host_*.go
//	RPC                    rpc.go
//	disks and files        disk.go, file.go, tree.go
//	faults of faults       composite.go
//
// The engine knows faults by Fault and Application (nemesis.go) and through three
// lists: the kinds of faults in registry.go, of undo steps in step.go and of
// mechanisms in mechanism.go. A new fault is its file and a line in the first;
// only one with a new way to be undone, or a new mechanism, adds to the others.
//
//	when      schedule.go (Run), turn.go, timed.go, trigger.go, watch.go, metric.go
//	undoing   ledger.go, heal.go; guardian.go is the process that outlives ours
//	again     replay.go
//	shown     timeline.go
//
// Both are one package, because a fault is little more than the words that it
// puts together: it would take some sixty of them, and all would be public.
package nemesis
