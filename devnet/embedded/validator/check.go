package validator

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/ethereum/go-ethereum/common"
)

// ReadConfig reads and validates a Config file.
func ReadConfig(path string) (Config, error) {
	var cfg Config
	data, err := os.ReadFile(path)
	if err != nil {
		return cfg, fmt.Errorf("validator config: %w", err)
	}
	if err := json.Unmarshal(data, &cfg); err != nil {
		return cfg, fmt.Errorf("validator config %q: %w", path, err)
	}
	return cfg, cfg.Validate()
}

// Validate says what is wrong with a Config, all of it at once.
func (cfg Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("config "+format, args...)) }

	if len(cfg.Names) == 0 {
		bad("names: empty, want at least one validator")
	}
	seen := map[string]bool{}
	for _, n := range cfg.Names {
		if n == "" || seen[n] {
			bad("names: %q is empty or listed twice", n)
		}
		seen[n] = true
	}
	if cfg.Index < 0 || cfg.Index >= len(cfg.Names) {
		bad("index: %d, want 0 to %d", cfg.Index, len(cfg.Names)-1)
	} else if cfg.Names[cfg.Index] != cfg.Name {
		bad("name: %q, want %q, the name at index %d", cfg.Name, cfg.Names[cfg.Index], cfg.Index)
	}
	if cfg.Dir == "" {
		bad("dir: empty")
	}
	if cfg.Seed == "" {
		bad("seed: empty")
	}
	if cfg.ChainID == 0 {
		bad("chain_id: 0, want a positive number")
	}
	if cfg.GenesisTime.IsZero() {
		bad("genesis_time: missing, want the time the network was made")
	}
	if cfg.BlockTime != 0 && cfg.BlockTime < time.Second {
		bad("block_time: %v, want at least 1s: EVM time grows by whole seconds and would run ahead of the clock", cfg.BlockTime)
	}
	for _, a := range cfg.Alloc {
		if !common.IsHexAddress(a) {
			bad("alloc: %q is not a 0x address", a)
		}
	}
	taken := map[string]string{}
	for _, l := range []struct{ name, addr string }{
		{"http", cfg.Listen.HTTP}, {"ws", cfg.Listen.WS},
		{"geth_metrics", cfg.Listen.GethMetrics}, {"comet_metrics", cfg.Listen.CometMetrics},
		{"comet_rpc", cfg.Listen.CometRPC}, {"devp2p", cfg.Listen.DevP2P}, {"comet_p2p", cfg.Listen.CometP2P},
	} {
		if err := checkAddr(l.addr); err != nil {
			bad("listen.%s: %v", l.name, err)
		} else if other := taken[l.addr]; other != "" {
			bad("listen.%s: %q is also listen.%s, want an address of its own", l.name, l.addr, other)
		}
		taken[l.addr] = l.name
	}
	peers := map[int]bool{}
	for _, p := range cfg.Peers {
		if p.Index < 0 || p.Index >= len(cfg.Names) || p.Index == cfg.Index || peers[p.Index] {
			bad("peers: index %d is out of range, this node itself, or listed twice", p.Index)
		}
		peers[p.Index] = true
		if err := checkAddr(p.DevP2P); err != nil {
			bad("peers: devp2p of %d: %v", p.Index, err)
		}
		if err := checkAddr(p.CometP2P); err != nil {
			bad("peers: comet_p2p of %d: %v", p.Index, err)
		}
	}
	if len(cfg.Names) > 0 && len(peers) != len(cfg.Names)-1 {
		bad("peers: %d, want all %d others", len(peers), len(cfg.Names)-1)
	}
	if cfg.Change != "" {
		if err := checkChange(cfg.Change); err != nil {
			errs = append(errs, err)
		}
	}
	if cfg.Bug != "" {
		if _, err := findBug(cfg.Bug); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// checkAddr accepts IP:port. Names are refused: they could resolve to somewhere
// that is not a link.
func checkAddr(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q, want IP:port", addr)
	}
	if n, err := net.LookupPort("tcp", port); net.ParseIP(host) == nil || err != nil || n == 0 {
		return fmt.Errorf("%q, want IP:port", addr)
	}
	return nil
}

// blockTime is the configured pace with its default.
func (cfg Config) blockTime() time.Duration {
	if cfg.BlockTime == 0 {
		return time.Second
	}
	return cfg.BlockTime
}
