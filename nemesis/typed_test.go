package nemesis

import (
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

// TestTypedEvidence: what was counted can be read as numbers, not out of a text.
func TestTypedEvidence(t *testing.T) {
	peer := hostility(devnet.Hostility{Connections: 2, Sent: 30, HungUp: 1, Reasons: map[string]int64{"useless peer": 1}})
	if got, want := peer.String(), `{:connections 2, :sent 30, :hung-up 1, :reasons {"useless peer" 1}}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	flags := flagsSeen(devnet.Running{APIs: []string{"eth", "net"}, Peers: 1, MostPeers: 1, Others: 3, Watched: 3 * time.Second})
	if got, want := flags.String(), `{:apis ["eth" "net"], :peers 1, :most-peers 1, :other-nodes 3, :watched-ms 3000}`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
