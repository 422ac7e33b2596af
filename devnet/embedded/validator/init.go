package validator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/privval"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/ethereum/go-ethereum/triedb/hashdb"
)

// mark is written last by Init: a directory that has it is whole.
type mark struct {
	Genesis string `json:"genesis"` // hash of the EVM genesis block
	Chain   string `json:"chain"`   // CometBFT chain id
	Name    string `json:"name"`
}

func markPath(cfg Config) string  { return filepath.Join(cfg.Dir, "initialised.json") }
func statePath(cfg Config) string { return filepath.Join(cometDir(cfg), "data", "sign_state.json") }

// Init prepares cfg.Dir: the database with the genesis block and an empty sign
// state. It is idempotent: a prepared directory is left as it is, whatever the
// chain in it has grown to; one that an earlier Init did not finish is prepared
// anew, which loses nothing, as Run refuses to run on it. It is a step of its own
// because a SIGKILL while geth creates its database leaves one that can never be
// opened again. It takes about 50 ms and opens no port.
func Init(cfg Config) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	switch err := checkMark(cfg); {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	gethDir := filepath.Join(cfg.Dir, gethName)
	if err := errors.Join(os.RemoveAll(gethDir), os.RemoveAll(cometDir(cfg))); err != nil {
		return fmt.Errorf("validator init: %w", err)
	}
	for _, dir := range []string{"config", "data"} {
		if err := os.MkdirAll(filepath.Join(cometDir(cfg), dir), 0o700); err != nil {
			return fmt.Errorf("validator init: %w", err)
		}
	}
	if err := initDatabase(cfg); err != nil {
		return fmt.Errorf("validator init: %w", err)
	}
	empty, err := cmtjson.Marshal(privval.FilePVLastSignState{})
	if err != nil {
		return fmt.Errorf("validator init: %w", err)
	}
	if err := writeFile(statePath(cfg), empty); err != nil {
		return fmt.Errorf("validator init: %w", err)
	}
	whole, err := newMark(cfg)
	if err != nil {
		return err
	}
	data, err := json.Marshal(whole)
	if err != nil {
		return fmt.Errorf("validator init: %w", err)
	}
	return writeFile(markPath(cfg), data)
}

func newMark(cfg Config) (mark, error) {
	doc, err := cometGenesis(cfg)
	if err != nil {
		return mark{}, err
	}
	return mark{Genesis: evmGenesis(cfg).ToBlock().Hash().Hex(), Chain: doc.ChainID, Name: cfg.Name}, nil
}

// checkMark returns nil when the directory was prepared for this very
// configuration, and an error that is fs.ErrNotExist when Init never finished.
func checkMark(cfg Config) error {
	data, err := os.ReadFile(markPath(cfg))
	if err != nil {
		return fmt.Errorf("validator directory %q is not initialised: %w", cfg.Dir, err)
	}
	var have mark
	if err := json.Unmarshal(data, &have); err != nil {
		return fmt.Errorf("validator directory %q: %w", cfg.Dir, err)
	}
	want, err := newMark(cfg)
	if err != nil {
		return err
	}
	if have != want {
		return fmt.Errorf("validator directory %q belongs to another network: has %+v, the config says %+v", cfg.Dir, have, want)
	}
	return nil
}

// initDatabase creates the chain database. It goes through node.Node so that
// paths, engine and freezer are those that Run opens, but not through eth.New,
// whose goroutines would outlive this call.
func initDatabase(cfg Config) (err error) {
	stack, err := node.New(&node.Config{Name: gethName, DataDir: cfg.Dir, DBEngine: "pebble"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Close()) }()
	db, err := stack.OpenDatabaseWithOptions("chaindata", node.DatabaseOptions{Cache: databaseCache, Handles: databaseHandles})
	if err != nil {
		return err
	}
	tries := triedb.NewDatabase(db, &triedb.Config{HashDB: hashdb.Defaults})
	defer func() { err = errors.Join(err, tries.Close()) }()
	if _, _, compat, err := core.SetupGenesisBlock(db, tries, evmGenesis(cfg)); err != nil {
		return err
	} else if compat != nil {
		return compat
	}
	// The transactions of every block from here on are indexed as it becomes the
	// head. Without this, geth would answer "transaction indexing is in progress"
	// to a question for a receipt around the first block.
	rawdb.WriteTxIndexTail(db, 0)
	return db.SyncKeyValue()
}

// writeFile replaces a file in one step: it is either the old or the new one
// after a crash.
func writeFile(path string, data []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
