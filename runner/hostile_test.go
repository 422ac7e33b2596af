package runner

import (
	"slices"
	"testing"

	"github.com/jepgo/jepgo/devnet/peer"
	"github.com/jepgo/jepgo/nemesis"
)

// TestAttacksByTheirNames holds the fault's list of attacks to the real one,
// which it may not import.
func TestAttacksByTheirNames(t *testing.T) {
	var names []string
	for _, k := range peer.Kinds() {
		names = append(names, k.Name)
	}
	if !slices.Equal(names, nemesis.PeerKinds()) {
		t.Errorf("devnet/peer knows %q, the fault peer %q", names, nemesis.PeerKinds())
	}
}
