package history

// Type says what an op's line reports.
type Type uint8

const (
	// Invoke starts an operation.
	Invoke Type = iota + 1
	// OK completes an operation that certainly happened.
	OK
	// Fail completes an operation that certainly did not happen.
	Fail
	// Info completes an operation in doubt: it may have happened, may still
	// happen later, or never. Nemesis ops are always Info.
	Info
)

// String returns the keyword name: invoke, ok, fail, info, or "" for no type.
func (t Type) String() string {
	switch t {
	case Invoke:
		return "invoke"
	case OK:
		return "ok"
	case Fail:
		return "fail"
	case Info:
		return "info"
	}
	return ""
}

// ParseType reads a type name without its colon; ok is false for any other text.
func ParseType(s string) (t Type, ok bool) {
	switch s {
	case "invoke":
		return Invoke, true
	case "ok":
		return OK, true
	case "fail":
		return Fail, true
	case "info":
		return Info, true
	}
	return 0, false
}

// Process is who performed an op: a client by number, or somebody else by name.
// It is comparable. The zero value is "no process".
type Process struct {
	id   int64
	name string
	kind uint8
}

const (
	noProcess uint8 = iota
	clientProcess
	namedProcess
)

// Client returns client process n.
func Client(n int64) Process { return Process{id: n, kind: clientProcess} }

// Named returns a process that is not a client, such as nemesis.
func Named(name string) Process { return Process{name: name, kind: namedProcess} }

// Nemesis is the process that injects faults.
func Nemesis() Process { return Named("nemesis") }

// Runner is the process that reports what jepgo itself did: the test's
// configuration, its phases, its convergence.
func Runner() Process { return Named("jepgo") }

// Client returns the client's number; ok is false when p is not a client.
func (p Process) Client() (n int64, ok bool) { return p.id, p.kind == clientProcess }

// IsClient reports whether p is a client.
func (p Process) IsClient() bool { return p.kind == clientProcess }

// IsZero reports whether p is "no process".
func (p Process) IsZero() bool { return p.kind == noProcess }

// Name returns the name of a process that is not a client, else "".
func (p Process) Name() string { return p.name }

// String renders p as EDN: 3, :nemesis or nil.
func (p Process) String() string {
	switch p.kind {
	case clientProcess:
		return Int(p.id).String()
	case namedProcess:
		return ":" + p.name
	}
	return "nil"
}

// Absent is the Index or Time of an op whose line has none.
const Absent int64 = -1

// Field is one key of an op beyond those that have a place of their own.
type Field struct {
	Key   string // keyword name without its colon
	Value Value
}

// Op is one line of a history: an invocation or a completion.
//
// The order of ops in the file is the order of events. Time (nanoseconds since
// the start of the run on one monotonic clock) only labels them.
type Op struct {
	Index   int64 // position in the history, or Absent
	Time    int64 // nanoseconds, or Absent
	Type    Type
	Process Process
	F       string // name of the operation without its colon; "" when the line has none
	Value   Value
	Error   Value   // nil when the line has none
	Node    string  // node that was asked, "" when unknown
	Tag     string  // block tag of a read (latest, safe, finalized, pending), "" when it has none
	Extra   []Field // every other key, in file order
}

// Lookup returns the extra field of that name.
func (o *Op) Lookup(key string) (Value, bool) {
	for i := range o.Extra {
		if o.Extra[i].Key == key {
			return o.Extra[i].Value, true
		}
	}
	return Value{}, false
}

// Set puts an extra field, replacing one of the same name.
func (o *Op) Set(key string, v Value) {
	for i := range o.Extra {
		if o.Extra[i].Key == key {
			o.Extra[i].Value = v
			return
		}
	}
	o.Extra = append(o.Extra, Field{Key: key, Value: v})
}

// Names of the extra fields that jepgo's own clients write.
const (
	HeightKey = "height" // number of the block the answer came from
	HashKey   = "hash"   // hash of that block, "0x…"
	TxKey     = "tx"     // hash of the transaction, "0x…"
)
