// Package history is what a run leaves behind and what a judgement starts from:
// the operations of clients and nemesis in the order in which they happened.
//
// # What it holds
//
// An [Op] is one line: an invocation or a completion. A [Value] is any EDN value
// and cannot be changed. [History.Pairs] joins invocations and completions. The
// order of ops in the file is the order of events; times only label them.
//
// A [Recorder] writes a history while it happens. An invocation is on its way to
// the disk before Record returns to whoever is about to act on it, a kill -9
// loses at most the last second, and what is left can be read.
//
// A [Codec] is a file format; [EDN] is Jepsen's. [ReadFile] and [ReadAll] read a
// whole history, a [Reader] one op at a time.
//
// # Bounds
//
// A Reader holds one op and a buffer. It refuses with a [SyntaxError] what would
// need more: a token of more than 64 MiB, an op of more than 256 MiB or 4,194,304
// values, a number of more than 4,096 characters, collections nested more than
// 10,000 deep. Values share blocks of memory, so one op that is kept may keep
// some 25 KiB alive.
//
// No input panics. Reading stops at the first thing that is no EDN; a history
// that is cut off is not an error, see [CutError].
//
// # What it is not for
//
// It does not judge, knows nothing of networks or chains, and is no general EDN
// library: instants, UUIDs and records stay tagged literals.
package history
