package rpc

import (
	"context"
	"strconv"
	"strings"
)

// asker asks the node itself, past all rules, and returns the result.
type asker func(ctx context.Context, method, params string) (result []byte, err error)

// view is what one message sees through a Stale rule. Each tag stands for the
// block that many blocks before the one it means now, asked at most once, so
// that the answers of a message agree, and those of later messages never go back:
// latest, safe and finalized keep their order.
type view struct {
	blocks uint64
	ask    asker
	now    map[string]uint64 // tag → block that it means for the node
	failed map[string]bool
}

// at is the block that the tag stands for in the view; ok is false when the node
// does not tell.
func (v *view) at(ctx context.Context, tag string) (asOf, now uint64, ok bool) {
	if v.failed[tag] {
		return 0, 0, false
	}
	now, known := v.now[tag]
	if !known {
		if now, known = v.look(ctx, tag); !known {
			v.failed[tag] = true
			return 0, 0, false
		}
		v.now[tag] = now
	}
	return now - min(now, v.blocks), now, true
}

func (v *view) look(ctx context.Context, tag string) (uint64, bool) {
	if tag == latest {
		result, err := v.ask(ctx, "eth_blockNumber", `[]`)
		if err != nil {
			return 0, false
		}
		return quantity(result, whole(result))
	}
	result, err := v.ask(ctx, "eth_getBlockByNumber", `["`+tag+`",false]`)
	if err != nil {
		return 0, false
	}
	n, ok := member(result, whole(result), "number")
	if !ok {
		return 0, false
	}
	return quantity(result, n)
}

const latest = "latest"

func isTag(s string) bool { return s == latest || s == "safe" || s == "finalized" }

// quantity reads "0x1f" at s.
func quantity(doc []byte, s span) (uint64, bool) {
	t, _ := text(doc, s)
	hex, ok := strings.CutPrefix(t, "0x")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(hex, 16, 64)
	return n, err == nil
}

func hexNumber(n uint64) []byte { return []byte(`"0x` + strconv.FormatUint(n, 16) + `"`) }

// tagAt is which parameter of a method names a block; -1 for those that are
// answered without one.
func tagAt(method string) (index int, known bool) {
	switch method {
	case "eth_getBlockByNumber", "eth_getHeaderByNumber", "eth_getBlockReceipts",
		"eth_getBlockTransactionCountByNumber", "eth_getUncleCountByBlockNumber",
		"eth_getTransactionByBlockNumberAndIndex", "eth_getUncleByBlockNumberAndIndex",
		"debug_traceBlockByNumber", "eth_getLogs":
		return 0, true
	case "eth_call", "eth_estimateGas", "eth_createAccessList", "eth_getBalance", "eth_getCode",
		"eth_getTransactionCount", "eth_feeHistory", "eth_simulateV1", "debug_traceCall":
		return 1, true
	case "eth_getStorageAt", "eth_getProof":
		return 2, true
	case "eth_blockNumber", "eth_getBlockByHash", "eth_getHeaderByHash",
		"eth_getTransactionReceipt", "eth_getTransactionByHash":
		return -1, true
	}
	return 0, false
}

// makeStale rewrites the tags of a call, and looks at the head for its answer.
func (x *exchange) makeStale(ctx context.Context, c *call) {
	index, known := tagAt(c.method)
	if !known {
		return
	}
	for _, f := range c.fired {
		if f.Do.Kind != Stale {
			continue
		}
		v := x.views[f.Do.Blocks]
		if v == nil {
			if x.views == nil {
				x.views = map[uint64]*view{}
			}
			v = &view{f.Do.Blocks, x.ask, map[string]uint64{}, map[string]bool{}}
			x.views[f.Do.Blocks] = v
		}
		if _, _, ok := v.at(ctx, latest); !ok {
			return
		}
		c.asOf = v
		if index < 0 {
			return
		}
		if raw, ok := retag(ctx, c.envelope, index, v); ok {
			c.envelope, c.tagged = open(raw), true
		}
		return // a second one would see what the first has rewritten
	}
}

func (r *rule) countStale(behind uint64) {
	if behind > 0 {
		r.behind.Add(int64(behind))
		r.stale.Add(1)
	}
}

// retag puts numbers in the place of tags.
func retag(ctx context.Context, e envelope, index int, v *view) (raw []byte, changed bool) {
	if !e.hasParams {
		return e.raw, false
	}
	n := 0
	for at := range elements(e.raw, e.params) {
		if n++; n <= index {
			continue
		}
		if e.method == "eth_getLogs" {
			return retagFilter(ctx, e.raw, at, v)
		}
		if inner, ok := member(e.raw, at, "blockNumber"); ok { // EIP-1898
			at = inner
		}
		return retagValue(ctx, e.raw, at, v)
	}
	if n != index || n == 0 {
		return e.raw, false
	}
	// The block was left out, and means latest.
	asOf, _, ok := v.at(ctx, latest)
	if !ok {
		return e.raw, false
	}
	end := e.params.end - 1
	return splice(e.raw, span{end, end}, append([]byte{','}, hexNumber(asOf)...)), true
}

func retagValue(ctx context.Context, raw []byte, at span, v *view) ([]byte, bool) {
	tag, _ := text(raw, at)
	if !isTag(tag) {
		return raw, false
	}
	asOf, _, ok := v.at(ctx, tag)
	if !ok {
		return raw, false
	}
	return splice(raw, at, hexNumber(asOf)), true
}

// retagFilter does both ends of a filter; one that is left out means latest.
func retagFilter(ctx context.Context, raw []byte, at span, v *view) (_ []byte, changed bool) {
	if _, ok := member(raw, at, "blockHash"); ok || raw[at.start] != '{' {
		return raw, false
	}
	for _, name := range []string{"toBlock", "fromBlock"} {
		at := span{at.start, skipValue(raw, at.start)}
		value, ok := member(raw, at, name)
		if ok {
			var did bool
			raw, did = retagValue(ctx, raw, value, v)
			changed = changed || did
			continue
		}
		asOf, _, ok := v.at(ctx, latest)
		if !ok {
			continue
		}
		field := `"` + name + `":` + string(hexNumber(asOf))
		if raw[skipSpace(raw, at.start+1)] != '}' {
			field += ","
		}
		raw, changed = splice(raw, span{at.start + 1, at.start + 1}, []byte(field)), true
	}
	return raw, changed
}

// stale hides from an answer what the view has not come to yet.
func (c *call) stale(a envelope, f firing) envelope {
	if c.asOf == nil || !a.hasResult {
		return a
	}
	now := c.asOf.now[latest]
	asOf := now - min(now, c.asOf.blocks)
	if c.tagged {
		f.countStale(now - asOf)
		return a
	}
	switch c.method {
	case "eth_blockNumber":
		f.countStale(now - asOf)
		return open(splice(a.raw, a.result, hexNumber(asOf)))
	case "eth_getBlockByNumber", "eth_getBlockByHash", "eth_getHeaderByNumber", "eth_getHeaderByHash",
		"eth_getTransactionReceipt", "eth_getTransactionByHash", "eth_getBlockReceipts":
	default:
		return a
	}
	at := a.result
	for first := range elements(a.raw, at) {
		at = first
		break
	}
	n, ok := member(a.raw, at, "blockNumber")
	if !ok {
		n, ok = member(a.raw, at, "number")
	}
	if height, is := quantity(a.raw, n); !ok || !is || height <= asOf {
		return a
	}
	f.countStale(now - asOf)
	return open(splice(a.raw, a.result, []byte("null")))
}
