package format

import (
	"io"
	"math"

	"github.com/jepgo/jepgo/history"
)

// readJava reads what jepsen-in-java writes: one JSON object a line, with types
// and operations in capitals.
func readJava(r io.Reader, keep bool) history.Reader {
	return &jsonReader{source: r, keepsOps: keep, java: true}
}

// javaOp makes an op of jepsen-in-java one like any other. Its time is in
// milliseconds, its index is none, and a read starts with a value of 0 that means
// nothing.
func javaOp(op *history.Op, nemesis bool) {
	const perMilli = 1_000_000
	op.Index = history.Absent
	if op.Time != history.Absent {
		if op.Time > math.MaxInt64/perMilli || op.Time < math.MinInt64/perMilli {
			op.Time = history.Absent
		} else {
			op.Time *= perMilli
		}
	}
	if op.F == "read" && op.Type == history.Invoke {
		op.Value = history.Value{}
	}
	if nemesis {
		op.Process = history.Nemesis()
	}
}

// isJavaNoise reports whether that key of a jepsen-in-java op says nothing more.
func isJavaNoise(name string) bool {
	switch name {
	case "nemesis", "fail", "latency", "subIndex", "position":
		return true
	}
	return false
}
