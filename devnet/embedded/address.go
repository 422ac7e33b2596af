package embedded

import (
	"crypto/rand"
	"fmt"
	"net"
	"strconv"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/embedded/validator"
)

// Subnet is where a network's nodes live: node i at Prefix.(i+1) with the usual
// ports plus Shift.
type Subnet struct {
	Prefix string `json:"prefix"` // three bytes of 127.64.0.0/10, as 127.64.0
	Shift  int    `json:"shift"`  // 0 unless somebody holds a usual port on all addresses
}

// The usual ports of go-ethereum and CometBFT.
const (
	portHTTP         = 8545
	portWS           = 8546
	portGethMetrics  = 6060
	portCometMetrics = 26660
	portCometRPC     = 26657
	portDevP2P       = 30303
	portCometP2P     = 26656

	portProxy = 8544 // of JSON-RPC, where there is one

	portGuard = 26655 // held on the links' address for as long as the network lives
	maxShift  = 20000
)

func (s Subnet) at(host, port int) string {
	return net.JoinHostPort(s.Prefix+"."+strconv.Itoa(host), strconv.Itoa(port+s.Shift))
}

// linkHost is the address of the links' near ends.
func (s Subnet) linkHost() string { return s.Prefix + ".254" }

// listen returns the servers of validator i.
func (s Subnet) listen(i int) validator.Listen {
	return validator.Listen{
		HTTP:         s.at(i+1, portHTTP),
		WS:           s.at(i+1, portWS),
		GethMetrics:  s.at(i+1, portGethMetrics),
		CometMetrics: s.at(i+1, portCometMetrics),
		CometRPC:     s.at(i+1, portCometRPC),
		DevP2P:       s.at(i+1, portDevP2P),
		CometP2P:     s.at(i+1, portCometP2P),
	}
}

// reserve takes a subnet for n nodes: old, where that is still free, otherwise a
// random one. The guard holds it against other networks of jepgo until it is
// closed; the ports were all free when reserve returned. Two networks on the same
// subnet and shift would need the same guard.
func reserve(old Subnet, n int) (Subnet, net.Listener, error) {
	if old.Prefix != "" {
		if guard, err := old.claim(n); err == nil {
			return old, guard, nil
		}
	}
	var last error
	for shift := 0; shift <= maxShift; shift += 1000 {
		for range 3 {
			prefix, err := randomPrefix()
			if err != nil {
				return Subnet{}, nil, err
			}
			s := Subnet{Prefix: prefix, Shift: shift}
			guard, err := s.claim(n)
			if err == nil {
				return s, guard, nil
			}
			last = err
		}
	}
	return Subnet{}, nil, fmt.Errorf("addresses: no free ones in 127.64.0.0/10, not even with ports shifted by %d: %w", maxShift, last)
}

// randomPrefix does not follow the run's seed: two runs with the same seed at the
// same time must not meet.
func randomPrefix() (string, error) {
	var b [2]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("addresses: %w", err)
	}
	return fmt.Sprintf("127.%d.%d", 64+b[0]%64, b[1]), nil
}

// claim takes the guard of the subnet and checks that every port can be bound.
func (s Subnet) claim(n int) (net.Listener, error) {
	guard, err := net.Listen("tcp4", s.at(254, portGuard))
	if err != nil {
		return nil, err
	}
	for i := range n {
		l := s.listen(i)
		for _, addr := range []string{l.HTTP, l.WS, l.GethMetrics, l.CometMetrics, l.CometRPC, l.DevP2P, l.CometP2P} {
			ln, err := net.Listen("tcp4", addr)
			if err != nil {
				guard.Close()
				return nil, err
			}
			ln.Close()
		}
	}
	return guard, nil
}

// node describes validator i to everybody else.
func (s Subnet) node(i int, name, data, log string) devnet.Node {
	l := s.listen(i)
	return devnet.Node{
		Name: name,
		HTTP: "http://" + l.HTTP,
		WS:   "ws://" + l.WS,
		Metrics: map[string]string{
			"geth":     "http://" + l.GethMetrics + "/debug/metrics/prometheus",
			"cometbft": "http://" + l.CometMetrics + "/metrics",
		},
		Comet: "http://" + l.CometRPC,
		Dir:   data,
		Log:   log,
	}
}
