package process

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/link"
)

// plan is one node with every template filled in.
type plan struct {
	at      place // of its command in the file
	node    devnet.Node
	home    string
	data    string
	files   map[string]string // path in home → content
	init    [][]string
	command []string
	env     []string // beside this process's own
	open    string   // host:port that must be open for it to be ready, as the node has it
	log     *regexp.Regexp
	rpc     bool
	synced  bool
	timeout time.Duration
	power   int64
}

// draft is a network that has its addresses, and is being filled in.
type draft struct {
	n     *Network
	specs []spec
	views []*view
	asked *bool
}

// survey draws the addresses and fills in what others may look at: hosts, ports
// and vars.
func (n *Network) survey() (*draft, error) {
	f := n.o.File
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	d := &draft{n: n, asked: new(bool)}
	var hosts []string
	faucet := ""
	if f.FaucetKey != "" {
		if faucet, err = address(f.FaucetKey); err != nil {
			return nil, fmt.Errorf("%s: faucet_key: %w", f.path, err)
		}
	}
	started := time.Now().UTC().Format(time.RFC3339)
	for i, name := range n.homes.names {
		s, home := f.node(i), filepath.Join(n.dir, name)
		v := &view{
			Name: name, Number: i + 1, Index: i, Role: s.Role, Host: n.homes.host(i),
			Home: home, Data: filepath.Join(home, dataDir), ChainID: f.ChainID, Period: max(1, int(f.BlockTime/time.Second)),
			Faucet: faucet, Started: started, Seed: n.o.Seed, Jepgo: self, FileDir: filepath.Dir(f.path),
			funded: n.o.Alloc, asked: d.asked,
		}
		if s.Host.set && n.homes.spaces == nil {
			if v.Host, err = s.Host.fill(f, n.o.Seed, v); err != nil {
				return nil, err
			}
			if net.ParseIP(v.Host) == nil {
				return nil, fmt.Errorf("%s:%d:%d: host: %q, expected an address of this machine", f.path, s.Host.line, s.Host.column, v.Host)
			}
		}
		hosts, d.specs, d.views = append(hosts, v.Host), append(d.specs, s), append(d.views, v)
	}
	ports, err := n.homes.drawPorts(hosts, d.specs)
	if err != nil {
		return nil, err
	}
	for i, v := range d.views {
		v.Ports = ports[i]
		vars := make(map[string]string)
		for _, name := range sortedKeys(d.specs[i].Vars) {
			if vars[name], err = d.specs[i].Vars[name].fill(f, n.o.Seed, v); err != nil {
				return nil, err
			}
		}
		v.Vars = vars // not before: they see no other, whatever their order
	}
	for _, v := range d.views {
		v.Nodes = d.views
	}
	return d, nil
}

// protocols are those that some node has behind links.
func (d *draft) protocols() []string {
	var all []string
	for _, s := range d.specs {
		all = append(all, sortedKeys(s.P2P)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// target is where a node listens for a protocol.
func (d *draft) target(name, protocol string) string {
	i := slices.Index(d.n.homes.names, name)
	port, ok := d.specs[i].P2P[protocol]
	if !ok {
		return ""
	}
	return net.JoinHostPort(d.views[i].Host, strconv.Itoa(d.views[i].Ports[port]))
}

// fill fills everything in, now that the links are there.
func (d *draft) fill(dial func(link.Edge, string) string) (map[string]*plan, error) {
	plans := make(map[string]*plan)
	for i, v := range d.views {
		for j, other := range d.views {
			if i == j {
				continue
			}
			p := peer{other, make(map[string]string)}
			for protocol := range d.specs[j].P2P {
				p.Dial[protocol] = dial(link.Edge{From: v.Name, To: other.Name}, protocol)
			}
			v.Peers = append(v.Peers, p)
		}
		p, err := d.plan(d.specs[i], v)
		if err != nil {
			return nil, err
		}
		plans[v.Name] = p
	}
	return plans, nil
}

func (d *draft) plan(s spec, v *view) (*plan, error) {
	var first error
	fill := func(t text) string {
		out, err := t.fill(d.n.o.File, d.n.o.Seed, v)
		if first == nil {
			first = err
		}
		return out
	}
	fillAll := func(ts []text) []string {
		var out []string
		for _, t := range ts {
			if one := fill(t); one != "" {
				out = append(out, one)
			}
		}
		return out
	}
	// reached is a URL of the node as everybody else reaches it.
	reached := func(url string) string {
		out, err := d.n.homes.url(v.Name, url)
		if first == nil && err != nil {
			first = fmt.Errorf("%s: node %s: %q: %w", d.n.o.File.path, v.Name, url, err)
		}
		return out
	}
	fillMap := func(ts map[string]text) map[string]string {
		out := make(map[string]string)
		for _, name := range sortedKeys(ts) {
			out[name] = fill(ts[name])
		}
		return out
	}
	p := &plan{
		at: s.Command[0].place, home: v.Home, data: v.Data, power: max(1, s.Power),
		files: fillMap(s.Files), command: fillAll(s.Command),
		node: devnet.Node{
			Name: v.Name, Role: v.Role, HTTP: fill(s.HTTP), WS: fill(s.WS), Comet: reached(fill(s.Comet)), Metrics: fillMap(s.Metrics),
			P2P: make(map[string]string), Dir: v.Data, Log: filepath.Join(v.Home, logFile),
		},
		rpc: s.Ready.RPC == nil || *s.Ready.RPC, synced: s.Ready.Synced == nil || *s.Ready.Synced, timeout: s.Ready.Timeout,
	}
	for name, value := range fillMap(s.Env) {
		p.env = append(p.env, name+"="+value)
	}
	for _, one := range s.Init {
		p.init = append(p.init, fillAll(one))
	}
	for protocol := range s.P2P {
		p.node.P2P[protocol] = d.target(v.Name, protocol)
	}
	at := func(port string) string { return net.JoinHostPort(v.Host, strconv.Itoa(v.Ports[port])) }
	if !s.HTTP.set {
		p.node.HTTP = "http://" + at("http")
	}
	if _, ok := s.Ports["ws"]; ok && !s.WS.set {
		p.node.WS = "ws://" + at("ws")
	}
	p.node.HTTP, p.node.WS = reached(p.node.HTTP), reached(p.node.WS)
	for name, url := range p.node.Metrics {
		p.node.Metrics[name] = reached(url)
	}
	if s.Ready.Port != "" {
		p.open = at(s.Ready.Port)
	}
	if s.Ready.Log.set {
		p.log = regexp.MustCompile(s.Ready.Log.source) // checked when it was read
	}
	if p.timeout == 0 {
		p.timeout = defaultTimeout
	}
	if first == nil && len(p.command) == 0 {
		first = fmt.Errorf("%s:%d:%d: command: empty once filled in, expected a program", d.n.o.File.path, p.at.line, p.at.column)
	}
	return p, first
}

// program is where the program of a command is: a path with a slash counts from
// the directory of the file, a name is looked for in PATH.
func (f *File) program(name string) string {
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		return filepath.Join(filepath.Dir(f.path), name)
	}
	return name
}
