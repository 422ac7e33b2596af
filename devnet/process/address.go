package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	// portGuard is held on the links' address for as long as the network lives: it
	// keeps other networks of jepgo, embedded ones too, off the subnet.
	portGuard = 26655
	linkByte  = ".254"

	// Free ports come from here: below what the kernel gives to connections, so that
	// a node finds its port free when it comes back.
	lowestPort, highestPort = 10000, 30000
)

// takeSubnet takes a random subnet of 127.64.0.0/10 for a network. It does not
// follow the run's seed: two runs with the same seed at the same time must not
// meet.
func takeSubnet() (prefix string, guard net.Listener, err error) {
	for range 10 {
		prefix = fmt.Sprintf("127.%d.%d", 64+rand.IntN(64), rand.IntN(256))
		if guard, err = net.Listen("tcp4", prefix+linkByte+":"+strconv.Itoa(portGuard)); err == nil {
			return prefix, guard, nil
		}
	}
	return "", nil, fmt.Errorf("addresses: no free subnet in 127.64.0.0/10: %w", err)
}

// drawPorts gives every node a number for each of its ports: those that are free
// to be drawn are different in the whole network, as some clients bind all
// addresses, and were all free a moment ago.
func drawPorts(hosts []string, specs []spec) ([]map[string]int, error) {
	next := lowestPort + rand.IntN((highestPort-lowestPort)/2)
	drawn := make([]map[string]int, len(specs))
	for i, s := range specs {
		drawn[i] = make(map[string]int)
		for _, name := range sortedKeys(s.Ports) {
			p := s.Ports[name]
			if !p.free {
				if err := bindable(hosts[i], p.number); err != nil {
					return nil, fmt.Errorf("node %s: port %s: %w", nodeName(i), name, err)
				}
				drawn[i][name] = p.number
				continue
			}
			for {
				if next++; next > highestPort {
					return nil, fmt.Errorf("node %s: port %s: %w", nodeName(i), name, errNoPort)
				}
				if bindable(hosts[i], next) == nil && bindable("", next) == nil {
					drawn[i][name] = next
					break
				}
			}
		}
	}
	return drawn, nil
}

var errNoPort = errors.New("no free one is left")

func bindable(host string, port int) error {
	ln, err := net.Listen("tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return ln.Close()
}
