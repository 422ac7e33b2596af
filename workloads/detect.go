package workloads

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/client"
)

const (
	detectHeights  = 3                      // heights at which a node has to show latest = finalized
	detectBehind   = 10                     // answers in a row, at one latest, that show finalized behind it
	detectPause    = 100 * time.Millisecond // between answers
	detectPatience = 30 * time.Second       // without a decision the weaker profile is taken

	versionPatience = 5 * time.Second
)

// Detect looks at a network and returns the strongest profile that is safe to
// claim: single for a node of anvil or hardhat; bft when every node shows, at
// three heights, that latest and finalized are one block, and none was seen to
// stay behind; else pos when some node serves finalized; else longest-chain. A chain that makes no blocks is never
// called bft: its equal tags may be chance. It takes three blocks' time, 30 s at
// the most. The error is that of a node that never answered.
func Detect(ctx context.Context, nodes []*client.Client) (claims.Profile, error) {
	if len(nodes) == 0 {
		return claims.Profile{}, errors.New("network has no nodes, want at least one")
	}
	limit, cancel := context.WithTimeout(ctx, detectPatience)
	defer cancel()
	type seen struct {
		i      int
		finds  finality
		answer error
	}
	found := make(chan seen, len(nodes))
	for i, n := range nodes {
		go func() {
			f, err := watchFinality(limit, n)
			found <- seen{i, f, err}
		}()
	}
	instant, serves := true, false
	var failed error
	for range nodes {
		s := <-found
		if s.answer != nil && failed == nil {
			failed = fmt.Errorf("profile of the network: %w", s.answer)
			cancel()
		}
		instant = instant && s.finds == instantly
		serves = serves || s.finds != never
	}
	switch {
	case ctx.Err() != nil:
		return claims.Profile{}, ctx.Err()
	case failed != nil:
		return claims.Profile{}, failed
	case len(nodes) == 1 && alone(ctx, nodes[0]):
		return claims.ParseProfile("single")
	case instant:
		return claims.ParseProfile("bft")
	case serves:
		return claims.ParseProfile("pos")
	}
	return claims.ParseProfile("longest-chain")
}

// alone reports whether a node is of a kind that never has others beside it. One
// that does not say counts as any other.
func alone(ctx context.Context, n *client.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	version, err := n.Version(ctx)
	version = strings.ToLower(version)
	return err == nil && (strings.HasPrefix(version, "anvil/") || strings.HasPrefix(version, "hardhatnetwork/"))
}

// finality is how a node's finalized follows its latest.
type finality uint8

const (
	never     finality = iota // it serves no finalized block
	later                     // behind, or not seen at enough heights
	instantly                 // always the same block
)

func watchFinality(ctx context.Context, n *client.Client) (finality, error) {
	var (
		equal    = make(map[common.Hash]bool)
		at       common.Hash // latest of the last answer
		behind   int         // answers in a row that show finalized behind it
		missing  int
		answered bool
		last     error
	)
	for {
		h, err := n.Head(ctx)
		switch {
		case err != nil:
			last = err
		case h.Finalized == nil:
			answered = true
			if missing++; missing == detectBehind {
				return never, nil
			}
		case h.Finalized.Hash == h.Latest.Hash:
			answered, missing, behind = true, 0, 0
			if equal[h.Latest.Hash] = true; len(equal) == detectHeights {
				return instantly, nil
			}
		default:
			// A node may move latest first and finalized a moment later, and a
			// batch is not atomic: only what stays so counts.
			answered, missing = true, 0
			if h.Latest.Hash != at {
				behind = 0
			}
			if behind++; behind == detectBehind {
				return later, nil
			}
		}
		if err == nil {
			at = h.Latest.Hash
		}
		select {
		case <-ctx.Done():
			if !answered {
				return never, last
			}
			if missing > 0 {
				return never, nil
			}
			return later, nil
		case <-time.After(detectPause):
		}
	}
}
