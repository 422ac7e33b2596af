//go:build !linux

package netns

import (
	"context"
	"errors"
	"net"
	"net/netip"
)

var errLinux = errors.New("network namespaces: only Linux has them")

// Room is a network namespace.
type Room struct{}

// NewRoom makes a namespace: not here.
func NewRoom(func(*Room) error) (*Room, error) { return nil, errLinux }

// OnThread runs f on a thread of its own.
func OnThread(f func()) { go f() }

// Do runs f in the namespace.
func (*Room) Do(func()) error { return net.ErrClosed }

// Dial connects from inside the namespace.
func (*Room) Dial(context.Context, netip.AddrPort) (net.Conn, error) { return nil, net.ErrClosed }

// Destroy breaks the namespace's connections between the two addresses.
func (*Room) Destroy(_, _ netip.Addr) ([]Connection, error) { return nil, net.ErrClosed }

// DestroyOne breaks that connection of the namespace.
func (*Room) DestroyOne(Connection) (bool, error) { return false, net.ErrClosed }

// Close ends the namespace.
func (*Room) Close() error { return nil }
