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
// whole history, a [Reader] one op at a time. A [Scan] lets a history of any
// length pass by as [Event] values on a [Tape], which cost no allocation, and gives
// back whole ops at single places afterwards. What they read is the same, however
// many goroutines read it. Files may be compressed with gzip or zstd.
//
// # Bounds
//
// A Reader holds one op and a buffer, a Scan two chunks of 256 KiB for each of at
// most 8 goroutines, with what was parsed of them (some 25 MiB in all), and 8 bytes
// for every 64 ops. They refuse with a [SyntaxError] what would need more: a token
// of more than 64 MiB, an op of more than 256 MiB or 4,194,304 values, a number of
// more than 4,096 characters, collections nested more than 10,000 deep. A zstd
// stream may need 128 MiB for itself. Values share blocks of memory, so one op that
// is kept may keep some 25 KiB alive.
//
// No input panics. A history that is cut off is not an error, see [CutError]. An
// op that is no EDN is passed over where the next one can be found on a line of its
// own, and counted, see [Skipped]: whoever judges such a history must not call it
// valid. Reading stops at anything else that is no EDN.
//
// # What it is not for
//
// It does not judge, knows nothing of networks or chains, and is no general EDN
// library: instants, UUIDs and records stay tagged literals.
package history
