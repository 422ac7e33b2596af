package validator

import (
	"fmt"
	"strings"
)

// Whom a bug may be planted in.
const (
	EveryValidator = "every validator"
	LastValidator  = "the last validator"
)

// Bug is a planted bug: a lie that the node tells over JSON-RPC on top of an
// honest chain, so that a checker can prove that it notices. Lies are told over
// HTTP only; the WebSocket port stays honest.
type Bug struct {
	Name    string
	Doc     string // one sentence: what a client sees
	Targets string // EveryValidator or LastValidator

	plant func(honest) rewriter
}

// Hits reports whether the bug belongs into validator index of n.
func (b Bug) Hits(index, n int) bool { return b.Targets == EveryValidator || index == n-1 }

// Bugs lists the planted bugs by name.
func Bugs() []Bug {
	return []Bug{
		{"fork", fmt.Sprintf("from block %d on the node serves other blocks than everybody else, with hashes and parents that fit together", forkHeight), LastValidator, newFork},
		{"lost-write", "some register writes are acknowledged with a receipt of a real block and never reach the chain", EveryValidator, newLostWrite},
		{"rewind", fmt.Sprintf("for %v after a restart latest, safe and finalized are %d blocks older than before it", rewindFor, rewindBlocks), EveryValidator, newRewind},
		{"stale-read", fmt.Sprintf("some register reads by transaction report what the key held %d blocks earlier", staleBlocks), EveryValidator, newStaleRead},
	}
}

func findBug(name string) (Bug, error) {
	var names []string
	for _, b := range Bugs() {
		if b.Name == name {
			return b, nil
		}
		names = append(names, b.Name)
	}
	return Bug{}, fmt.Errorf("config bug: %q, want one of %s", name, strings.Join(names, ", "))
}

func (cfg Config) buggy() bool { return cfg.Bug != "" }
