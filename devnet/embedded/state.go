package embedded

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/embedded/validator"
	"github.com/jepgo/jepgo/devnet/link/mechanism"
)

// State is what devnet.json in the directory of a network says: how the network
// was made, where it is reached, and which processes it is made of now.
type State struct {
	Seed        string        `json:"seed"`
	ChainID     uint64        `json:"chain_id"`
	GenesisTime time.Time     `json:"genesis_time"`
	BlockTime   time.Duration `json:"block_time"` // nanoseconds; 0 is a second
	Alloc       []string      `json:"alloc,omitempty"`
	Bug         string        `json:"bug,omitempty"`
	Disks       bool          `json:"disks,omitempty"`
	RPCProxies  bool          `json:"rpc_proxies,omitempty"`
	Link        string        `json:"link,omitempty"` // mechanism of the links, "" for proxies
	Names       []string      `json:"names"`
	FaucetKey   string        `json:"faucet_key"` // hex; no secret, it is the same for every devnet

	Subnet    Subnet                     `json:"subnet,omitzero"`
	Nodes     []devnet.Node              `json:"nodes,omitempty"`
	Processes map[string]devnet.Identity `json:"processes,omitempty"` // by node; stale when Owner is gone
	// Owner is the process that holds the links and started the nodes; zero after
	// an ordered end.
	Owner      devnet.Identity `json:"owner,omitzero"`
	Supervised bool            `json:"supervised,omitempty"` // Owner is a supervisor, not a test
	Ready      bool            `json:"ready,omitempty"`      // all nodes have made a block together
}

// create makes the directory of a new network and writes its state there. The
// error is fs.ErrExist when the directory holds a network already; of two who
// create at the same time only one succeeds.
func create(opts Options) (dir string, err error) {
	opts, err = opts.withDefaults()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(opts.Dir, 0o755); err != nil {
		return "", fmt.Errorf("devnet: %w", err)
	}
	if dir, err = resolve(opts.Dir); err != nil {
		return "", fmt.Errorf("devnet: %w", err)
	}
	err = install(filepath.Join(dir, stateFile), newState(opts), os.Link)
	if errors.Is(err, fs.ErrExist) {
		return dir, fmt.Errorf("directory %q holds a devnet already, expected a new one: %w", dir, fs.ErrExist)
	}
	return dir, err
}

func newState(o Options) *State {
	s := &State{
		Seed:        o.Seed,
		ChainID:     o.ChainID,
		GenesisTime: time.Now().UTC(),
		BlockTime:   o.BlockTime,
		Alloc:       o.Alloc,
		Bug:         o.Bug,
		Disks:       o.Disks,
		RPCProxies:  o.RPCProxies,
		Link:        o.Link,
		FaucetKey:   hex.EncodeToString(crypto.FromECDSA(validator.FaucetKey())),
	}
	for i := range o.Nodes {
		s.Names = append(s.Names, "n"+strconv.Itoa(i+1))
	}
	return s
}

// running reports whether the process that owns the network is there.
func (s *State) running() bool { return s.Owner.PID != 0 && devnet.Alive(s.Owner) }

// anyAlive reports whether the process of at least one node is there.
func (s *State) anyAlive() bool {
	for _, id := range s.Processes {
		if devnet.Alive(id) {
			return true
		}
	}
	return false
}

// readState reads devnet.json; the error is fs.ErrNotExist when dir has none.
func readState(dir string) (*State, error) {
	path := filepath.Join(dir, stateFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("directory %q holds no devnet: %w", dir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("devnet state: %w", err)
	}
	s := new(State)
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("devnet state %q: %w", path, err)
	}
	if len(s.Names) == 0 || s.Seed == "" || s.ChainID == 0 {
		return nil, fmt.Errorf("devnet state %q: has no names, seed or chain_id: expected what jepgo wrote", path)
	}
	return s, nil
}

// LinkOf returns the mechanism of the links of the network in dir, "" when it holds
// none.
func LinkOf(dir string) string {
	s, err := readState(dir)
	switch {
	case err != nil:
		return ""
	case s.Link == "":
		return mechanism.Proxy
	}
	return s.Link
}

func (s *State) write(dir string) error { return writeJSON(filepath.Join(dir, stateFile), s) }

// writeJSON replaces a file in one step, so that a reader and a crash see the old
// or the new one.
func writeJSON(path string, v any) error { return install(path, v, os.Rename) }

// install writes a file under another name first and gives it its own with put.
func install(path string, v any, put func(from, to string) error) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("file %q: %w", path, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // unless it was renamed
	_, err = tmp.Write(append(b, '\n'))
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return put(tmp.Name(), path)
}

// resolve makes dir absolute and free of symbolic links, so that it compares with
// the paths that other processes were started with.
func resolve(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
