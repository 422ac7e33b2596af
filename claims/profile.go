package claims

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/usage"
)

// Profile is what kind of network this is, and so which claims are fair.
type Profile struct {
	Name string
	Doc  string // one sentence: what it promises
	// FinalTag is the block tag whose answers are final: latest on a chain with
	// instant finality, finalized where the head may reorganise, "" for none.
	FinalTag string
	// Depth is how many blocks of the head a reorganisation may take back before
	// that is worth a warning, 0 where none may. A network's own bound goes before.
	Depth int
	// OneNode: all answers come from one node, so that reading is as good as
	// sending a transaction.
	OneNode bool
	// Tags say what an answer at each tag is worth, in the order latest, safe,
	// finalized, pending.
	Tags [4]string
	// Detected says how the profile is found out, "" for one that must be asked for.
	Detected string
}

// Block tags of the profiles.
const (
	latest    = "latest"
	finalized = "finalized"
)

// Profiles lists the profiles. To add one, add it here.
func Profiles() []Profile {
	const sample = "a sample: nothing is claimed of it"
	return []Profile{
		{
			Name: "bft", FinalTag: latest,
			Doc: "What a node shows at latest is final while less than a third of the voting power is faulty, as on CometBFT, IBFT and QBFT.",
			Tags: [4]string{"final: it never changes, on no node, and transactions are linearizable",
				"the same as latest, where it is served", "the same as latest, where it is served", sample},
			Detected: "every node shows the same block at latest and finalized, at several heights",
		},
		{
			Name: "pos", FinalTag: finalized, Depth: 64,
			Doc: "The head may reorganise, what a node shows at finalized stays, as on Ethereum's proof of stake.",
			Tags: [4]string{"may be taken back: one client of one node sees time go forward unless the head was",
				"justified: may move back when the consensus layer reorganises, which is a warning",
				"final: it never changes, on no node, and its number never falls", sample},
			Detected: "nodes serve finalized, behind latest",
		},
		{
			Name: "longest-chain", Depth: 64,
			Doc: "The head may reorganise and nothing is final by itself, as on Clique, proof of work, or Bor before a milestone.",
			Tags: [4]string{"may be taken back, to the depth that the network bounds", "nothing: it is not served",
				"nothing: it is not served; where a node serves one, a change of it is a warning", sample},
			Detected: "no node serves finalized",
		},
		{
			Name: "rollup", FinalTag: finalized, Depth: 3600,
			Doc: "The head is one sequencer's word, safe is derived from the layer below, and finalized is final there, as on the OP stack.",
			Tags: [4]string{"unsafe: one sequencer's word, which an expired window, a reorganisation below or another sequencer takes back",
				"derived: moves back only when the layer below reorganises, which is a warning",
				"final: it never changes, on no node, and its number never falls", sample},
		},
		{
			Name: "single", FinalTag: latest, OneNode: true,
			Doc: "One node makes all blocks, as anvil, hardhat and geth --dev do.",
			Tags: [4]string{"final: nobody else could take it back, and reads are linearizable as transactions are",
				"some blocks behind latest, by the node's own rule", "some blocks behind latest, by the node's own rule",
				"a sample: it may have no hash"},
			Detected: "there is one node, and its version says that it is one of these",
		},
	}
}

// levels are claims that --claim takes besides the names of profiles: what shall
// be final, whatever the kind of network.
var levels = []struct{ name, profile, doc string }{
	{"final", "bft", "what a node shows at latest is final"},
	{"finalized", "pos", "what a node shows at finalized is final"},
	{"none", "longest-chain", "nothing is final"},
}

// ProfileNames lists the names of Profiles.
func ProfileNames() []string {
	var names []string
	for _, p := range Profiles() {
		names = append(names, p.Name)
	}
	return names
}

// Levels lists what --claim takes: the profiles, and what shall be final.
func Levels() []string {
	names := ProfileNames()
	for _, l := range levels {
		names = append(names, l.name)
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
	return Profile{}, fmt.Errorf("profile %q does not exist: %swant one of %s", name, usage.Meant(name, ProfileNames()), strings.Join(ProfileNames(), ", "))
}

// ParseLevel returns the profile whose claims a --claim stands for.
func ParseLevel(name string) (Profile, error) {
	for _, l := range levels {
		if l.name == name {
			return ParseProfile(l.profile)
		}
	}
	if !slices.Contains(ProfileNames(), name) {
		return Profile{}, fmt.Errorf("claim %q does not exist: %swant one of %s", name, usage.Meant(name, Levels()), strings.Join(Levels(), ", "))
	}
	return ParseProfile(name)
}

// Explain prints a profile: what its tags are worth, which checkers judge which
// workload, and what is not claimed.
func (p Profile) Explain() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", p.Doc)
	for i, tag := range []string{latest, "safe", finalized, "pending"} {
		fmt.Fprintf(&b, "  %-10s %s\n", tag, p.Tags[i])
	}
	if p.Depth > 0 {
		fmt.Fprintf(&b, "A reorganisation of more than %d blocks is reported as odd, unless the network has a bound of its own.\n", p.Depth)
	}
	if p.Detected != "" {
		fmt.Fprintf(&b, "Found out when %s.\n", p.Detected)
	} else {
		fmt.Fprintf(&b, "Never found out, as other networks look the same: ask for it with --claim %s.\n", p.Name)
	}
	b.WriteString("Judged:\n")
	fmt.Fprintf(&b, "  %-10s %s\n", "always", strings.Join(p.judges(nil), " "))
	var said []string
	for _, c := range all() {
		names := p.judges([]string{c.workload})
		said = append(said, names...)
		fmt.Fprintf(&b, "  %-10s %s\n", c.workload, strings.Join(names, " "))
	}
	together := slices.DeleteFunc(p.judges(Workloads()), func(name string) bool { return slices.Contains(said, name) })
	fmt.Fprintf(&b, "  %-10s %s\n", "together", strings.Join(together, " "))
	b.WriteString("Not claimed:\n")
	said = nil
	for _, c := range all() {
		for _, s := range c.notClaimed(p) {
			if !slices.Contains(said, s) {
				said = append(said, s)
				fmt.Fprintf(&b, "  %s\n", s)
			}
		}
	}
	for _, l := range levels {
		if l.profile == p.Name {
			fmt.Fprintf(&b, "--claim %s, for any network: %s.\n", l.name, l.doc)
		}
	}
	return b.String()
}

// judges lists the checkers that judge such workloads together, without those
// that judge every run; for no workload, those.
func (p Profile) judges(workloads []string) []string {
	info := checker.TestInfo{Profile: p.Name, Workloads: workloads}
	if workloads == nil {
		info.Workloads = Workloads()[:1]
	}
	streams, _, err := Streams(info)
	if err != nil {
		return nil
	}
	var names []string
	for i, s := range streams {
		if (i < always) == (workloads == nil) {
			names = append(names, s.Name())
		}
	}
	return names
}
