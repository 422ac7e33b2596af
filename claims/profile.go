package claims

import (
	"fmt"
	"strings"
)

// Profile is what kind of network this is, and so which claims are fair.
type Profile struct {
	Name string
	Doc  string // one sentence: what it promises
	// FinalTag is the block tag whose answers are final: latest on a chain with
	// instant finality, finalized where the head may reorganise, "" for none.
	FinalTag string
}

// Block tags of the profiles.
const (
	latest    = "latest"
	finalized = "finalized"
)

// Profiles lists the profiles. To add one, add it here.
func Profiles() []Profile {
	return []Profile{
		{"bft", "What a node shows at latest is final, as on CometBFT or QBFT.", latest},
		{"pos", "The head may reorganise, what a node shows at finalized stays, as on Ethereum's proof of stake.", finalized},
		{"longest-chain", "The head may reorganise and nothing is final by itself, as on Clique or proof of work.", ""},
	}
}

// ProfileNames lists the names of Profiles.
func ProfileNames() []string {
	var names []string
	for _, p := range Profiles() {
		names = append(names, p.Name)
	}
	return names
}

// ParseProfile returns the profile of that name.
func ParseProfile(name string) (Profile, error) {
	for _, p := range Profiles() {
		if p.Name == name {
			return p, nil
		}
	}
	return Profile{}, fmt.Errorf("profile %q does not exist, want one of %s", name, strings.Join(ProfileNames(), ", "))
}
