package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jepgo/jepgo/client"
	"github.com/jepgo/jepgo/history"
)

const (
	voterA = "AB12AB12AB12AB12AB12AB12AB12AB12AB12AB12"
	voterB = "CD34CD34CD34CD34CD34CD34CD34CD34CD34CD34"
	block9 = "EF56EF56EF56EF56EF56EF56EF56EF56EF56EF56EF56EF56EF56EF56EF56EF56"
)

// answers is what a CometBFT of two validators says at height 9.
func answers() map[string]string {
	return map[string]string{
		"/status":     `{"sync_info":{"latest_block_hash":"` + block9 + `","latest_app_hash":"0A","latest_block_height":"9","latest_block_time":"2026-11-30T17:00:00.5Z","catching_up":false}}`,
		"/net_info":   `{"listening":true,"n_peers":"1","peers":[]}`,
		"/validators": `{"block_height":"9","validators":[{"address":"` + voterA + `","voting_power":"10"},{"address":"` + voterB + `","voting_power":"1"}],"count":"2","total":"2"}`,
		"/commit": `{"signed_header":{"header":{"height":"9","proposer_address":"` + voterA + `"},"commit":{"height":"9","round":2,"block_id":{"hash":"` + block9 + `"},"signatures":[` +
			`{"block_id_flag":2,"validator_address":"` + voterA + `","timestamp":"2026-11-30T17:00:01Z"},{"block_id_flag":1,"validator_address":"","timestamp":"0001-01-01T00:00:00Z"}]}},"canonical":true}`,
	}
}

// comet serves these answers.
func comet(t *testing.T, says map[string]string) *client.Comet {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":-1,"result":%s}`, says[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	return dialComet(t, server.URL)
}

func dialComet(t *testing.T, url string) *client.Comet {
	t.Helper()
	c, err := client.DialComet("n1", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestComet(t *testing.T) {
	c := comet(t, answers())
	s, err := c.Status(deadline(t))
	if err != nil || s.Height != 9 || s.Hash != block9 || s.App != "0A" || s.CatchingUp || s.Time.UnixNano()%1e9 != 5e8 {
		t.Errorf("status %+v, %v", s, err)
	}
	if n, err := c.Peers(deadline(t)); err != nil || n != 1 {
		t.Errorf("%d peers, %v", n, err)
	}
	set, err := c.Validators(deadline(t), 9)
	if err != nil || len(set) != 2 || set[0] != (client.CometValidator{Address: voterA, Power: 10}) {
		t.Errorf("validators %v, %v", set, err)
	}
	commit, err := c.Commit(deadline(t), 9)
	if err != nil || commit.Round != 2 || commit.Hash != block9 || commit.Proposer != voterA || !commit.Canonical || len(commit.Votes) != 2 ||
		commit.Votes[0].Address != voterA || commit.Votes[0].Vote != client.VoteFor || commit.Votes[1].Vote != client.VoteAbsent {
		t.Errorf("commit %+v, %v", commit, err)
	}
}

// calls are the questions to CometBFT.
func calls(c *client.Comet) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"status":     func(ctx context.Context) error { _, err := c.Status(ctx); return err },
		"peers":      func(ctx context.Context) error { _, err := c.Peers(ctx); return err },
		"validators": func(ctx context.Context) error { _, err := c.Validators(ctx, 9); return err },
		"commit":     func(ctx context.Context) error { _, err := c.Commit(ctx, 9); return err },
	}
}

// Broken answers are errors of a class that changes nothing.
func TestCometOfALiar(t *testing.T) {
	t.Parallel()
	for _, h := range append(hostile, []struct {
		name string
		http.HandlerFunc
		class string
	}{
		{"result null", text(`{"jsonrpc":"2.0","id":-1,"result":null}`), client.Malformed},
		{"result empty", text(`{"jsonrpc":"2.0","id":-1,"result":{}}`), client.Malformed},
		{"result a list", text(`{"jsonrpc":"2.0","id":-1,"result":[1]}`), client.Malformed},
		{"an error", text(`{"jsonrpc":"2.0","id":-1,"error":{"code":-32603,"message":"Internal error","data":"oops"}}`), client.RPC},
		{"a height to come", status(500, `{"jsonrpc":"2.0","id":-1,"error":{"code":-32603,"message":"Internal error","data":"height 9 must be less than or equal to the current blockchain height 5"}}`), client.Absent},
		{"a pruned height", status(500, `{"jsonrpc":"2.0","id":-1,"error":{"code":-32603,"message":"Internal error","data":"height 9 is not available, lowest height is 40"}}`), client.Absent},
		{"without end", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat("x", 1<<20)); err != nil {
					return
				}
			}
		}, client.Malformed},
	}...) {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(h.HandlerFunc)
			defer server.Close()
			for name, ask := range calls(dialComet(t, server.URL)) {
				var err error
				o := inTime(t, h.class, func(ctx context.Context) client.Outcome {
					err = ask(ctx)
					return client.ReadOutcome(err)
				})
				if err == nil {
					t.Errorf("%s took the answer", name)
				} else if o.Type != history.Fail || h.class == client.Absent && o.Class != client.Absent {
					t.Errorf("%s gives %+v, want fail %s", name, o, h.class)
				}
			}
		})
	}
}

// One wrong field is enough to refuse an answer.
func TestCometWithOneWrongField(t *testing.T) {
	for _, bad := range []struct{ call, path, was, is string }{
		{"status", "/status", `"9"`, `"-9"`},
		{"status", "/status", `"9"`, `"99999999999999999999"`},
		{"status", "/status", `"9"`, `{}`},
		{"status", "/status", block9, "zz"},
		{"status", "/status", "2026-11-30T17:00:00.5Z", "yesterday"},
		{"status", "/status", `"catching_up":false`, `"catching_up":null`},
		{"peers", "/net_info", `"1"`, `"many"`},
		{"validators", "/validators", `"block_height":"9"`, `"block_height":"8"`},
		{"validators", "/validators", `"total":"2"`, `"total":"3"`},
		{"validators", "/validators", `"total":"2"`, `"total":"1"`},
		{"validators", "/validators", `"total":"2"`, `"total":"4000000000"`},
		{"validators", "/validators", `"` + voterA + `"`, `null`},
		{"validators", "/validators", `"voting_power":"1"`, `"voting_power":"-1"`},
		{"commit", "/commit", `"header":{"height":"9"`, `"header":{"height":"8"`},
		{"commit", "/commit", `"commit":{"height":"9"`, `"commit":{"height":"8"`},
		{"commit", "/commit", `"round":2`, `"round":-1`},
		{"commit", "/commit", `"block_id_flag":2`, `"block_id_flag":7`},
		{"commit", "/commit", `"validator_address":"` + voterA + `"`, `"validator_address":""`},
		{"commit", "/commit", `2026-11-30T17:00:01Z`, `x`},
		{"commit", "/commit", `"canonical":true`, `"canonical":null`},
	} {
		says := answers()
		if !strings.Contains(says[bad.path], bad.was) {
			t.Fatalf("%s has no %s to change", bad.path, bad.was)
		}
		says[bad.path] = strings.Replace(says[bad.path], bad.was, bad.is, 1)
		c := comet(t, says)
		if o := client.ReadOutcome(calls(c)[bad.call](deadline(t))); o.Class != client.Malformed {
			t.Errorf("%s with %s for %s gives %+v, want malformed", bad.call, bad.is, bad.was, o)
		}
	}
}

func TestCometRefuses(t *testing.T) {
	for _, url := range []string{"", "127.0.0.1:26657", "tcp://127.0.0.1:26657", "http://"} {
		if _, err := client.DialComet("n1", url); err == nil {
			t.Errorf("url %q was taken", url)
		}
	}
	for name, ask := range calls(dialComet(t, "http://127.0.0.1:1")) {
		if o := client.ReadOutcome(ask(deadline(t))); o.Class != client.Refused {
			t.Errorf("%s of a dead port gives %+v", name, o)
		}
	}
}
