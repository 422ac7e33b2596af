package netns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"time"
)

// Start starts cmd inside the node's namespace, as cmd.Start does. The thread that
// starts it lives until Close, so that a Pdeathsig kills the process when this
// process or the links end, and not before.
func (in *Inside) Start(node string, cmd *exec.Cmd) error {
	n, err := in.place(node)
	if err != nil {
		return err
	}
	var started error
	if err := n.room.Do(func() { started = cmd.Start() }); err != nil {
		return fmt.Errorf("node %s: %w", node, err)
	}
	return started
}

// Listen listens for plain TCP, as most nodes do, inside the node's namespace, at an
// address with a literal IP. The caller closes the listener.
func (in *Inside) Listen(node, addr string) (net.Listener, error) {
	n, ap, err := in.target(node, addr)
	if err != nil {
		return nil, err
	}
	var ln net.Listener
	var failed error
	var plain net.ListenConfig
	plain.SetMultipathTCP(false)
	if err := n.room.Do(func() { ln, failed = plain.Listen(in.ctx, "tcp4", ap.String()) }); err != nil {
		return nil, fmt.Errorf("node %s: %w", node, err)
	}
	return ln, failed
}

// ListenPacket listens for UDP inside the node's namespace, as Listen does for TCP.
func (in *Inside) ListenPacket(node, addr string) (net.PacketConn, error) {
	n, ap, err := in.target(node, addr)
	if err != nil {
		return nil, err
	}
	var c net.PacketConn
	var failed error
	if err := n.room.Do(func() { c, failed = net.ListenPacket("udp4", ap.String()) }); err != nil {
		return nil, fmt.Errorf("node %s: %w", node, err)
	}
	return c, failed
}

// Dial connects over TCP from inside the node's namespace to an address with a
// literal IP: 127.0.0.1 there is the node itself, and other nodes are behind its
// links. The caller closes the connection.
func (in *Inside) Dial(ctx context.Context, node, addr string) (net.Conn, error) {
	n, ap, err := in.target(node, addr)
	if err != nil {
		return nil, err
	}
	conn, err := n.room.Dial(ctx, ap)
	if err != nil {
		return nil, fmt.Errorf("dial %s inside node %s: %w", ap, node, err)
	}
	return conn, nil
}

// Break breaks the connections between two nodes, in the namespaces of those that
// are listed in at, and returns how many there were.
func (in *Inside) Break(from, to string, at ...string) (int, error) {
	broken := make(map[Connection]struct{}) // as from sees them
	for _, node := range at {
		here, there := in.places[from], in.places[to]
		if node == to {
			here, there = there, here
		}
		conns, err := here.room.Destroy(here.addr, there.addr)
		if err != nil {
			return len(broken), err
		}
		for _, c := range conns {
			if node == to {
				c = Connection{Local: c.Remote, Remote: c.Local}
			}
			broken[c] = struct{}{}
		}
	}
	return len(broken), nil
}

func (in *Inside) target(node, addr string) (*place, netip.AddrPort, error) {
	n, err := in.place(node)
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	ap, err := netip.ParseAddrPort(addr)
	if err != nil || !ap.Addr().Is4() {
		return nil, netip.AddrPort{}, fmt.Errorf("address %q: expected an IPv4 address and a port", addr)
	}
	return n, ap, nil
}

// Bounds of a forwarder.
const (
	maxForwarded   = 1024 // connections at a time; more wait to be accepted
	forwardTimeout = 10 * time.Second
)

// Forward listens at an address of the host and joins every connection with one
// to addr inside the node's namespace, such as 127.0.0.1:8545: what is reached so
// is reached whatever happens to the links. Nobody listening inside looks like a
// connection that is reset at once. It returns where it listens, until Close. An
// idle forwarder costs nothing, a connection two goroutines and a splice.
func (in *Inside) Forward(node, hostListen, addr string) (net.Addr, error) {
	if _, _, err := in.target(node, addr); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", hostListen)
	if err != nil {
		return nil, fmt.Errorf("forward to node %s: %w", node, err)
	}
	if !in.enrol(ln) {
		return nil, fmt.Errorf("forward to node %s: %w", node, net.ErrClosed)
	}
	go func() {
		defer in.dismiss(ln)
		in.forward(ln, node, addr)
	}()
	return ln.Addr(), nil
}

// forward takes the connections of one listener until it is closed.
func (in *Inside) forward(ln net.Listener, node, addr string) {
	places := make(chan struct{}, maxForwarded)
	for {
		select {
		case places <- struct{}{}:
		case <-in.ctx.Done():
			return
		}
		near, err := ln.Accept()
		switch {
		case err == nil:
			if !in.enrol(near) {
				return
			}
			go func() {
				defer func() { <-places }()
				defer in.dismiss(near)
				in.join(near.(*net.TCPConn), node, addr)
			}()
		case errors.Is(err, net.ErrClosed):
			return
		default:
			// Out of file descriptors, most likely: let some be closed.
			<-places
			select {
			case <-in.ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}

// join carries one connection until both of its directions have ended.
func (in *Inside) join(near *net.TCPConn, node, addr string) {
	ctx, cancel := context.WithTimeout(in.ctx, forwardTimeout)
	conn, err := in.Dial(ctx, node, addr)
	cancel()
	if err != nil {
		near.SetLinger(0)
		return
	}
	far := conn.(*net.TCPConn)
	if !in.enrol(far) {
		return
	}
	defer in.dismiss(far)
	back := make(chan struct{})
	go func() {
		defer close(back)
		pump(near, far)
	}()
	pump(far, near)
	<-back
}

// pump moves bytes until src ends, and passes on how it did. Between two sockets
// io.Copy is a splice: the bytes stay in the kernel.
func pump(dst, src *net.TCPConn) {
	if _, err := io.Copy(dst, src); err == nil {
		dst.CloseWrite()
		return
	}
	for _, c := range []*net.TCPConn{dst, src} {
		c.SetLinger(0)
		c.Close()
	}
}

// enrol has Close close c and wait for its dismissal; when that has begun already,
// it closes c and is false.
func (in *Inside) enrol(c io.Closer) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		c.Close()
		return false
	}
	in.open[c] = struct{}{}
	in.wg.Add(1)
	return true
}

func (in *Inside) dismiss(c io.Closer) {
	defer in.wg.Done()
	c.Close()
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.open, c)
}
