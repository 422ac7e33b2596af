package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/jepgo/jepgo/history"
)

// Outcome is what became of one operation: the type of its completion, and for
// every type but history.OK a class (a keyword of the history) and a text.
type Outcome struct {
	Type  history.Type
	Class string
	Text  string
}

// Value renders the outcome as the :error of an op, [:class "text"]; nil when
// there is no class.
func (o Outcome) Value() history.Value {
	if o.Class == "" {
		return history.Value{}
	}
	return history.Vec(history.Keyword(o.Class), history.Text(o.Text))
}

// Classes of outcomes.
const (
	Refused     = "refused"       // certainly never left this machine
	Timeout     = "timeout"       // no answer, or no receipt, in time
	Cancelled   = "cancelled"     // the run was interrupted
	Reset       = "reset"         // the connection broke after the request may have left
	HTTPStatus  = "http"          // an HTTP status other than success
	RateLimited = "rate-limited"  // HTTP status 429, or a node's own words for it
	Malformed   = "malformed"     // an answer that is not what was asked for
	Pruned      = "pruned"        // the node no longer has that state
	Absent      = "absent"        // the node does not have that block, tag or contract (yet)
	Reverted    = "reverted"      // included in a block, and undone by the contract
	NonceTooLow = "nonce-too-low" // another transaction of the sender may have taken the nonce; or this one
	Underpriced = "underpriced"   // another transaction of the sender holds the nonce; or this one
	Rejected    = "rejected"      // the node says why this transaction can never be included
	RPC         = "rpc"           // any other error that the node reports
)

// RequestError is a request that was not answered as asked.
type RequestError struct {
	Node, Method string
	Sent         bool // some of it may have left this machine
	Err          error
}

func (e *RequestError) Error() string {
	return fmt.Sprintf("node %s: %s: %s", e.Node, e.Method, oneLine(e.Err.Error()))
}

func (e *RequestError) Unwrap() error { return e.Err }

// malformedError is an answer that cannot be read as what was asked for.
type malformedError struct{ text string }

func (e *malformedError) Error() string { return e.text }

func malformed(format string, args ...any) error {
	return &malformedError{fmt.Sprintf(format, args...)}
}

// absentError is a block, tag or contract that the node does not have.
type absentError struct{ text string }

func (e *absentError) Error() string { return e.text }

// verdict is what a phrase in a node's error says about a submitted transaction.
type verdict struct {
	phrase string
	typ    history.Type
	class  string
}

// submitPhrases maps what nodes say about a transaction, in lower case, to what
// it means. The first match counts. What is not here stays in doubt.
var submitPhrases = []verdict{
	// An earlier attempt with the same bytes got through.
	{"already known", history.OK, ""},
	{"known transaction", history.OK, ""},
	{"alreadyknown", history.OK, ""},
	{"already imported", history.OK, ""},
	{"already in mempool", history.OK, ""},
	{"already exists in cache", history.OK, ""},
	// The nonce is taken, perhaps by this very transaction.
	{"nonce too low", history.Info, NonceTooLow},
	{"nonce is too low", history.Info, NonceTooLow},
	{"oldnonce", history.Info, NonceTooLow},
	{"replacement transaction underpriced", history.Info, Underpriced},
	{"replacement", history.Info, Underpriced},
	// Never to be included, whatever happens next.
	{"intrinsic gas", history.Fail, Rejected},
	{"floor data gas", history.Fail, Rejected},
	{"insufficient funds", history.Fail, Rejected},
	{"insufficient balance", history.Fail, Rejected},
	{"upfront cost exceeds", history.Fail, Rejected},
	{"invalid sender", history.Fail, Rejected},
	{"invalid signature", history.Fail, Rejected},
	{"sender not an eoa", history.Fail, Rejected},
	{"invalid chain id", history.Fail, Rejected},
	{"chain id mismatch", history.Fail, Rejected},
	{"replay-protected", history.Fail, Rejected},
	{"exceeds block gas limit", history.Fail, Rejected},
	{"gas limit too high", history.Fail, Rejected},
	{"exceeds the configured cap", history.Fail, Rejected},
	{"transaction underpriced", history.Fail, Rejected},
	{"gas price below minimum", history.Fail, Rejected},
	{"max priority fee per gas higher than max fee", history.Fail, Rejected},
	{"less than block base fee", history.Fail, Rejected},
	{"negative value", history.Fail, Rejected},
	{"oversized data", history.Fail, Rejected},
	{"max initcode size exceeded", history.Fail, Rejected},
	{"transaction type not supported", history.Fail, Rejected},
	{"txpool is full", history.Fail, Rejected},
	// Busy: the node may yet have taken it.
	{"rate limit", history.Info, RateLimited},
	{"too many requests", history.Info, RateLimited},
}

// prunedPhrases are nodes' words for state that they no longer have.
var prunedPhrases = []string{
	"missing trie node", "historical state", "state is not available", "state not available",
	"pruned", "no state available", "world state unavailable", "required historical", "state at block",
}

// absentPhrases are nodes' words for a block or tag that they do not have.
var absentPhrases = []string{
	"finalized block not found", "safe block not found", "block not found", "header not found", "header for hash not found", "unknown block",
	"could not find block", "unsupported tag", "unsupported block", "not supported", "unknown tag", "invalid tag",
	"invalid block tag", "invalid block number", "hex string without 0x prefix", "no finalized", "no safe block",
}

// SubmitOutcome says what an error from sending a signed transaction means.
// history.OK is a transaction that the node took, now or on an earlier attempt
// with the same bytes. history.Fail is one that never left this machine or that
// the node rejects for good, provided that no earlier attempt is in doubt.
// Everything else is history.Info.
func SubmitOutcome(err error) Outcome {
	if err == nil {
		return Outcome{Type: history.OK}
	}
	class, text := classify(err)
	switch class {
	case Refused:
		return Outcome{history.Fail, class, text}
	case RPC, Pruned, Absent, Reverted, RateLimited:
		var re rpc.Error
		if !errors.As(err, &re) {
			break
		}
		if re.ErrorCode() == methodNotFound {
			return Outcome{history.Fail, Rejected, text}
		}
		low := strings.ToLower(re.Error())
		for _, v := range submitPhrases {
			if strings.Contains(low, v.phrase) {
				if v.typ == history.OK {
					return Outcome{Type: history.OK}
				}
				return Outcome{v.typ, v.class, text}
			}
		}
		class = RPC
	}
	return Outcome{history.Info, class, text}
}

// ReadOutcome says what an error from a read means. A read changes nothing, so
// it is never in doubt: every error is history.Fail.
func ReadOutcome(err error) Outcome {
	if err == nil {
		return Outcome{Type: history.OK}
	}
	class, text := classify(err)
	return Outcome{history.Fail, class, text}
}

// JSON-RPC error codes.
const (
	methodNotFound = -32601
	invalidParams  = -32602
	limitExceeded  = -32005
	unknownBlock   = -39001
)

// classify names the class of an error, and its text on one line.
func classify(err error) (class, text string) {
	text = oneLine(err.Error())
	var req *RequestError
	if errors.As(err, &req) {
		text = oneLine(req.Err.Error())
		if !req.Sent {
			return Refused, text
		}
	}
	var (
		bad    *malformedError
		absent *absentError
		status rpc.HTTPError
		node   rpc.Error
		web    *url.Error
		wire   net.Error
		syntax *json.SyntaxError
		kind   *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &bad):
		return Malformed, text
	case errors.As(err, &absent):
		return Absent, text
	case errors.Is(err, context.Canceled):
		return Cancelled, text
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout, text
	case errors.As(err, &status):
		if status.StatusCode == 429 {
			return RateLimited, text
		}
		return HTTPStatus, text
	case errors.As(err, &node):
		return nodeClass(node), text
	case errors.As(err, &wire) && wire.Timeout():
		return Timeout, text
	case errors.As(err, &web), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.As(err, &wire):
		return Reset, text
	case errors.As(err, &syntax), errors.As(err, &kind), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Malformed, "answer is not the JSON that was asked for: " + text
	}
	// What is left comes from decoding: no result, a missing answer in a batch.
	return Malformed, text
}

// nodeClass names the class of an error that the node reports.
func nodeClass(err rpc.Error) string {
	low := strings.ToLower(err.Error())
	switch {
	case containsAny(low, prunedPhrases):
		return Pruned
	case err.ErrorCode() == unknownBlock, containsAny(low, absentPhrases):
		return Absent
	case strings.Contains(low, "execution reverted"):
		return Reverted
	case err.ErrorCode() == limitExceeded, strings.Contains(low, "rate limit"), strings.Contains(low, "too many requests"):
		return RateLimited
	}
	return RPC
}

// isAbsent reports whether err says that the node does not have a block or does
// not know a tag.
func isAbsent(err error) bool {
	class, _ := classify(err)
	if class == Absent {
		return true
	}
	var node rpc.Error
	return class == RPC && errors.As(err, &node) && node.ErrorCode() == invalidParams
}

func containsAny(s string, phrases []string) bool {
	for _, p := range phrases {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// oneLine makes foreign text fit for one line of a history.
func oneLine(s string) string {
	const most = 240
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
