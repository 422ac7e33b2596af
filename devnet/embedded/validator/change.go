package validator

import (
	"fmt"
	"strings"
)

// Change is another way to start a validator: flags that an operator would have
// set wrong.
type Change struct {
	Name string
	Doc  string // one sentence: what is different
}

// The changes.
const (
	FewerAPIs = "fewer-apis"
	FewPeers  = "few-peers"
)

// Changes lists what Config.Change may be.
func Changes() []Change {
	return []Change{
		{FewerAPIs, "JSON-RPC serves eth and net only: no web3, txpool, debug, admin"},
		{FewPeers, "devp2p takes one peer and trusts none, so that transactions travel worse; consensus keeps its peers"},
	}
}

func checkChange(name string) error {
	var names []string
	for _, c := range Changes() {
		if c.Name == name {
			return nil
		}
		names = append(names, c.Name)
	}
	return fmt.Errorf("config change: %q, want one of %s", name, strings.Join(names, ", "))
}

// modules are the JSON-RPC namespaces that the node serves.
func (cfg Config) modules() []string {
	if cfg.Change == FewerAPIs {
		return []string{"eth", "net"}
	}
	return []string{"eth", "net", "web3", "txpool", "debug", "admin"}
}
