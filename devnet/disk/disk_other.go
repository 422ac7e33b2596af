//go:build !linux

package disk

import (
	"errors"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

var errOther = errors.New("faulty disks need Linux and FUSE")

// Disk is one disk; there is none on this system.
type Disk struct{}

// Mount returns an error on this system.
func Mount(Options) (*Disk, error) { return nil, errOther }

// Probe says why there are no disks on this system.
func Probe() error { return errOther }

func (d *Disk) Dir() string                 { return "" }
func (d *Disk) Backing() string             { return "" }
func (d *Disk) Source() string              { return "" }
func (d *Disk) Counters() Counters          { return Counters{} }
func (d *Disk) Mounted() bool               { return false }
func (d *Disk) Dirty() int64                { return 0 }
func (d *Disk) Set(Fault) error             { return errOther }
func (d *Disk) Clear()                      {}
func (d *Disk) InPlace() error              { return errOther }
func (d *Disk) Remount() error              { return errOther }
func (d *Disk) Flush() error                { return errOther }
func (d *Disk) Close() error                { return nil }
func (d *Disk) Crash(float64) (Lost, error) { return Lost{}, errOther }

func (d *Disk) Fill(string, int64) (int64, uint64, error) { return 0, 0, errOther }
func (d *Disk) Unfill(string, uint64) error               { return errOther }
func (d *Disk) Free() (int64, error)                      { return 0, errOther }

// Canary is a file of our own on a disk.
type Canary struct{}

func (d *Disk) NewCanary() (*Canary, error)          { return nil, errOther }
func (c *Canary) Write(int64) (time.Duration, error) { return 0, errOther }
func (c *Canary) Read() (time.Duration, int, error)  { return 0, 0, errOther }
func (c *Canary) Rewrite() (bool, error)             { return false, errOther }
func (c *Canary) Sync() (time.Duration, error)       { return 0, errOther }
func (c *Canary) Close() error                       { return nil }

// Leftover is a mount whose owner is gone.
type Leftover struct {
	Mount  string
	Source string
	Name   string
	Owner  devnet.Identity
}

// Leftovers lists none on this system.
func Leftovers() ([]Leftover, error) { return nil, nil }

// Detach has nothing to do on this system.
func Detach(Leftover) error { return nil }
