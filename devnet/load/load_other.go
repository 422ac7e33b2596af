//go:build !linux

package load

import (
	"context"
	"errors"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

var errNotLinux = errors.New("load helpers need Linux")

// Start needs Linux.
func Start(ctx context.Context, mark string, w Work) (*Helper, error) { return nil, errNotLinux }

// Alive is false: there are no helpers.
func (h *Helper) Alive() bool { return false }

// Stop has nothing to do.
func (h *Helper) Stop(ctx context.Context) error { return nil }

// End needs Linux.
func End(ctx context.Context, mark string) (int, error) { return 0, errNotLinux }

// Leftovers needs Linux.
func Leftovers() ([]devnet.Identity, error) { return nil, nil }

// Cores needs Linux.
func Cores(id devnet.Identity) ([]int, error) { return nil, errNotLinux }

// Waited needs Linux.
func Waited(id devnet.Identity) (time.Duration, error) { return 0, errNotLinux }

func (w Work) do() error { return errNotLinux }

// EndOne has nothing to end.
func EndOne(ctx context.Context, id devnet.Identity) error { return nil }

// Find needs Linux.
func Find(mark string) ([]devnet.Identity, error) { return nil, errNotLinux }
