package embedded

import (
	"testing"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/embedded/validator"
)

// TestDiffers: a node that has only just started has no peers either, and that is
// no limit of peers, nor the end of one.
func TestDiffers(t *testing.T) {
	usual := []string{"admin", "debug", "eth", "net", "txpool", "web3"}
	for _, c := range []struct {
		seen   devnet.Running
		change string
		as     bool
	}{
		{devnet.Running{APIs: usual, Peers: 3, MostPeers: 3, Others: 3}, "", true},
		{devnet.Running{APIs: usual, Peers: 2, MostPeers: 2, Others: 3}, "", true},
		{devnet.Running{APIs: usual, Peers: 1, MostPeers: 1, Others: 3}, "", false},
		{devnet.Running{APIs: usual, Peers: 1, MostPeers: 1, Others: 1}, "", true},
		{devnet.Running{APIs: []string{"eth", "net"}, Peers: 3, MostPeers: 3, Others: 3}, "", false},
		{devnet.Running{APIs: []string{"eth", "net"}, Others: 3}, validator.FewerAPIs, true},
		{devnet.Running{APIs: usual, Others: 3}, validator.FewerAPIs, false},
		{devnet.Running{APIs: usual, Peers: 1, MostPeers: 1, Others: 3}, validator.FewPeers, true},
		{devnet.Running{APIs: usual, Peers: 1, MostPeers: 2, Others: 3}, validator.FewPeers, false},
		{devnet.Running{APIs: usual, Peers: 1, MostPeers: 1, Others: 1}, validator.FewPeers, false},
	} {
		if err := differs(c.seen, c.change); (err == nil) != c.as {
			t.Errorf("%+v as %q: %v", c.seen, c.change, err)
		}
	}
}
