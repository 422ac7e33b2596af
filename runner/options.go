package runner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/devnet"
	"github.com/jepgo/jepgo/devnet/attach"
	"github.com/jepgo/jepgo/devnet/embedded/validator"
	"github.com/jepgo/jepgo/devnet/link/mechanism"
	"github.com/jepgo/jepgo/devnet/process"
	"github.com/jepgo/jepgo/nemesis"
	"github.com/jepgo/jepgo/store"
	"github.com/jepgo/jepgo/usage"
	"github.com/jepgo/jepgo/workloads"
)

// Options is everything a test is told. Check fills in what was left out.
type Options struct {
	Workloads   []string          // names in the registry of workloads
	Nemesis     string            // comma-joined fault names, or none
	Time        time.Duration     // length of the main phase
	Devnet      string            // devnet file, "" for the embedded devnet
	Nodes       int               // nodes of the devnet; 0 for as many as the devnet file has
	RPC         []string          // URLs of a running network; then Nodes is not used
	WS          []string          // WebSocket URLs of the same nodes, or none
	Comet       []string          // CometBFT URLs of the same nodes, or none
	Key         string            // hex key of a funded account on a running network, "" for the devnet's faucet
	Concurrency string            // client threads that submit transactions: 8, or 2n for twice the nodes
	Rate        float64           // client operations a second over all threads, 0 for as fast as they come
	Replay      *nemesis.Schedule // repeats the faults of an earlier run, in place of Nemesis
	Link        string            // what the devnet's links are made of, "" for proxies
	Quorum      string            // whom faults may hit together: any (or ""), or safe
	// Irreversible allows faults that destroy a node's data for good.
	Irreversible bool
	Interval     time.Duration // from a fault's start to its stop, and to the next start
	Seed         uint64        // every random choice comes from it
	Store        string        // directory that holds the runs
	Name         string        // name of the test in the store
	Keep         bool          // leave the embedded devnet up afterwards
	Bug          string        // planted bug of the embedded nodes, "" for honest ones
	Claim        string        // profile whose claims are made, "" to detect it
	OpTimeout    time.Duration // after which an operation is in doubt
	Version      string        // of jepgo, for the record
	Command      string        // the command line that repeats the run, for the record

	Log      *slog.Logger // also written to the run's jepgo.log
	Progress io.Writer    // where progress lines go, nil for nowhere
	Terminal bool         // Progress is a terminal: one line, redrawn

	file    *process.File // of Devnet; nil without one
	faults  []nemesis.Fault
	threads int
}

// Check reports the first option that cannot be used, as a *usage.Error that
// names its flag. Nothing has been started or written when it fails.
func (o *Options) Check() error {
	for _, name := range o.Workloads {
		if _, err := workloads.Get(name); err != nil {
			return usage.Errorf("--workload: %w", err)
		}
	}
	switch nemesis.Quorum(o.Quorum) {
	case "", nemesis.QuorumAny, nemesis.QuorumSafe:
	default:
		return usage.Errorf("--quorum %q: want any or safe", o.Quorum)
	}
	if o.Claim != "" {
		if _, err := claims.ParseLevel(o.Claim); err != nil {
			return usage.Errorf("--claim: %w", err)
		}
	}
	if err := store.CheckName(o.Name); err != nil {
		return usage.Errorf("--name: %w", err)
	}
	switch {
	case len(o.Workloads) == 0:
		return usage.Errorf("--workload is empty: want at least one name")
	case o.Time <= 0:
		return usage.Errorf("--time %s: want a duration above zero, such as 60s", o.Time)
	case o.Interval <= 0:
		return usage.Errorf("--nemesis-interval %s: want a duration above zero, such as 10s", o.Interval)
	case o.Rate < 0 || math.IsNaN(o.Rate) || math.IsInf(o.Rate, 0):
		return usage.Errorf("--rate %g: want operations a second, or 0 for no limit", o.Rate)
	case o.OpTimeout <= 0:
		return usage.Errorf("operation timeout %s: want a duration above zero", o.OpTimeout)
	}
	if o.Devnet != "" {
		if err := o.readDevnet(); err != nil {
			return err
		}
	}
	if err := o.checkOffers(); err != nil {
		return err
	}
	nodes := o.Nodes
	if len(o.RPC) > 0 {
		nodes = len(o.RPC)
		if err := o.checkAttached(o.Nemesis != "none"); err != nil {
			return err
		}
	} else if nodes < 1 || nodes > MaxNodes {
		return usage.Errorf("--nodes %d: want 1 to %d", nodes, MaxNodes)
	} else if o.Key != "" {
		return usage.Errorf("--key is for a running network: want --rpc URL,... with it")
	} else if len(o.WS)+len(o.Comet) > 0 {
		return usage.Errorf("--ws and --comet are for a running network: want --rpc URL,... with them")
	}
	if o.Bug != "" && !slices.Contains(Bugs(), o.Bug) {
		return usage.Errorf("--bug %q does not exist: %swant one of %s", o.Bug, usage.Meant(o.Bug, Bugs()), strings.Join(Bugs(), ", "))
	}
	if o.Link == "" {
		o.Link = mechanism.Proxy
	}
	reach, err := o.reach(nodes)
	if err != nil {
		return err
	}
	reach.Quorum, reach.Time = nemesis.Quorum(o.Quorum), o.Time
	if o.Replay != nil {
		if o.faults, err = o.Replay.Parse(reach); err != nil {
			return usage.Errorf("--replay: %w", err)
		}
	} else if o.faults, err = nemesis.Parse(o.Nemesis, reach); err != nil {
		if o.file != nil && reach.Links == nil && errors.Is(err, devnet.ErrNoControl) {
			return usage.Errorf("--nemesis %s: %s names no p2p ports, so the links between its nodes are out of reach", o.Nemesis, o.Devnet)
		}
		return usage.Errorf("--nemesis: %w", err)
	}
	o.threads, err = parseConcurrency(o.Concurrency, nodes)
	return err
}

// doubts are what Check allows and the person at the terminal may not have meant.
func (o *Options) doubts() (said []string) {
	turns := 0
	for _, f := range o.faults {
		if !strings.Contains(f.Name(), "@") {
			turns++
		}
	}
	if need := time.Duration(2*turns-1) * o.Interval; turns > 0 && o.Replay == nil && need > o.Time {
		said = append(said, fmt.Sprintf("%d faults need some %v, each %v in force and as long a rest before the next: in --time %v not all of them will be injected", turns, need, o.Interval, o.Time))
	}
	for _, b := range PlantedBugs() {
		if b.Name != o.Bug {
			continue
		}
		if b.Nemesis != "" && !slices.Contains(nemesis.Asked(o.Nemesis), b.Nemesis) {
			said = append(said, fmt.Sprintf("--bug %s shows only under --nemesis %s", b.Name, b.Nemesis))
		}
		for _, w := range b.Workloads {
			if !slices.Contains(o.Workloads, w) {
				said = append(said, fmt.Sprintf("--bug %s shows only with --workload %s", b.Name, strings.Join(b.Workloads, ",")))
				break
			}
		}
	}
	return said
}

// Offers is what the nodes will offer beside JSON-RPC over HTTP. Of a devnet file
// that cannot be read Check says why.
func (o *Options) Offers() (out workloads.Offers) {
	switch {
	case len(o.RPC) > 0:
		out = workloads.Offers{WS: len(o.WS) > 0, Comet: len(o.Comet) > 0}
	case o.Devnet == "":
		out = workloads.Offers{WS: true, Comet: true}
	default:
		if f, err := process.Read(o.Devnet); err == nil {
			out.WS, out.Comet = f.Serves()
		}
	}
	return out
}

// checkOffers looks for workloads that the network has no way for.
func (o *Options) checkOffers() error {
	offers := o.Offers()
	for _, name := range o.Workloads {
		w, err := workloads.Get(name)
		if err != nil {
			return err
		}
		if lacks := w.Lacks(offers); lacks != "" {
			where := "the nodes of " + o.Devnet + " do not all have one"
			if len(o.RPC) > 0 {
				where = "of the nodes behind --rpc none is known: name them with --ws or --comet"
			}
			return usage.Errorf("--workload %s: it needs %s, and %s: leave it out", name, lacks, where)
		}
	}
	return nil
}

// reach is what the nemesis will have power over.
func (o *Options) reach(nodes int) (nemesis.Reach, error) {
	if len(o.RPC) > 0 {
		return nemesis.Reach{Nodes: nodes}, nil
	}
	reach, err := EmbeddedReach(nodes, o.Link, o.Irreversible)
	if o.file != nil {
		reach.Configs, reach.Peers, reach.Disks = false, false, false
		_, reach.Proposers = o.file.Serves()
		reach.Metrics = o.file.HasMetrics()
		if !o.file.HasP2P() {
			reach.Links = nil
		}
	}
	return reach, err
}

// readDevnet reads the devnet file and checks what it does not go with.
func (o *Options) readDevnet() (err error) {
	if o.file, err = process.Read(o.Devnet); errors.Is(err, fs.ErrNotExist) {
		return usage.Errorf("--devnet %q: want embedded, or a devnet file: %w", o.Devnet, err)
	} else if err != nil {
		return usage.Errorf("--devnet: %w", err)
	}
	if _, err := claims.ParseProfile(o.file.Profile); err != nil {
		return usage.Errorf("--devnet: %s: %w", o.Devnet, err)
	}
	if o.Nodes != 0 && o.Nodes != o.file.Count() {
		if err := o.file.Resize(o.Nodes); err != nil {
			return usage.Errorf("--nodes: %w", err)
		}
	}
	o.Nodes = o.file.Count()
	switch {
	case len(o.RPC) > 0:
		return usage.Errorf("--devnet and --rpc exclude each other: a running network is not started")
	case o.Bug != "":
		return usage.Errorf("--bug %s: bugs are planted in the embedded devnet's nodes only: leave out --devnet", o.Bug)
	case o.Keep:
		return usage.Errorf("--keep: only the embedded devnet can be left up: leave out --devnet")
	}
	return nil
}

// EmbeddedReach is what the nemesis has power over on an embedded devnet whose
// links are made of that mechanism.
func EmbeddedReach(nodes int, link string, irreversible bool) (nemesis.Reach, error) {
	features, err := mechanism.Features(link)
	if err != nil {
		return nemesis.Reach{}, usage.Errorf("--link: %w", err)
	}
	if err := mechanism.Probe(link); err != nil {
		return nemesis.Reach{}, usage.Errorf("--link %s: %w", link, err)
	}
	return nemesis.Reach{
		Nodes: nodes, Processes: true, Links: features, Chain: true, Proposers: true, Configs: true, Peers: true, Disks: true, RPC: true, Irreversible: irreversible, Ops: true, Metrics: true,
	}, nil
}

// MaxNodes is how many nodes a devnet of jepgo's own may have.
const MaxNodes = process.MaxNodes

func (o *Options) checkAttached(faults bool) error {
	if err := o.endpoints().Check(); err != nil {
		return usage.Errorf("%w", err)
	}
	if faults {
		return usage.Errorf("--nemesis %s: the nodes behind --rpc were not started by this run, so their processes and links are out of reach: want --nemesis none", o.Nemesis)
	}
	if o.Bug != "" {
		return usage.Errorf("--bug %s: bugs are planted in the embedded devnet's nodes only: leave out --rpc", o.Bug)
	}
	if o.Keep {
		return usage.Errorf("--keep: the network behind --rpc is not jepgo's to stop or keep: leave it out")
	}
	return nil
}

func (o *Options) endpoints() attach.Endpoints {
	return attach.Endpoints{HTTP: o.RPC, WS: o.WS, Comet: o.Comet}
}

// PlantedBugs lists the bugs of the embedded nodes.
func PlantedBugs() []validator.Bug { return validator.Bugs() }

// Bugs lists what --bug takes.
func Bugs() []string {
	var names []string
	for _, b := range PlantedBugs() {
		names = append(names, b.Name)
	}
	return names
}

const maxThreads = 10_000

// parseConcurrency reads 8, or 2n for twice the number of nodes.
func parseConcurrency(s string, nodes int) (int, error) {
	factor, scaled := strings.CutSuffix(s, "n")
	n, err := strconv.Atoi(factor)
	if scaled && factor == "" {
		n, err = 1, nil
	}
	if err == nil && n > 0 && n <= maxThreads {
		if scaled {
			n *= nodes
		}
		if n <= maxThreads {
			return n, nil
		}
	}
	return 0, usage.Errorf("--concurrency %q: want a number of client threads such as 8, or 2n for twice the nodes, at most %d", s, maxThreads)
}
