package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jepgo/jepgo/claims"
	"github.com/jepgo/jepgo/cmd/cli"
	"github.com/jepgo/jepgo/devnet/link/mechanism"
	"github.com/jepgo/jepgo/devnet/userns"
	"github.com/jepgo/jepgo/nemesis"
	"github.com/jepgo/jepgo/runner"
	"github.com/jepgo/jepgo/usage"
	"github.com/jepgo/jepgo/workloads"
)

type testFlags struct {
	runner.Options
	workload  string
	devnet    string
	recall    string
	logFormat string
	count     int
	asJSON    bool
	verbose   bool
	quiet     bool
}

const (
	embeddedDevnet = "embedded"
	defaultNodes   = 4 // of the embedded devnet
)

func newTest() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test",
		Short: "Run a workload under a nemesis on a live network, and judge it",
		Long: `Start a devnet of real nodes (or attach to a running network with --rpc), let
clients work on it while a nemesis breaks things, record every operation, heal,
check and report. Everything is kept in the store.

Faults:
` + faultHelp() + `
Interrupt once (Ctrl-C): the load stops, faults are healed, the history is
completed and judged. Interrupt twice: heal and leave.

` + cli.ExitTable,
		Example: "  jepgo test --nemesis partition --time 60s\n  jepgo test --rpc http://127.0.0.1:8545,http://127.0.0.1:8546 --nemesis none --time 1m",
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.workload, "workload", strings.Join(workloads.Default(), ","), "workloads, comma-joined: "+workloads.Everything+" that this network can do, "+strings.Join(workloads.Names(), ", "))
	fs.StringVar(&f.Nemesis, "nemesis", "none", "faults, comma-joined: "+strings.Join(nemesis.Names(), ", ")+"; a colon chooses: partition:halves, kill:one")
	fs.DurationVar(&f.Time, "time", time.Minute, "length of the main phase")
	fs.IntVar(&f.Nodes, "nodes", 0, "number of nodes of the devnet (default: those of the devnet file, or 4)")
	fs.StringSliceVar(&f.RPC, "rpc", nil, "JSON-RPC `URLs` of a running network, comma-joined, one for each node")
	fs.StringSliceVar(&f.WS, "ws", nil, "WebSocket `URLs` of the nodes behind --rpc, in the same order, for the workload sub")
	fs.StringSliceVar(&f.Comet, "comet", nil, "CometBFT RPC `URLs` of the nodes behind --rpc, in the same order, for the workload consensus")
	fs.StringVar(&f.Key, "key", "", "hex private key of a funded account on the network behind --rpc (default: the faucet of jepgo's own devnets)")
	fs.StringVar(&f.devnet, "devnet", embeddedDevnet, "which devnet to start: embedded, or a devnet `file` (see docs/devnet-file.md)")
	fs.StringVar(&f.recall, "replay", "", "repeat the run in this `directory`: its load, and its faults as they happened then")
	fs.StringVar(&f.Link, "link", mechanism.Proxy, linkHelp())
	fs.BoolVar(&f.Irreversible, "allow-irreversible", false, "allow faults that destroy a node's data for good")
	fs.StringVar(&f.Quorum, "quorum", string(nemesis.QuorumAny), "whom faults may hit together: any, or safe (less than a third of the voting power)")
	fs.StringVar(&f.Concurrency, "concurrency", "2n", "client threads that submit transactions; 2n is twice the number of nodes")
	fs.Float64Var(&f.Rate, "rate", 0, "client operations a second over all threads, 0 for as fast as they come")
	fs.DurationVar(&f.Interval, "nemesis-interval", 10*time.Second, "from a fault's start to its end, and to the next start")
	fs.Uint64Var(&f.Seed, "seed", 0, "seed of every random choice, 0 or more (default: drawn and printed)")
	fs.StringVar(&f.Store, "store", "store", "directory that holds the runs")
	fs.StringVar(&f.Name, "name", "", "name of the test in the store (default: workload and nemesis)")
	fs.IntVar(&f.count, "test-count", 1, "run the test so many times, with seeds that follow; stops at the first that is not valid")
	fs.BoolVar(&f.asJSON, "json", false, "print one JSON object a run")
	fs.BoolVar(&f.Keep, "keep", false, "leave the embedded devnet up (restarted on the same data); see jepgo devnet down")
	fs.StringVar(&f.Bug, "bug", "", "start deliberately broken nodes; jepgo explain lists the bugs")
	fs.StringVar(&f.Claim, "claim", "", "make these claims instead of the detected profile's: "+strings.Join(claims.Levels(), ", "))
	fs.DurationVar(&f.OpTimeout, "op-timeout", 10*time.Second, "how long an operation may take before it is in doubt")
	fs.StringVar(&f.logFormat, "log-format", "text", "format of the log on standard error: text or json")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "log more")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "log only warnings and errors, no progress")
	cli.CompleteWith(cmd, "workload", func() []string { return append([]string{workloads.Everything}, workloads.Names()...) })
	cli.CompleteWith(cmd, "nemesis", nemesis.Names)
	cli.CompleteWith(cmd, "link", mechanism.Names)
	cli.CompleteWith(cmd, "quorum", func() []string { return []string{string(nemesis.QuorumAny), string(nemesis.QuorumSafe)} })
	cli.CompleteWith(cmd, "bug", runner.Bugs)
	cli.CompleteWith(cmd, "claim", claims.Levels)
	return cmd
}

func (f *testFlags) run(cmd *cobra.Command) error {
	if err := f.complete(cmd); err != nil {
		return err
	}
	ctx, stop, done := interrupts(cmd.Context(), f.Log)
	defer done()
	worst := cli.Valid
	for i := range f.count {
		o := f.Options
		o.Seed += uint64(i)
		o.Command = f.replay(cmd, o.Seed)
		out, err := runner.Run(ctx, stop, o)
		status := f.report(cmd, out, err)
		worst = cli.Worse(worst, status)
		if worst != cli.Valid {
			break
		}
	}
	if worst == cli.Valid {
		return nil
	}
	return cli.Status(worst)
}

// complete checks the flags that only the command knows and fills in the rest.
func (f *testFlags) complete(cmd *cobra.Command) error {
	if f.count < 1 {
		return usage.Errorf("--test-count %d: want 1 or more", f.count)
	}
	switch {
	case f.devnet == "":
		return usage.Errorf("--devnet is empty: want embedded, or a devnet file")
	case f.devnet != embeddedDevnet:
		f.Devnet = f.devnet
	case !cmd.Flags().Changed("nodes"):
		f.Nodes = defaultNodes
	}
	if cmd.Flags().Changed("rpc") && cmd.Flags().Changed("nodes") {
		return usage.Errorf("--nodes and --rpc exclude each other: a running network has the nodes that it has")
	}
	for name, want := range map[string]string{"rpc": "http", "ws": "ws", "comet": "http"} {
		if list := cmd.Flags().Lookup(name); list.Changed && len(list.Value.(pflag.SliceValue).GetSlice()) == 0 {
			return usage.Errorf("--%s is empty: want %s://HOST:PORT,...", name, want)
		}
	}
	for _, name := range []string{"replay", "link", "quorum"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return usage.Errorf("--%s is empty: %s", name, flag.Usage)
		}
	}
	if cmd.Flags().Changed("rpc") {
		for _, name := range []string{"link", "quorum", "allow-irreversible"} {
			if cmd.Flags().Changed(name) {
				return usage.Errorf("--%s is for a devnet of jepgo's own: leave it out beside --rpc", name)
			}
		}
	}
	f.Workloads = workloads.Expand(splitNames(f.workload), f.Offers())
	if f.recall != "" {
		if err := f.replayed(cmd); err != nil {
			return err
		}
	}
	if err := withLinks(f.Link); err != nil {
		return err
	}
	log, err := newLog(cmd.ErrOrStderr(), f.logFormat, f.verbose, f.quiet)
	if err != nil {
		return err
	}
	f.Log = log
	if userns.Inside() {
		f.Log.Info("run as root of a user namespace of its own, for its links", "link", f.Link)
	}
	if f.Name == "" {
		names := f.Workloads
		if f.workload == "all" && f.recall == "" {
			names = []string{"all"} // whatever of all this network can do
		}
		f.Name = testName(names, f.Nemesis, f.Bug)
	}
	f.Version = version()
	if !f.quiet {
		f.Progress = cmd.ErrOrStderr()
		f.Terminal = cli.IsTerminal(cmd.ErrOrStderr())
	}
	if err := f.Options.Check(); err != nil {
		return err
	}
	if !cmd.Flags().Changed("seed") && f.recall == "" {
		f.Seed = drawSeed()
		f.Log.Info("seed drawn; it repeats the run's choices", "seed", f.Seed)
	}
	return nil
}

// testName is the name of a test that was given none: short enough for any file
// system, and without what a shell would want quoted. A planted
// bug is told, lest somebody take what it leads to for a finding.
func testName(names []string, nemesis, bug string) string {
	const most = 80
	what := strings.Join(names, ",")
	if len(names) > 5 {
		what = fmt.Sprintf("%d-workloads", len(names))
	}
	if what += "-" + nemesis; bug != "" {
		what = "bug-" + bug + "-" + what
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ',':
			return '+'
		case r == '+' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			return r
		}
		return '-'
	}, what)
	return name[:min(len(name), most)]
}

// replayed takes what the test is from an earlier run. Only where the result
// goes, and what is printed, is for the flags to say.
func (f *testFlags) replayed(cmd *cobra.Command) error {
	own := []string{"replay", "store", "name", "test-count", "json", "keep", "log-format", "verbose", "quiet"}
	var err error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(own, flag.Name) && err == nil {
			err = usage.Errorf("--%s beside --replay: it comes from the run that is repeated; leave it out", flag.Name)
		}
	})
	if err != nil {
		return err
	}
	return runner.Recall(f.recall, &f.Options)
}

// replay is the command line that repeats the run.
func (f *testFlags) replay(cmd *cobra.Command, seed uint64) string {
	words := []string{"jepgo", "test"}
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		switch flag.Name {
		case "seed", "test-count", "verbose", "quiet", "json", "help", "key":
			return
		}
		if flag.Changed {
			value := flag.Value.String()
			if list, ok := flag.Value.(pflag.SliceValue); ok {
				value = strings.Join(list.GetSlice(), ",") // a list prints itself in brackets
			}
			words = append(words, "--"+flag.Name+"="+quote(value))
		}
	})
	if f.recall == "" {
		words = append(words, fmt.Sprintf("--seed=%d", seed))
	}
	return strings.Join(words, " ")
}

func (f *testFlags) report(cmd *cobra.Command, out *runner.Outcome, err error) int {
	status := cli.Valid
	if out != nil && out.Judgement == nil {
		status = cli.Unknown // nothing was judged, so nothing is valid
	}
	if out != nil && out.Judgement != nil {
		if f.asJSON {
			cmd.OutOrStdout().Write(out.Judgement.JSON())
		} else {
			out.Judgement.Text(cmd.OutOrStdout())
		}
		status = cli.StatusOf(cli.VerdictStatus(out.Judgement.Verdict), "jepgo", cmd.ErrOrStderr())
	}
	if out != nil {
		if !f.asJSON {
			fmt.Fprintf(cmd.OutOrStdout(), "run %s\n", out.Run.Dir)
			if out.Kept != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "devnet is left up, stop it with: jepgo devnet down --dir %s\n", quote(out.Kept))
			}
		}
		for _, d := range out.Dirty {
			fmt.Fprintf(cmd.ErrOrStderr(), "jepgo: dirty: %s (see jepgo heal --store %s)\n", d, f.Store)
			status = cli.Worse(status, cli.Dirty)
		}
		if out.Interrupted {
			status = cli.Interrupted
		}
	}
	if err != nil && (out == nil || !out.Interrupted || out.Judgement != nil) {
		status = cli.Worse(status, cli.StatusOf(err, "jepgo", cmd.ErrOrStderr()))
	}
	return status
}

// interrupts maps signals to what they mean: the first one closes stop, the
// second ends the context. done gives the signals back.
func interrupts(parent context.Context, log *slog.Logger) (ctx context.Context, stop <-chan struct{}, done func()) {
	ctx, cancel := context.WithCancel(parent)
	first := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			log.Warn("interrupted: stopping the load, healing, judging (again to heal and leave)")
			close(first)
		}
		select {
		case <-ctx.Done():
		case <-signals:
			log.Warn("interrupted again: healing and leaving")
			cancel()
		}
	}()
	return ctx, first, func() { signal.Stop(signals); cancel() }
}

func newLog(w io.Writer, format string, verbose, quiet bool) (*slog.Logger, error) {
	level := slog.LevelInfo
	if quiet {
		level = slog.LevelWarn
	}
	if verbose {
		level = slog.LevelDebug
	}
	o := &slog.HandlerOptions{Level: level}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, usage.Errorf("--log-format %q: want text or json", format)
}

// linkHelp is the help of --link.
func linkHelp() string {
	return "what the links between the nodes are made of: " + strings.Join(mechanism.Names(), ", ")
}

// faultHelp lists the faults with what may follow their names.
func faultHelp() string {
	var b strings.Builder
	for _, e := range nemesis.Registry() {
		fmt.Fprintf(&b, "  %-16s %s\n", e.Name, e.Doc)
	}
	b.WriteString("jepgo explain FAULT says what each does and what may follow its name; jepgo doctor\nwhich of them work on this machine.\n")
	return b.String()
}

func drawSeed() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:]) >> 24
}

func splitNames(s string) []string {
	var names []string
	for _, name := range strings.Split(s, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
