package workloads

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jepgo/jepgo/checker"
	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/client/chaintest"
	"github.com/jepgo/jepgo/history"
)

// recorder keeps the ops of several threads in the order of events, as a run
// does.
type recorder struct {
	mu sync.Mutex
	h  history.History
}

func (r *recorder) add(op history.Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	op.Index, op.Time = int64(len(r.h.Ops)), int64(len(r.h.Ops))
	r.h.Ops = append(r.h.Ops, op)
}

func (r *recorder) note(f string, v history.Value) {
	r.add(history.Op{Type: history.Info, Process: history.Runner(), F: f, Value: v})
}

// drive lets each thread do at most n operations (all of them for n = 0), at its
// node's pace. The process ids start at first.
func (r *recorder) drive(ctx context.Context, t *testing.T, threads []Thread, first int64, n int) {
	var wg sync.WaitGroup
	for i, thread := range threads {
		wg.Go(func() {
			process := first + int64(i)
			for done := 0; n == 0 || done < n; done++ {
				op, ok := thread.Next()
				if !ok {
					return
				}
				op.Type, op.Process = history.Invoke, history.Client(process)
				r.add(op)
				end := thread.Invoke(ctx, op)
				if end.Type == history.Invoke || end.Type == 0 {
					t.Errorf("%s of process %d has no outcome", op.F, process)
				}
				r.add(end)
				if end.Type == history.Info {
					process += int64(len(threads))
					if err := thread.Crash(); err != nil {
						t.Errorf("crash: %v", err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// testbed is a chain with two clients of its one node, as if they were two.
func testbed(t *testing.T, profile string, o chaintest.Options, senders int) (Env, *chaintest.Chain) {
	t.Helper()
	accounts := client.NewAccounts(t.Name())
	o.Funded = accounts.Addresses(senders)
	chain := chaintest.Start(t, o)
	p, err := claims.ParseProfile(profile)
	if err != nil {
		t.Fatal(err)
	}
	env := Env{
		Accounts: accounts, Profile: p, Rand: rand.New(rand.NewPCG(1, 2)), Book: NewBook(),
		Concurrency: 8, OpTimeout: time.Minute,
	}
	for _, name := range []string{"n1", "n2"} {
		c, err := client.Dial(t.Context(), name, chain.URL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		env.Nodes, env.WS = append(env.Nodes, c), append(env.WS, chain.WS)
	}
	if env.Fees, err = env.Nodes[0].Fees(t.Context()); err != nil {
		t.Fatal(err)
	}
	return env, chain
}

// prepared readies a workload as a run does.
func prepared(ctx context.Context, t *testing.T, env Env, w Workload) Instance {
	t.Helper()
	var err error
	if env.Deployer, err = env.Accounts.Next(); err != nil {
		t.Fatal(err)
	}
	i, err := w.New(ctx, env)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// threadsOf lists the threads of the main phase, the shared ones first.
func threadsOf(t *testing.T, env Env, instances ...Instance) []Thread {
	t.Helper()
	out, err := Clients(env, instances)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range instances {
		out = append(out, i.Threads()...)
	}
	return out
}

// finish performs the final phase. The miner is stopped before the chain is walked:
// a busy machine might not catch up with it.
func (r *recorder) finish(ctx context.Context, t *testing.T, env Env, stopMining func(), instances ...Instance) {
	r.note("phase", history.Keyword("final"))
	var final []Thread
	for _, i := range instances {
		final = append(final, i.Final()...)
	}
	r.drive(ctx, t, final, 10_000, 0)
	stopMining()
	closing := env.Book.Walk(env.Nodes, env.OpTimeout)
	for _, i := range instances {
		closing = append(closing, i.Closing()...)
	}
	r.drive(ctx, t, closing, 20_000, 0)
	r.note("phase", history.Keyword("end"))
}

func count(h *history.History, f string, typ history.Type) int {
	n := 0
	for _, op := range h.Ops {
		if op.F == f && op.Type == typ {
			n++
		}
	}
	return n
}

// All workloads on a real EVM: everything succeeds, and every checker that the
// registry calls fair finds it valid.
func TestWorkloadsOnARealChain(t *testing.T) {
	t.Parallel()
	env, chain := testbed(t, "bft", chaintest.Options{Final: true}, 60)
	env.Concurrency = 16
	ctx := t.Context()
	mining, stopMining := context.WithCancel(ctx)
	chain.Mine(mining, t, 50*time.Millisecond)
	var instances []Instance
	var names []history.Value
	all := slices.DeleteFunc(All(), func(w Workload) bool { return w.Lacks(Offers{WS: true}) != "" })
	for _, w := range all {
		names = append(names, history.Keyword(w.Name))
	}
	var r recorder
	r.note("test", history.MapOf(
		history.Keyword("profile"), history.Keyword("bft"),
		history.Keyword("workloads"), history.Vec(names...),
		history.Keyword("nodes"), history.Vec(history.Text("n1"), history.Text("n2")),
		history.Keyword("nemesis"), history.Vec(), history.Keyword("processes"), history.Int(12)))
	for _, w := range all {
		instances = append(instances, prepared(ctx, t, env, w))
	}
	r.note("phase", history.Keyword("run"))
	threads := threadsOf(t, env, instances...)
	if len(threads) != 2*7+env.Concurrency {
		t.Fatalf("%d threads, want for each node a local reader, one for heads, receipts, blocks and pools each, two for streams, and %d clients", len(threads), env.Concurrency)
	}
	r.drive(ctx, t, threads, 0, 60)
	r.note("phase", history.Keyword("heal"))
	r.finish(ctx, t, env, stopMining, instances...)

	h := &r.h
	fs := []string{"txs"}
	for _, w := range all {
		fs = append(fs, w.Ops...)
	}
	// What mayFail loses a race, asks for what is not there yet, or not any more.
	mayFail := []string{"cas", "move", "call-at", "body", "submit", "replace", "cancel"}
	for _, f := range fs {
		t.Logf("%-6s ok %d fail %d info %d", f, count(h, f, history.OK), count(h, f, history.Fail), count(h, f, history.Info))
		least := 5
		if f == "replace" || f == "cancel" {
			least = 1
		}
		if count(h, f, history.OK) < least {
			t.Errorf("%s succeeded %d times", f, count(h, f, history.OK))
		}
		if count(h, f, history.Info) > 0 || (!slices.Contains(mayFail, f) && count(h, f, history.Fail) > 0) {
			t.Errorf("%s failed on a healthy chain", f)
		}
	}
	checkPlaces(t, h)
	checkEntries(t, h)
	info, ok := checker.ReadTest(h)
	if !ok {
		t.Fatal("history has no :test op")
	}
	fair, notClaimed, err := claims.Checkers(info)
	if err != nil {
		t.Fatal(err)
	}
	if len(notClaimed) == 0 {
		t.Error("nothing is said about what is not claimed")
	}
	// Whether the nodes converged is the runner's to note.
	fair = slices.DeleteFunc(fair, func(c checker.Checker) bool { return c.Name() == checker.Converge().Name() })
	results, _ := checker.Compose(ctx, h, fair...)
	for _, res := range results {
		t.Logf("%-10s %-8s %s", res.Checker, res.Verdict, res.Reason)
		others := 0
		for _, a := range res.Anomalies {
			// This go-ethereum shows a receipt a moment before its head has the
			// block: a true finding, which nothing holds back here.
			if a.Name == "read-your-writes" {
				t.Logf("%s: %s", a.Name, a.Message)
				continue
			}
			others++
			t.Errorf("%s: %s", a.Name, a.Message)
		}
		if res.LeftOut {
			continue // too short a run for it, or without jepgo's own eyes
		}
		if res.Verdict != checker.Valid && (others > 0 || len(res.Anomalies) == 0) {
			t.Errorf("%s is %s, want valid: %s", res.Checker, res.Verdict, res.Reason)
		}
	}
}

// checkPlaces wants height and hash of every answer, and of every transaction
// its hash.
func checkPlaces(t *testing.T, h *history.History) {
	for _, op := range h.Ops {
		if !op.Process.IsClient() || op.Type != history.OK {
			continue
		}
		keys := []string{history.HeightKey, history.HashKey}
		if op.F == "events" || op.F == "pool" || op.F == "receipt" && op.Value.IsNil() {
			continue // of no block, or of many
		}
		if isStrong(op.F) {
			keys = append(keys, history.TxKey, fromKey, nonceKey)
		}
		if op.F == "emit" {
			keys = append(keys, logKey)
		}
		for _, k := range keys {
			if _, ok := op.Lookup(k); !ok {
				t.Errorf("%s has no :%s", op.F, k)
				return
			}
		}
	}
}

// isStrong reports whether an operation is a transaction.
func isStrong(f string) bool {
	return slices.Contains([]string{"write", "cas", "read", "inc", "add", "move", "txn", "emit", "put", "pay", "submit", "replace", "cancel", "precompile"}, f)
}

// checkEntries wants each acknowledged transaction in the walk, told as its op is.
func checkEntries(t *testing.T, h *history.History) {
	told := make(map[string][]history.Value)
	for _, op := range h.Ops {
		if list, ok := op.Value.Field("ops"); ok && op.F == "txs" {
			for _, e := range list.Elems() {
				told[e.Elems()[0].Text()] = e.Elems()
			}
		}
	}
	wrong := 0
	for _, op := range h.Ops {
		tx, _ := op.Lookup(history.TxKey)
		if op.Type != history.OK || tx.IsNil() || op.F == "submit" || op.F == "replace" || op.F == "cancel" || op.F == "precompile" {
			continue
		}
		parts := told[tx.Text()]
		if len(parts) < 4 {
			t.Errorf("%s %s is in no block", op.F, op.Value)
			wrong++
		} else {
			value := parts[2]
			if len(parts) == 5 {
				value = history.Vec(parts[2], parts[3])
			}
			if parts[1].Text() != op.F || !value.Equal(op.Value) || parts[len(parts)-1].Text() != "ok" {
				t.Errorf("%s %s is told as %v", op.F, op.Value, parts)
				wrong++
			}
		}
		if wrong > 5 {
			return
		}
	}
}

// The history of an honest chain with one lie in it is not valid: the checkers
// that the registry names do look at what the workload writes.
func TestALieIsFound(t *testing.T) {
	t.Parallel()
	env, chain := testbed(t, "bft", chaintest.Options{Final: true}, 40)
	ctx := t.Context()
	mining, stopMining := context.WithCancel(ctx)
	chain.Mine(mining, t, 50*time.Millisecond)
	i := prepared(ctx, t, env, register())
	var r recorder
	r.note("test", history.MapOf(history.Keyword("profile"), history.Keyword("bft"),
		history.Keyword("workloads"), history.Vec(history.Keyword("register"))))
	r.note("phase", history.Keyword("run"))
	r.drive(ctx, t, threadsOf(t, env, i), 0, 40)
	r.finish(ctx, t, env, stopMining, i)
	for _, lie := range []struct{ f, catcher string }{{"read", "linear"}, {"read", "replay"}, {"peek", "replay"}} {
		h := history.History{Ops: slices.Clone(r.h.Ops)}
		at := -1
		for j, op := range h.Ops {
			if op.F == lie.f && op.Type == history.OK {
				at = j
			}
		}
		if at < 0 {
			t.Fatalf("no ok %s", lie.f)
		}
		h.Ops[at].Value = history.Vec(h.Ops[at].Value.Elems()[0], history.Int(987654))
		fair, _, err := claims.Checkers(checker.TestInfo{Profile: "bft", Workloads: []string{"register"}})
		if err != nil {
			t.Fatal(err)
		}
		caught := false
		results, _ := checker.Compose(ctx, &h, fair...)
		for _, res := range results {
			caught = caught || (res.Checker == lie.catcher && res.Verdict == checker.Invalid)
		}
		if !caught {
			t.Errorf("%s did not find a %s that returned what was never written", lie.catcher, lie.f)
		}
	}
}

// Gaps are filled by parent, oldest first, also over more than one batch.
func TestHeadFillsGaps(t *testing.T) {
	t.Parallel()
	env, chain := testbed(t, "bft", chaintest.Options{Final: true}, 0)
	w := &watcher{node: env.Nodes[0], patience: time.Minute}
	for _, gap := range []int{1, 2, 150} {
		var top uint64
		for range gap {
			top = chain.Commit()
		}
		done := w.Invoke(t.Context(), history.Op{F: "head"})
		if done.Type != history.OK {
			t.Fatalf("head: %v", done.Error)
		}
		latest, _ := done.Value.Field("latest")
		parent, _ := latest.Field("parent")
		if n, _ := latest.Field("n"); n.String() != history.Int(int64(top)).String() {
			t.Errorf("latest is %v, want %d", n, top)
		}
		walk, _ := done.Value.Field("walk")
		blocks := walk.Elems()
		want := gap - 1
		if top == 1 {
			want = 0 // nothing was seen before
		}
		if len(blocks) != want {
			t.Fatalf("walk over a gap of %d has %d blocks", gap, len(blocks))
		}
		for _, b := range slices.Backward(blocks) {
			if h, _ := b.Field("h"); h.Text() != parent.Text() {
				t.Fatalf("walk is not linked by parent at %v", b)
			}
			parent, _ = b.Field("parent")
		}
	}
}

// Where the chain is replaced during a walk, the walk follows the parents.
func TestWalkFollowsParentsOverAReorg(t *testing.T) {
	t.Parallel()
	env, chain := testbed(t, "longest-chain", chaintest.Options{}, 0)
	for range 6 {
		chain.Commit()
	}
	old, err := env.Nodes[0].HeaderAt(t.Context(), client.Latest)
	if err != nil {
		t.Fatal(err)
	}
	chain.Reorg(2, 8)
	w := &watcher{node: env.Nodes[0]}
	blocks, filled := w.walk(t.Context(), old, 1)
	if !filled || len(blocks) != 5 {
		t.Fatalf("walk from a replaced head: %d blocks, filled %v", len(blocks), filled)
	}
	if h, _ := blocks[4].Field("h"); h.Text() != old.Parent.Hex() {
		t.Errorf("walk ends at %v, want the parent %s of the replaced head", blocks[4], old.Parent)
	}
}
