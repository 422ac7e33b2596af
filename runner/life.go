package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/devnet/attach"
	"github.com/jepgo/jepgo/history"
	"github.com/jepgo/jepgo/nemesis"
	"github.com/jepgo/jepgo/store"
	"github.com/jepgo/jepgo/usage"
	"github.com/jepgo/jepgo/workloads"
)

// test is one run under way.
type test struct {
	o       Options
	run     *store.Run
	log     *slog.Logger
	journal *journal

	attached  *attach.Network // nil where jepgo starts the nodes
	net       *network
	clients   []*client.Client
	comets    []*client.Comet // of every node, or none
	profile   claims.Profile
	blockTime time.Duration // from block to block; 0 when nobody knows
	book      *workloads.Book
	instances []workloads.Instance
	threads   []workloads.Thread // of the main phase, in the order of their process ids

	ledger      *nemesis.Ledger   // nil without faults
	guardian    *nemesis.Guardian // likewise
	workers     *crew
	faults      []history.Op // the nemesis' ops
	dirty       []string
	interrupted bool
	kept        string
	begun       bool // setup succeeded: there is a history to judge
}

// live takes the test from nothing to the last line of its history. Whatever
// happens, the network is stopped (or handed over) before it returns.
func (t *test) live(ctx context.Context, stop <-chan struct{}) (err error) {
	show, hide := context.WithCancel(ctx)
	defer hide()
	if t.o.Progress != nil {
		go t.journal.meter.show(show, t.o.Progress, t.o.Terminal)
	}
	early, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-early.Done():
		}
	}()
	defer func() { err = errors.Join(err, t.unguard()) }()
	if err := t.guard(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.closeNetwork()) }()

	bounded, release := context.WithTimeout(early, setupBound)
	defer release()
	if err := t.setup(bounded); err != nil {
		if t.interrupted = early.Err() != nil; t.interrupted {
			return nil
		}
		return fmt.Errorf("setup: %w", err)
	}
	t.begun = true
	watch, leave := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	for _, follow := range []func(context.Context){t.watchNodes, t.watchLogs, t.watchResources} {
		watchers.Go(func() { follow(watch) })
	}
	watched := sync.OnceFunc(func() {
		leave()
		watchers.Wait()
	})
	defer watched()
	if err := t.load(ctx, early); err != nil {
		return err
	}
	if t.interrupted = early.Err() != nil; t.interrupted {
		if err := t.journal.note("interrupted", history.Value{}); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return nil // healed; leave
	}
	if err := t.converge(ctx); err != nil {
		return err
	}
	if err := t.final(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return nil // left in the middle of the final reads
	}
	watched() // :end is the last line
	return t.journal.phase(phaseEnd)
}

// setup starts the network, finds out what it is, and prepares the workloads.
func (t *test) setup(ctx context.Context) error {
	accounts := client.NewAccounts(t.accountSeed())
	net, err := t.startNetwork(ctx, accounts)
	if err != nil {
		return err
	}
	t.net = net
	for _, n := range net.Nodes() {
		t.journal.meter.nodes = append(t.journal.meter.nodes, n.Name)
		c, err := client.Dial(ctx, n.Name, n.HTTP)
		if err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
		t.clients = append(t.clients, c)
		if n.Comet != "" {
			comet, err := client.DialComet(n.Name, n.Comet)
			if err != nil {
				return err
			}
			t.comets = append(t.comets, comet)
			if len(t.o.Comet) > 0 {
				if _, err := comet.Status(ctx); err != nil {
					return usage.Errorf("--comet %q: want the RPC of a CometBFT: %w", n.Comet, err)
				}
			}
		}
	}
	if len(t.comets) != len(t.clients) {
		t.comets = nil
	}
	if t.profile, err = t.findProfile(ctx); err != nil {
		return err
	}
	if err := t.fund(ctx, accounts); err != nil {
		return err
	}
	if err := t.writeTest(); err != nil {
		return err
	}
	if err := t.findBlockTime(ctx); err != nil {
		return err
	}
	if err := t.prepare(ctx, accounts); err != nil {
		return err
	}
	return t.journal.note("test", t.describe())
}

// accountSeed is what the sender accounts follow from. On a running network it
// has the run's own start in it: transactions that an earlier run with the same
// seed left in a pool must not meet those of this one.
func (t *test) accountSeed() string {
	if len(t.o.RPC) > 0 {
		return fmt.Sprintf("jepgo/%d/%d", t.o.Seed, t.run.Start.UnixMilli())
	}
	return fmt.Sprintf("jepgo/%d", t.o.Seed)
}

// Streams of the run's seed. Purposes draw from streams of their own, so that
// one more draw in one of them leaves the others as they were.
const (
	streamNemesis  uint64 = 1
	streamClients  uint64 = 2
	streamWorkload uint64 = 100 // and one for each workload
)

func stream(seed, purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, purpose)) }

// load is the main phase: clients and nemesis side by side until the time is
// up, then every fault is undone while the last operations come to their end.
func (t *test) load(ctx, early context.Context) error {
	if err := t.journal.phase(phaseRun); err != nil {
		return err
	}
	t.journal.meter.begin(len(t.threads))
	load, cancel := context.WithTimeout(early, t.o.Time)
	defer cancel()
	var wg sync.WaitGroup
	var faults, healing error
	wg.Go(func() { faults = t.nemesis(load) })
	wg.Go(func() {
		select {
		case <-load.Done():
		case <-t.journal.rec.Failed():
			cancel()
		}
		healing = t.journal.phase(phaseHeal)
	})
	err := t.crew().drive(ctx, load, t.threads)
	cancel()
	wg.Wait()
	return errors.Join(err, faults, healing)
}

func (t *test) crew() *crew {
	limit := rate.Inf
	if t.o.Rate > 0 {
		limit = rate.Limit(t.o.Rate)
	}
	if t.workers == nil {
		t.workers = &crew{journal: t.journal, limit: rate.NewLimiter(limit, 1), log: t.log}
	}
	return t.workers
}

// setupBound is how long it may take to have a network, funds and contracts.
const setupBound = 5 * time.Minute

// finalBound is how long the final reads may take in all. It is generous: a
// long run has many blocks to walk, and the walk is what the forks and the
// local reads are judged by.
const finalBound = 10 * time.Minute
