package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
)

const (
	maxCometAnswer = 8 << 20 // bytes
	validatorsPage = 100     // the most that CometBFT gives at once
	mostValidators = 10_000
)

// Comet asks the RPC of one node's CometBFT, by plain GET requests. It is safe
// for concurrent use. Hashes are CometBFT's own, of its blocks, not those of the
// blocks of the chain that it carries.
type Comet struct {
	name, url string
	http      *http.Client
}

// DialComet returns a client of the CometBFT at an http:// or https:// URL. It
// makes no request. Close it after use.
func DialComet(name, rawURL string) (*Comet, error) {
	u, err := url.Parse(rawURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("node %s: CometBFT url %q: want http://host:port", name, rawURL)
	}
	return &Comet{name: name, url: strings.TrimRight(rawURL, "/"), http: &http.Client{
		Transport:     &http.Transport{IdleConnTimeout: 30 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close drops the connections.
func (c *Comet) Close() { c.http.CloseIdleConnections() }

// Name is the node's name in the history.
func (c *Comet) Name() string { return c.name }

// get asks for a path and decodes the result.
func (c *Comet) get(ctx context.Context, path string, query url.Values, to any) error {
	var sent atomic.Bool
	fault := func(err error) error {
		return &RequestError{Node: c.name, Method: path, Sent: sent.Load(), Err: err}
	}
	req, err := http.NewRequestWithContext(traced(ctx, &sent), http.MethodGet, c.url+path+"?"+query.Encode(), nil)
	if err != nil {
		return fault(err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fault(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxCometAnswer+1))
	if err != nil {
		return fault(err)
	}
	if len(body) > maxCometAnswer {
		return fault(malformed("answer of more than %d bytes", maxCometAnswer))
	}
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
			Data    string `json:"data"`
		} `json:"error"`
	}
	// Errors come with a status of their own, and say more than that.
	switch err := json.Unmarshal(body, &answer); {
	case err == nil && answer.Error != nil:
		e := &reportedError{answer.Error.Code, strings.TrimSpace(answer.Error.Message + " " + answer.Error.Data)}
		if containsAny(strings.ToLower(e.Message), cometAbsent) {
			return fault(&absentError{e.Message})
		}
		return fault(e)
	case resp.StatusCode != http.StatusOK:
		return fault(rpc.HTTPError{StatusCode: resp.StatusCode, Status: resp.Status, Body: body[:min(len(body), 200)]})
	case err != nil:
		return fault(malformed("%v", err))
	case len(answer.Result) == 0 || string(answer.Result) == "null":
		return fault(malformed("answer has no result"))
	}
	if err := json.Unmarshal(answer.Result, to); err != nil {
		return fault(malformed("%v", err))
	}
	return nil
}

// cometAbsent are CometBFT's words for a height that it does not have.
var cometAbsent = []string{"must be less than or equal to", "is not available", "could not find", "lowest height is"}

func (c *Comet) malformed(path, format string, args ...any) error {
	return &RequestError{Node: c.name, Method: path, Sent: true, Err: malformed(format, args...)}
}

// CometStatus is what a node says of itself.
type CometStatus struct {
	Height     int64 // of the newest block in its store; 0 before the first
	Hash       string
	App        string // hash of the application's state, which that block commits to
	Time       time.Time
	CatchingUp bool
}

// Status asks for /status.
func (c *Comet) Status(ctx context.Context) (CometStatus, error) {
	const path = "/status"
	var answer struct {
		Sync struct {
			Height     *number    `json:"latest_block_height"`
			Hash       *string    `json:"latest_block_hash"`
			App        *string    `json:"latest_app_hash"`
			Time       *time.Time `json:"latest_block_time"`
			CatchingUp *bool      `json:"catching_up"`
		} `json:"sync_info"`
	}
	if err := c.get(ctx, path, nil, &answer); err != nil {
		return CometStatus{}, err
	}
	s := answer.Sync
	if s.Height == nil || s.Hash == nil || s.App == nil || s.Time == nil || s.CatchingUp == nil || !isHex(*s.Hash) || !isHex(*s.App) {
		return CometStatus{}, c.malformed(path, "sync_info lacks a proper height, hash, time or catching_up")
	}
	return CometStatus{int64(*s.Height), *s.Hash, *s.App, *s.Time, *s.CatchingUp}, nil
}

// Peers asks /net_info how many peers the node has.
func (c *Comet) Peers(ctx context.Context) (int64, error) {
	const path = "/net_info"
	var answer struct {
		Peers *number `json:"n_peers"`
	}
	if err := c.get(ctx, path, nil, &answer); err != nil {
		return 0, err
	}
	if answer.Peers == nil {
		return 0, c.malformed(path, "answer lacks n_peers")
	}
	return int64(*answer.Peers), nil
}

// CometValidator is a member of the set that may vote at a height.
type CometValidator struct {
	Address string // in capital hex digits
	Power   int64
}

// Validators asks for the set at a height, in CometBFT's order. Sets of more than
// a hundred take several requests.
func (c *Comet) Validators(ctx context.Context, height int64) ([]CometValidator, error) {
	const path = "/validators"
	var out []CometValidator
	for page := 1; ; page++ {
		query := url.Values{"height": {fmt.Sprint(height)}, "page": {fmt.Sprint(page)}, "per_page": {fmt.Sprint(validatorsPage)}}
		var answer struct {
			Height *number `json:"block_height"`
			Total  *number `json:"total"`
			Set    []struct {
				Address *string `json:"address"`
				Power   *number `json:"voting_power"`
			} `json:"validators"`
		}
		if err := c.get(ctx, path, query, &answer); err != nil {
			return nil, err
		}
		if answer.Height == nil || int64(*answer.Height) != height || answer.Total == nil || *answer.Total > mostValidators {
			return nil, c.malformed(path, "answer for height %d lacks a proper block_height or total", height)
		}
		for _, v := range answer.Set {
			if v.Address == nil || !isHex(*v.Address) || v.Power == nil {
				return nil, c.malformed(path, "validator of height %d lacks a proper address or voting_power", height)
			}
			out = append(out, CometValidator{*v.Address, int64(*v.Power)})
		}
		switch {
		case len(out) == int(*answer.Total):
			return out, nil
		case len(answer.Set) == 0 || len(out) > int(*answer.Total):
			return nil, c.malformed(path, "%d validators of height %d are told, %d announced", len(out), height, *answer.Total)
		}
	}
}

// Votes of a commit.
const (
	VoteAbsent = "absent"
	VoteFor    = "commit"
	VoteNil    = "nil"
)

// CometVote is what one validator has in a commit.
type CometVote struct {
	Address string // "" for an absent one, whom only its place in the set names
	Vote    string
	Time    time.Time // zero for an absent one
}

// CometCommit is the votes that decided a block.
type CometCommit struct {
	Height    int64
	Hash      string // of the block
	Round     int64
	Proposer  string
	Canonical bool        // as the next block has it; else as this node has collected it
	Votes     []CometVote // in the order of the validator set
}

// Commit asks for /commit of a height.
func (c *Comet) Commit(ctx context.Context, height int64) (CometCommit, error) {
	const path = "/commit"
	var answer struct {
		Signed struct {
			Header struct {
				Height   *number `json:"height"`
				Proposer *string `json:"proposer_address"`
			} `json:"header"`
			Commit struct {
				Height *number `json:"height"`
				Round  *number `json:"round"`
				Block  struct {
					Hash *string `json:"hash"`
				} `json:"block_id"`
				Signatures []struct {
					Flag    int    `json:"block_id_flag"`
					Address string `json:"validator_address"`
					Time    string `json:"timestamp"`
				} `json:"signatures"`
			} `json:"commit"`
		} `json:"signed_header"`
		Canonical *bool `json:"canonical"`
	}
	if err := c.get(ctx, path, url.Values{"height": {fmt.Sprint(height)}}, &answer); err != nil {
		return CometCommit{}, err
	}
	header, commit := answer.Signed.Header, answer.Signed.Commit
	if header.Height == nil || int64(*header.Height) != height || header.Proposer == nil || !isHex(*header.Proposer) ||
		commit.Height == nil || int64(*commit.Height) != height || commit.Round == nil || commit.Block.Hash == nil || !isHex(*commit.Block.Hash) ||
		answer.Canonical == nil {
		return CometCommit{}, c.malformed(path, "answer for height %d lacks a proper height, proposer, round, block or canonical", height)
	}
	out := CometCommit{Height: height, Hash: *commit.Block.Hash, Round: int64(*commit.Round), Proposer: *header.Proposer, Canonical: *answer.Canonical}
	for i, s := range commit.Signatures {
		v := CometVote{Address: s.Address}
		switch s.Flag {
		case 1:
			out.Votes = append(out.Votes, CometVote{Vote: VoteAbsent})
			continue
		case 2:
			v.Vote = VoteFor
		case 3:
			v.Vote = VoteNil
		default:
			return CometCommit{}, c.malformed(path, "signature %d of height %d has the flag %d, want 1 to 3", i, height, s.Flag)
		}
		var err error
		if v.Time, err = time.Parse(time.RFC3339Nano, s.Time); err != nil || !isHex(s.Address) || s.Address == "" {
			return CometCommit{}, c.malformed(path, "signature %d of height %d lacks a proper address or timestamp", i, height)
		}
		out.Votes = append(out.Votes, v)
	}
	return out, nil
}

// number is an integer that is not negative, as CometBFT writes it: mostly as a
// string.
type number int64

func (n *number) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseInt(strings.Trim(string(b), `"`), 10, 64)
	if err != nil || v < 0 {
		return fmt.Errorf("%.40s is no number from 0 on", b)
	}
	*n = number(v)
	return nil
}

// isHex reports whether a text is hex digits, as hashes and addresses are.
func isHex(s string) bool {
	const longest = 128
	return len(s) <= longest && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}
