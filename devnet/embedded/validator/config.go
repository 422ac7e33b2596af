package validator

import "time"

// Config is everything one validator process needs to know. It is a JSON file
// in the validator's directory, written before the first start: a restart reads
// the same file.
type Config struct {
	Name        string        `json:"name"`
	Index       int           `json:"index"` // position among Names, from 0
	Names       []string      `json:"names"` // all validators, in order
	Dir         string        `json:"dir"`   // data directory
	Seed        string        `json:"seed"`  // all keys derive from it
	ChainID     uint64        `json:"chain_id"`
	GenesisTime time.Time     `json:"genesis_time"`
	Alloc       []string      `json:"alloc"` // 0x addresses that start with funds, beside the faucet
	BlockTime   time.Duration `json:"block_time"`
	Listen      Listen        `json:"listen"`
	Peers       []Peer        `json:"peers"`            // every other validator, as this one must dial it
	Bug         string        `json:"bug,omitempty"`    // a planted bug, "" for an honest node
	Change      string        `json:"change,omitempty"` // flags set wrong, "" for the usual ones
}

// Listen holds the host:port of each server of a validator.
type Listen struct {
	HTTP         string `json:"http"`
	WS           string `json:"ws"`
	GethMetrics  string `json:"geth_metrics"`
	CometMetrics string `json:"comet_metrics"`
	CometRPC     string `json:"comet_rpc"`
	DevP2P       string `json:"devp2p"`
	CometP2P     string `json:"comet_p2p"`
}

// Peer is another validator and where this one dials it: the near end of a link.
type Peer struct {
	Index    int    `json:"index"`
	DevP2P   string `json:"devp2p"`
	CometP2P string `json:"comet_p2p"`
}
