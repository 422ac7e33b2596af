package validator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	cmtlog "github.com/cometbft/cometbft/libs/log"
	cmtnode "github.com/cometbft/cometbft/node"
	rpcserver "github.com/cometbft/cometbft/rpc/jsonrpc/server"
	"github.com/ethereum/go-ethereum/crypto"
)

const doubleEvery = 3 // of the heights one in so many has two sets of votes

// voteBugs are about the votes that decided a block.
func voteBugs() []Bug {
	return []Bug{
		{Name: "two-votes", Doc: fmt.Sprintf("at one height in %d the votes are told to be for another block", doubleEvery), Targets: LastValidator,
			Workloads: []string{"consensus"}, Checker: "equivocation", comet: aboutCommits(voteTwice)},
		{Name: "absent-vote", Doc: "the first validator is told to have never voted", Targets: EveryValidator,
			Workloads: []string{"consensus"}, Checker: "participation", Says: Warns, Time: time.Minute, comet: aboutCommits(voteNever)},
	}
}

// aboutCommits changes what /commit tells.
func aboutCommits(lie func(commit object)) func(path string, result object) {
	return func(path string, result object) {
		if path != "/commit" {
			return
		}
		signed := result.field("signed_header")
		commit := signed.field("commit")
		if signed == nil || commit == nil {
			return // a height that the node does not have
		}
		lie(commit)
		signed.set("commit", commit)
		result.set("signed_header", signed)
	}
}

func voteTwice(commit object) {
	height, _ := strconv.ParseUint(strings.Trim(string(commit["height"]), `"`), 10, 64)
	block := commit.field("block_id")
	if block == nil || height%doubleEvery != 0 {
		return
	}
	block.set("hash", fmt.Sprintf("%X", crypto.Keccak256([]byte("jepgo vote"), block["hash"])))
	commit.set("block_id", block)
}

func voteNever(commit object) {
	var votes []json.RawMessage
	if json.Unmarshal(commit["signatures"], &votes) != nil || len(votes) == 0 {
		return
	}
	votes[0] = json.RawMessage(`{"block_id_flag":1,"validator_address":"","timestamp":"0001-01-01T00:00:00Z","signature":null}`)
	commit.set("signatures", votes)
}

// cometRoutes is what CometBFT's own RPC server would serve.
func cometRoutes(comet *cmtnode.Node) (http.Handler, error) {
	env, err := comet.ConfigureRPC()
	if err != nil {
		return nil, fmt.Errorf("cometbft rpc: %w", err)
	}
	mux := http.NewServeMux()
	rpcserver.RegisterRPCFuncs(mux, env.GetRoutes(), cmtlog.NewNopLogger())
	return mux, nil
}

// lieOfComet answers a request to CometBFT's RPC by GET, whose path is the method.
func lieOfComet(node http.Handler, lie func(path string, result object), w http.ResponseWriter, r *http.Request) {
	honest := &kept{header: http.Header{}, status: http.StatusOK}
	node.ServeHTTP(honest, r)
	body := honest.body.Bytes()
	answer := objectOf(body)
	if told := answer.field("result"); told != nil {
		lie(r.URL.Path, told)
		answer.set("result", told)
		body = result(answer).Result
	}
	for key, values := range honest.header {
		if key != "Content-Length" {
			w.Header()[key] = values
		}
	}
	w.WriteHeader(honest.status)
	_, _ = w.Write(body) // the client is gone: nobody to tell
}

// kept is an answer that was not sent yet.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header         { return k.header }
func (k *kept) WriteHeader(status int)      { k.status = status }
func (k *kept) Write(b []byte) (int, error) { return k.body.Write(b) }
