package netns

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"
)

// TestDestroyedConnectionsLeaveTheListener: breaking a connection that has ended
// already, or was never made, breaks nothing else.
func TestDestroyedConnectionsLeaveTheListener(t *testing.T) {
	r, err := NewRoom(func(*Room) error { return nil })
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	defer r.Release()
	defer r.Close()
	var ln net.Listener
	var plain net.ListenConfig
	plain.SetMultipathTCP(false) // whose listeners the kernel protects
	if closed := r.Do(func() { ln, err = plain.Listen(t.Context(), "tcp4", "127.0.0.1:0") }); closed != nil || err != nil {
		t.Fatal(closed, err)
	}
	defer ln.Close()
	to := ln.Addr().(*net.TCPAddr).AddrPort()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	open := func() (near, far net.Conn) {
		t.Helper()
		near, err := r.Dial(ctx, to)
		if err != nil {
			t.Fatalf("nobody listens any more: %v", err)
		}
		if far, err = ln.Accept(); err != nil {
			t.Fatal(err)
		}
		return near, far
	}
	near, far := open()
	defer near.Close()
	defer far.Close()
	c := Connection{Local: to, Remote: near.LocalAddr().(*net.TCPAddr).AddrPort()}
	for i, want := range []bool{true, false} {
		if was, err := r.DestroyOne(c); err != nil || was != want {
			t.Errorf("time %d: DestroyOne(%v) = %v, %v, want %v", i+1, c, was, err, want)
		}
	}
	never := Connection{Local: to, Remote: netip.MustParseAddrPort("127.0.0.1:9")}
	if was, err := r.DestroyOne(never); err != nil || was {
		t.Errorf("DestroyOne(%v) = %v, %v, want false", never, was, err)
	}
	near, far = open()
	defer near.Close()
	defer far.Close()
	if broken, err := r.Destroy(to.Addr(), to.Addr()); err != nil || len(broken) == 0 {
		t.Errorf("Destroy broke %v, %v, want the connection", broken, err)
	}
	open()
}
