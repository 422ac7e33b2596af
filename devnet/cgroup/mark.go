package cgroup

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jepgo/jepgo/devnet"
)

// Mark is what the name of a group says: whose it is.
type Mark struct {
	Owner devnet.Identity // the process that made it and must remove it
	Node  string

	target devnet.Identity // the process that it was made for
	home   string          // where its process comes from, relative to the group above
	space  string          // the pid namespace in which Owner counts
}

const (
	prefix = "jepgo"
	sep    = ":"
	// longestName is what Linux allows.
	longestName = 255
)

var errNoMark = errors.New("carries no mark of ours")

// Mine is the mark of this process for a node.
func Mine(node string) (Mark, error) {
	self, err := devnet.Lookup(os.Getpid())
	return Mark{Owner: self, Node: node}, err
}

// name renders the mark: jepgo:PID:START:SPACE:NODE:TARGET:START:HOME.
func (m Mark) name() (string, error) {
	space := m.space
	if space == "" {
		space = pidSpace()
	}
	home := m.home
	if home == "." {
		home = ""
	}
	parts := []string{prefix, strconv.Itoa(m.Owner.PID), strconv.FormatUint(m.Owner.Start, 10), space, escape(m.Node),
		strconv.Itoa(m.target.PID), strconv.FormatUint(m.target.Start, 10), escape(home)}
	name := strings.Join(parts, sep)
	if len(name) > longestName {
		return "", fmt.Errorf("control group for node %q: name of %d bytes, expected at most %d: the group %q that its process is in lies too deep", m.Node, len(name), longestName, m.home)
	}
	return name, nil
}

// escape leaves neither slashes nor separators.
func escape(s string) string { return strings.ReplaceAll(url.PathEscape(s), sep, "%3A") }

func parseMark(name string) (Mark, error) {
	parts := strings.Split(name, sep)
	if len(parts) != 8 || parts[0] != prefix {
		return Mark{}, errNoMark
	}
	owner, err1 := parseIdentity(parts[1], parts[2])
	node, err2 := url.PathUnescape(parts[4])
	target, err3 := parseIdentity(parts[5], parts[6])
	home, err4 := url.PathUnescape(parts[7])
	if errors.Join(err1, err2, err3, err4) != nil {
		return Mark{}, errNoMark
	}
	return Mark{owner, node, target, home, parts[3]}, nil
}

func parseIdentity(pid, start string) (id devnet.Identity, err error) {
	if id.PID, err = strconv.Atoi(pid); err != nil {
		return id, err
	}
	id.Start, err = strconv.ParseUint(start, 10, 64)
	return id, err
}

// homeOf is the directory that the process of the group at path comes from.
func (m Mark) homeOf(path string) string { return filepath.Join(filepath.Dir(path), m.home) }

// orphaned reports whether the owner is gone. Of an owner in another pid
// namespace nothing is known.
func (m Mark) orphaned() bool { return m.space == pidSpace() && !devnet.Alive(m.Owner) }

// pidSpace names the pid namespace of this process.
func pidSpace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "0"
	}
	return strings.Trim(strings.TrimPrefix(link, "pid:"), "[]")
}
