package embedded

import (
	"errors"
	"fmt"

	"github.com/jepgo/jepgo/devnet/disk"
)

// mountDisks puts every node's data directory on a disk that can be made faulty.
// The directories themselves are as ever, and usable without the disks; the nodes
// see them through the mounts. It comes after the databases were made: this
// process must have no file open on a disk of its own.
func (n *Network) mountDisks() error {
	n.disks = make(map[string]*disk.Disk)
	for _, name := range n.state.Names {
		d, err := disk.Mount(disk.Options{
			Dir: dataPath(n.dir, name), Mount: diskPath(n.dir, name), Seed: linkSeed(n.state.Seed + name), Name: name,
		})
		if err != nil {
			return fmt.Errorf("node %s: %w", name, err)
		}
		n.disks[name] = d
	}
	return nil
}

func (n *Network) closeDisks() error {
	var errs []error
	for _, d := range n.disks {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}

// Disk is the disk that the node's data is on; nil when it is on none of ours.
func (n *Network) Disk(name string) *disk.Disk { return n.disks[name] }

// Dir is the node's data directory as the node sees it, "" when there is no such
// node.
func (n *Network) Dir(name string) string {
	if _, err := n.find(name); err != nil {
		return ""
	}
	return n.nodeDir(name)
}

// nodeDir is where a node keeps its data.
func (n *Network) nodeDir(name string) string {
	if n.state.Disks {
		return diskPath(n.dir, name)
	}
	return dataPath(n.dir, name)
}
