package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"syscall"
	"testing"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/jepgo/jepgo/history"
)

// nodeError is an error as a node reports it.
type nodeError struct {
	code int
	text string
}

func (e nodeError) Error() string  { return e.text }
func (e nodeError) ErrorCode() int { return e.code }

func sent(err error) error   { return &RequestError{Node: "n1", Method: "m", Sent: true, Err: err} }
func unsent(err error) error { return &RequestError{Node: "n1", Method: "m", Err: err} }
func said(text string) error { return sent(nodeError{-32000, text}) }
func web(err error) error    { return sent(&url.Error{Op: "Post", URL: "http://n1", Err: err}) }

func TestOutcomes(t *testing.T) {
	var none error
	for _, test := range []struct {
		name   string
		err    error
		submit string // type and class of a submit
		read   string // class of a read, which always fails
	}{
		{"no error", none, "ok", ""},
		{"not sent: refused", unsent(&url.Error{Op: "Post", Err: syscall.ECONNREFUSED}), "fail refused", "refused"},
		{"not sent: unreachable", unsent(syscall.EHOSTUNREACH), "fail refused", "refused"},
		{"not sent: deadline while connecting", unsent(context.DeadlineExceeded), "fail refused", "refused"},
		{"refused, but on a connection that was there", web(syscall.ECONNREFUSED), "info reset", "reset"},
		{"deadline", web(context.DeadlineExceeded), "info timeout", "timeout"},
		{"interrupt", web(context.Canceled), "info cancelled", "cancelled"},
		{"reset", web(syscall.ECONNRESET), "info reset", "reset"},
		{"broken pipe", web(syscall.EPIPE), "info reset", "reset"},
		{"closed without an answer", web(io.EOF), "info reset", "reset"},
		{"empty answer", sent(io.EOF), "info malformed", "malformed"},
		{"truncated answer", sent(io.ErrUnexpectedEOF), "info malformed", "malformed"},
		{"no result", sent(rpc.ErrNoResult), "info malformed", "malformed"},
		{"missing in batch", sent(rpc.ErrMissingBatchResponse), "info malformed", "malformed"},
		{"status 429", sent(rpc.HTTPError{StatusCode: 429, Status: "429 Too Many Requests"}), "info rate-limited", "rate-limited"},
		{"status 503", sent(rpc.HTTPError{StatusCode: 503, Status: "503"}), "info http", "http"},
		{"status 404", sent(rpc.HTTPError{StatusCode: 404, Status: "404"}), "info http", "http"},
		{"status 500 with words of a rejection", sent(rpc.HTTPError{StatusCode: 500, Status: "500", Body: []byte("intrinsic gas too low")}), "info http", "http"},
		{"already known", said("already known"), "ok", "rpc"},
		{"nethermind's already known", said("AlreadyKnown"), "ok", "rpc"},
		{"besu's already known", said("Known transaction"), "ok", "rpc"},
		{"nonce too low", said("nonce too low: next nonce 5, tx nonce 4"), "info nonce-too-low", "rpc"},
		{"replacement", said("replacement transaction underpriced"), "info underpriced", "rpc"},
		{"underpriced", said("transaction underpriced: gas tip cap 0"), "fail rejected", "rpc"},
		{"intrinsic gas", said("intrinsic gas too low: gas 1, minimum needed 21000"), "fail rejected", "rpc"},
		{"funds", said("insufficient funds for gas * price + value: balance 0"), "fail rejected", "rpc"},
		{"sender", said("invalid sender"), "fail rejected", "rpc"},
		{"gas limit", said("exceeds block gas limit"), "fail rejected", "rpc"},
		{"type", said("transaction type not supported"), "fail rejected", "absent"},
		{"no such method", sent(nodeError{-32601, "the method eth_x does not exist"}), "fail rejected", "rpc"},
		{"unheard of", said("the moon is full"), "info rpc", "rpc"},
		{"rate limit in words", said("rate limit exceeded"), "info rate-limited", "rate-limited"},
		{"rate limit by code", sent(nodeError{-32005, "slow down"}), "info rpc", "rate-limited"},
		{"pruned", said("missing trie node 12ab (path ) state 0x12 is not available"), "info rpc", "pruned"},
		{"pruned, in other words", said("historical state not available"), "info rpc", "pruned"},
		{"finalized unknown", said("finalized block not found"), "info rpc", "absent"},
		{"unknown block by code", sent(nodeError{-39001, "Unknown block"}), "info rpc", "absent"},
		{"revert of a call", sent(nodeError{3, "execution reverted: no"}), "info rpc", "reverted"},
		{"bare error", errors.New("whatever"), "info malformed", "malformed"},
		{"wrapped", fmt.Errorf("deploy: %w", said("intrinsic gas too low")), "fail rejected", "rpc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := SubmitOutcome(test.err)
			if got := strings.TrimSpace(o.Type.String() + " " + o.Class); got != test.submit {
				t.Errorf("submit gives %q (%s), want %q", got, o.Text, test.submit)
			}
			r := ReadOutcome(test.err)
			if r.Class != test.read || (test.err != nil && r.Type != history.Fail) {
				t.Errorf("read gives %v %q, want fail %q", r.Type, r.Class, test.read)
			}
		})
	}
}

func TestTextsFitOnOneLine(t *testing.T) {
	o := ReadOutcome(said("<html>\n\x00\xff" + strings.Repeat("é", 1000) + "\r\n</html>"))
	if strings.ContainsAny(o.Text, "\r\n") || len(o.Text) > 260 || !strings.HasPrefix(o.Text, "<html>") {
		t.Errorf("text is %q", o.Text)
	}
}
