package rpc

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"
)

// Kind is what an Action does.
type Kind string

// The kinds of actions. Those that say "either side" happen before the message
// reaches the node or, with After, to the node's answer: then the effect is there
// and only the news of it is not.
const (
	// Delay holds the message back, for Action.Delay ± Jitter. Either side.
	Delay Kind = "delay"
	// Drop loses the message: the connection is closed without an answer, or with
	// Hang stays open and silent until the client gives up. Of a batch only the
	// element is lost; over WebSocket the connection stays. Either side.
	Drop Kind = "drop"
	// Status answers the whole message with an HTTP status. Over WebSocket, which
	// has none, the connection is closed with code 1013. Either side.
	Status Kind = "status"
	// Page answers the whole message with an HTML page and an HTTP status (0 is
	// 200), as gateways and portals do. Either side.
	Page Kind = "html"
	// Fail answers with a JSON-RPC error of Code and Message. Either side.
	Fail Kind = "error"
	// Cut ends the body of the answer after the share Keep of its bytes (0 is half).
	Cut Kind = "truncate"
	// WrongID gives the answer an id that nobody used.
	WrongID Kind = "wrong-id"
	// Stale answers as of Blocks blocks ago: see the package's documentation.
	Stale Kind = "stale"
	// Corrupt makes the Edits in the result.
	Corrupt Kind = "edit"
	// Duplicate sends the request again once it was answered, and throws the second
	// answer away.
	Duplicate Kind = "duplicate"
)

// Action is what a rule does to a message. Which fields count is the Kind's to
// say.
type Action struct {
	Kind    Kind
	After   bool          // to the answer instead of the request
	Delay   time.Duration // of Delay
	Jitter  time.Duration // Delay varies by up to so much either way; at most Delay
	Hang    bool          // of Drop
	Status  int           // of Status and Page
	Code    int           // of Fail
	Message string        // of Fail
	Keep    float64       // of Cut
	Blocks  uint64        // of Stale
	Edits   []Edit        // of Corrupt
}

// Gate lets only some of the messages that match through to a rule. The zero
// Gate lets all.
type Gate struct {
	SkipFirst int64 // leave the first so many alone
	EveryN    int64 // of the rest take the first and then each n-th; 0 takes all
	Max       int64 // act at most so often; 0 is no limit
}

// Rule says what happens to which messages. A message is one request, one element
// of a batch, or one notification of a subscription, whose method is
// eth_subscription.
type Rule struct {
	Name string // in Counters; "" is the action's kind
	// Methods is a glob as in package path (eth_get*), or a regular expression
	// between slashes (/^eth_(call|getBalance)$/); "" is every method.
	Methods string
	// Share is the chance with which the rule acts on a message that came through
	// the gate; 0 is 1, always. Message k of a rule is drawn the same for the same
	// seed.
	Share float64
	Gate  Gate
	Do    Action
}

// maxBlocks bounds the new heads that a Stale rule keeps for a subscription.
const maxBlocks = 10_000

// Check returns why the rule makes no sense.
func (r Rule) Check() error {
	if err := r.check(); err != nil {
		return fmt.Errorf("rpc rule %q: %w", r.name(), err)
	}
	return nil
}

func (r Rule) name() string {
	if r.Name == "" {
		return string(r.Do.Kind)
	}
	return r.Name
}

func (r Rule) check() error {
	if _, err := matcher(r.Methods); err != nil {
		return err
	}
	if !(r.Share >= 0 && r.Share <= 1) {
		return fmt.Errorf("share %g: expected 0 to 1", r.Share)
	}
	if g := r.Gate; g.SkipFirst < 0 || g.EveryN < 0 || g.Max < 0 {
		return fmt.Errorf("gate %+v: expected nothing below 0", g)
	}
	a := r.Do
	switch a.Kind {
	case Delay:
		if a.Delay <= 0 || a.Jitter < 0 || a.Jitter > a.Delay {
			return fmt.Errorf("delay %v ± %v: expected a delay above 0 and a jitter of 0 to the delay", a.Delay, a.Jitter)
		}
	case Status:
		if a.Status < 300 || a.Status > 599 {
			return fmt.Errorf("status %d: expected 300 to 599", a.Status)
		}
	case Page:
		if a.Status != 0 && (a.Status < 200 || a.Status > 599) || a.Status == http.StatusNoContent || a.Status == http.StatusNotModified {
			return fmt.Errorf("status %d: expected one from 200 to 599 that has a body", a.Status)
		}
	case Cut:
		if !(a.Keep >= 0 && a.Keep < 1) {
			return fmt.Errorf("keep %g: expected 0 to less than 1", a.Keep)
		}
	case Stale:
		if a.Blocks < 1 || a.Blocks > maxBlocks {
			return fmt.Errorf("stale by %d blocks: expected 1 to %d", a.Blocks, maxBlocks)
		}
	case Corrupt:
		if len(a.Edits) == 0 {
			return errors.New("no edits: expected one or more")
		}
		for _, e := range a.Edits {
			if err := e.check(); err != nil {
				return err
			}
		}
	case Drop, Fail, WrongID, Duplicate:
	default:
		return fmt.Errorf("action %q: unknown", a.Kind)
	}
	return nil
}

// matcher reads Rule.Methods.
func matcher(methods string) (func(method string) bool, error) {
	if methods == "" {
		return func(string) bool { return true }, nil
	}
	if expr, ok := strings.CutPrefix(methods, "/"); ok {
		expr, ok = strings.CutSuffix(expr, "/")
		re, err := regexp.Compile(expr)
		if !ok || err != nil {
			return nil, fmt.Errorf("methods %q: expected a regular expression between slashes", methods)
		}
		return re.MatchString, nil
	}
	if _, err := path.Match(methods, ""); err != nil {
		return nil, fmt.Errorf("methods %q: expected a pattern such as eth_get*", methods)
	}
	return func(method string) bool {
		ok, _ := path.Match(methods, method)
		return ok
	}, nil
}
