package process

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// File is a devnet file: docs/devnet-file.md describes it field by field.
type File struct {
	path string // absolute
	text []byte // as it was read

	Profile      string        `yaml:"profile"`
	ChainID      uint64        `yaml:"chain_id"`
	BlockTime    time.Duration `yaml:"block_time"`
	ReorgDepth   int           `yaml:"reorg_depth"`
	FaucetKey    string        `yaml:"faucet_key"`
	StartTimeout time.Duration `yaml:"start_timeout"`
	Install      string        `yaml:"install"`
	Template     spec          `yaml:"template"`
	Nodes        list          `yaml:"nodes"`
}

// spec is what a file says of a node.
type spec struct {
	Role    string            `yaml:"role"`
	Power   int64             `yaml:"power"`
	Host    text              `yaml:"host"`
	Ports   map[string]port   `yaml:"ports"`
	P2P     map[string]string `yaml:"p2p"` // protocol → name of a port
	Vars    map[string]text   `yaml:"vars"`
	Files   map[string]text   `yaml:"files"` // path → content
	Init    [][]text          `yaml:"init"`
	Command []text            `yaml:"command"`
	Env     map[string]text   `yaml:"env"`
	HTTP    text              `yaml:"http"`
	WS      text              `yaml:"ws"`
	Comet   text              `yaml:"comet"`
	Metrics map[string]text   `yaml:"metrics"`
	Ready   ready             `yaml:"ready"`
}

// ready is when a node counts as ready.
type ready struct {
	RPC     *bool         `yaml:"rpc"`     // default true
	Synced  *bool         `yaml:"synced"`  // default true
	Port    string        `yaml:"port"`    // name of a port that must be open
	Log     text          `yaml:"log"`     // regular expression
	Timeout time.Duration `yaml:"timeout"` // default a minute
}

const (
	defaultTimeout = time.Minute
	defaultNodes   = 4
	// MaxNodes keeps the links between all pairs of nodes within the open files of one
	// process.
	MaxNodes = 32

	mostBytes = 1 << 20
)

// Read reads and checks a devnet file. Its errors name the place as path:line:column
// and quote what is there; there may be several.
func Read(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("devnet file: %w", err)
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if err != nil {
		return nil, fmt.Errorf("devnet file: %w", err)
	}
	if len(b) > mostBytes {
		return nil, fmt.Errorf("devnet file: %s: longer than %d MiB: expected YAML as docs/devnet-file.md has it", path, mostBytes>>20)
	}
	return parse(path, b)
}

func parse(path string, b []byte) (*File, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("devnet file: %w", err)
	}
	f := &File{path: abs, text: b}
	d := decoder{path: path}
	d.file(b, f)
	if len(d.errs) == 0 {
		f.check(&d)
	}
	return f, d.err()
}

// Path is where the file was read from, absolute.
func (f *File) Path() string { return f.path }

// Text is the file as it was read.
func (f *File) Text() []byte { return slices.Clone(f.text) }

// Count is how many nodes the file has.
func (f *File) Count() int { return max(f.Nodes.count, len(f.Nodes.specs)) }

func (f *File) names() []string {
	names := make([]string, f.Count())
	for i := range names {
		names[i] = nodeName(i)
	}
	return names
}

// Serves says what all of its nodes will serve beside JSON-RPC over HTTP: JSON-RPC
// over WebSocket, and CometBFT's own RPC.
func (f *File) Serves() (ws, comet bool) {
	ws, comet = true, true
	for i := range f.Count() {
		s := f.node(i)
		_, port := s.Ports["ws"]
		ws, comet = ws && (port || s.WS.set), comet && s.Comet.set
	}
	return ws, comet
}

// Resize gives a file that names a number of nodes another number.
func (f *File) Resize(n int) error {
	if f.Nodes.specs != nil {
		return fmt.Errorf("devnet file %q lists its %d nodes one by one: their number cannot be chosen", f.path, f.Count())
	}
	if n < 1 || n > MaxNodes {
		return fmt.Errorf("number of nodes %d: expected 1 to %d", n, MaxNodes)
	}
	f.Nodes.count = n
	return nil
}

// node is what holds for node i: its own entry over the template.
func (f *File) node(i int) spec {
	if f.Nodes.specs == nil {
		return f.Template
	}
	return f.Template.under(f.Nodes.specs[i])
}

// under is the spec with everything that over says in its place; maps are joined
// by key.
func (s spec) under(over spec) spec {
	if over.Role != "" {
		s.Role = over.Role
	}
	if over.Power != 0 {
		s.Power = over.Power
	}
	for _, t := range []struct{ at, by *text }{
		{&s.Host, &over.Host}, {&s.HTTP, &over.HTTP}, {&s.WS, &over.WS}, {&s.Comet, &over.Comet}, {&s.Ready.Log, &over.Ready.Log},
	} {
		if t.by.set {
			*t.at = *t.by
		}
	}
	if over.Command != nil {
		s.Command = over.Command
	}
	if over.Init != nil {
		s.Init = over.Init
	}
	s.Ports, s.P2P = join(s.Ports, over.Ports), join(s.P2P, over.P2P)
	s.Vars, s.Files, s.Env, s.Metrics = join(s.Vars, over.Vars), join(s.Files, over.Files), join(s.Env, over.Env), join(s.Metrics, over.Metrics)
	if over.Ready.RPC != nil {
		s.Ready.RPC = over.Ready.RPC
	}
	if over.Ready.Synced != nil {
		s.Ready.Synced = over.Ready.Synced
	}
	if over.Ready.Port != "" {
		s.Ready.Port = over.Ready.Port
	}
	if over.Ready.Timeout != 0 {
		s.Ready.Timeout = over.Ready.Timeout
	}
	return s
}

func join[V any](a, b map[string]V) map[string]V {
	all := make(map[string]V, len(a)+len(b))
	for _, m := range []map[string]V{a, b} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

// check looks for what each field alone does not show.
func (f *File) check(d *decoder) {
	root := place{1, 1}
	if f.Profile == "" {
		d.fail(root, "profile: missing, expected what kind of network this is: see jepgo explain")
	}
	if f.ChainID == 0 {
		d.fail(root, "chain_id: missing, expected the number that eth_chainId answers")
	}
	if f.BlockTime < 0 || f.ReorgDepth < 0 || f.StartTimeout < 0 {
		d.fail(root, "block_time, reorg_depth and start_timeout: expected none below 0")
	}
	if f.FaucetKey != "" && !isKey(f.FaucetKey) {
		d.fail(root, "faucet_key: of %d characters, expected a private key of 64 hex digits", len(f.FaucetKey))
	}
	n := f.Count()
	if n == 0 {
		n = defaultNodes
		f.Nodes.count = n
	}
	if n > MaxNodes {
		d.fail(f.Nodes.at, "nodes: %d, expected 1 to %d", n, MaxNodes)
		return
	}
	for i := range n {
		at := root
		if f.Nodes.specs != nil {
			at = f.Nodes.places[i]
		}
		f.node(i).check(d, at, nodeName(i))
		if f.Nodes.specs == nil {
			break // all alike
		}
	}
}

func (s spec) check(d *decoder, at place, name string) {
	if len(s.Command) == 0 {
		d.fail(at, "node %s: command: missing, expected the program and its arguments", name)
	}
	if s.Power < 0 {
		d.fail(at, "node %s: power: %d, expected at least 0", name, s.Power)
	}
	if !s.HTTP.set && s.Ports["http"] == (port{}) {
		d.fail(at, "node %s: http: missing, expected a URL, or a port of that name", name)
	}
	known := func(field, port string) {
		if _, ok := s.Ports[port]; port != "" && !ok {
			d.fail(at, "node %s: %s: port %q is none of its ports %q", name, field, port, sortedKeys(s.Ports))
		}
	}
	for protocol, port := range s.P2P {
		known("p2p."+protocol, port)
	}
	known("ready.port", s.Ready.Port)
	for path, t := range s.Files {
		if !filepath.IsLocal(path) {
			d.fail(t.place, "node %s: file %q: expected a path within the node's directory", name, path)
		}
	}
	if s.Ready.Log.set {
		if _, err := regexp.Compile(s.Ready.Log.source); err != nil {
			d.fail(s.Ready.Log.place, "ready.log %q: expected a regular expression: %s", s.Ready.Log.source, err)
		}
	}
}

func isKey(text string) bool {
	text = strings.TrimPrefix(text, "0x")
	return len(text) == 64 && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}

// HasMetrics reports whether some node has Prometheus endpoints.
func (f *File) HasMetrics() bool {
	return f.some(func(s spec) bool { return len(s.Metrics) > 0 })
}

// HasP2P reports whether some node is reached over links.
func (f *File) HasP2P() bool {
	return f.some(func(s spec) bool { return len(s.P2P) > 0 })
}

func (f *File) some(has func(spec) bool) bool {
	for i := range f.Count() {
		if has(f.node(i)) {
			return true
		}
	}
	return false
}
