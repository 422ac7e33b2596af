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
// # What becomes of each format
//
//   - edn: see package history.
//   - json: one array of objects, one object a line, or objects one after another.
//     What Convert writes comes back as it was.
//   - jsonl: jepsen-in-java's lines. Types and operations lose their capitals, a
//     read starts with nil, times become nanoseconds, indices are dropped.
//   - history-txt: an error that is no EDN is a string.
//   - etcd-log: a cas that failed with its own value is an ok op named cas-miss,
//     with that value: the register held something else than it expected.
//   - kv-log: values are [key value].
//   - plume, awdit, dbcop: each transaction is one ok op named txn, without an
//     invocation, by its session as a client, with a value of [:r key value] and
//     [:w key value]. One that was aborted is a failed op. In plume and dbcop a 0
//     that was read and that no committed transaction wrote is the initial state,
//     nil. In awdit it is a value like any other.
//
// # Bounds
//
// Reading EDN, JSON and the logs takes as much memory as one op needs; sessions take
// 24 bytes for each read and write and some 40 for each transaction, twice that while
// they are read; dbcop takes some twenty times the size of the file. Refused with an
// error are: a line of a log of more than 64 MiB; a JSON op of more than 64 MiB,
// 4,194,304 values, 1,000 keys, or 1,000 arrays and objects inside each other; a JSON
// number of more than 4,096 characters; a dbcop file of more than 64 MiB. A history
// that is cut off is no error, see [File.Cut]; of a file of sessions the transactions
// before the cut are kept, though others may have read what it lacks, and of dbcop
// in JSON nothing can be.
//
// # What it is not for
//
// It does not pair, check or repair ops, and it has no verdicts.
package format
