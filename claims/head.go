package claims

import (
	"fmt"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/checker/chain"
)

// head claims that nodes agree on blocks, and that what is final stays.
func head() claim {
	return claim{
		workload: "head",
		streams: func(p Profile, r *chain.Reader) []checker.Stream {
			return []checker.Stream{r.Fork(p.FinalTag), r.Finality(p.FinalTag)}
		},
		notClaimed: func(p Profile) []string {
			switch p.FinalTag {
			case latest:
				return nil
			case "":
				return []string{fmt.Sprintf("No block is claimed to be final: the profile %s has no final tag. Reorganisations are measured.", p.Name)}
			}
			return []string{fmt.Sprintf("Blocks above %s are not claimed to stay: under the profile %s the head may reorganise. Reorganisations are measured.", p.FinalTag, p.Name)}
		},
	}
}
