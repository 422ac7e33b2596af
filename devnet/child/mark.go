package child

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/jepgo/jepgo/devnet"
)

// The marks in the environment of a node's process, and of all that it starts.
const (
	markHome  = "JEPGO_DEVNET_NODE"  // directory of the node, absolute
	markOwner = "JEPGO_DEVNET_OWNER" // the process that started it, as pid@start
)

// Mark returns the environment variables that mark a process as this process's,
// for the node with that directory, which must be absolute and without links.
func Mark(home string) ([]string, error) {
	self, err := devnet.Lookup(os.Getpid())
	if err != nil {
		return nil, err
	}
	return []string{markHome + "=" + home, markOwner + "=" + self.String()}, nil
}

// Orphan is a process that Sweep found without the process that started it.
type Orphan struct {
	Home    string // directory of its node
	Process devnet.Identity
}

// String renders the orphan as its node's directory and process.
func (o Orphan) String() string { return fmt.Sprintf("process %s of %s", o.Process, o.Home) }

// parseOwner reads pid@start.
func parseOwner(text string) (devnet.Identity, bool) {
	pid, start, ok := strings.Cut(text, "@")
	p, err1 := strconv.Atoi(pid)
	s, err2 := strconv.ParseUint(start, 10, 64)
	return devnet.Identity{PID: p, Start: s}, ok && err1 == nil && err2 == nil && p > 0
}
