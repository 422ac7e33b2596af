// Package format opens a history whoever recorded it: Jepsen's EDN and JSON, its
// old logs and history.txt, Porcupine's, the session histories of PolySI, Plume,
// IsoVista, AWDIT and dbcop, and those of jepsen-in-java. It also writes EDN and
// JSON, see [Convert].
//
// A format is told by what the file holds, never by its name, and gzip and zstd
// by their magic numbers. What cannot be told is an error: nothing is guessed.
// Every format becomes the same ops, so that checkers need not know any of them;
// what a format says about how it is to be judged is in [Traits].
//
// # What it is not for
//
// It does not pair, check or repair ops, and it has no verdicts.
package format
