package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	// Free ports come from here: below what the kernel gives to connections, so that
	// a node finds its port free when it comes back.
	lowestPort, highestPort = 10000, 30000
)

// drawPorts gives every node a number for each of its ports: those that are free
// to be drawn are different in the whole network, as some clients bind all
// addresses, and were all free a moment ago.
func (h *homes) drawPorts(hosts []string, specs []spec) ([]map[string]int, error) {
	next := lowestPort + rand.IntN((highestPort-lowestPort)/2)
	drawn := make([]map[string]int, len(specs))
	for i, s := range specs {
		drawn[i] = make(map[string]int)
		for _, name := range sortedKeys(s.Ports) {
			p := s.Ports[name]
			if !p.free {
				if err := h.free(hosts[i], p.number); err != nil {
					return nil, fmt.Errorf("node %s: port %s: %w", nodeName(i), name, err)
				}
				drawn[i][name] = p.number
				continue
			}
			for {
				if next++; next > highestPort {
					return nil, fmt.Errorf("node %s: port %s: %w", nodeName(i), name, errNoPort)
				}
				if h.free(hosts[i], next) == nil && h.free("", next) == nil {
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
