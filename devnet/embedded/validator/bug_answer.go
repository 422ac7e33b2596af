package validator

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

// answers lies about what the node answers to some methods. Each function gets
// the call and an honest result that is not null, and returns what is said
// instead of it, nil for the truth.
type answers map[string]func(ctx context.Context, c *call, honest json.RawMessage) any

func (answers) question(context.Context, *call) *reply { return nil }

func (a answers) answer(ctx context.Context, c *call, r *reply) {
	lie := a[c.Method]
	if lie == nil || r.Error != nil || len(r.Result) == 0 || string(r.Result) == "null" {
		return
	}
	if said := lie(ctx, c, r.Result); said != nil {
		r.Result = result(said).Result
	}
}

// both are two lies: the first changes the question first, and the answer last.
type both struct{ first, second rewriter }

func (b both) question(ctx context.Context, c *call) *reply {
	if r := b.first.question(ctx, c); r != nil {
		return r
	}
	return b.second.question(ctx, c)
}

func (b both) answer(ctx context.Context, c *call, r *reply) {
	b.second.answer(ctx, c, r)
	b.first.answer(ctx, c, r)
}

// object is a JSON object whose fields are changed one by one.
type object map[string]json.RawMessage

// objectOf is nil for what is no object.
func objectOf(raw json.RawMessage) object {
	var o object
	_ = json.Unmarshal(raw, &o) // no object: nil
	return o
}

// number is a quantity in hex, 0 for none.
func (o object) number(key string) uint64 {
	var n hexutil.Uint64
	_ = json.Unmarshal(o[key], &n) // no number: 0
	return uint64(n)
}

func (o object) set(key string, v any) { o[key] = result(v).Result }

// list is nil for what is none.
func (o object) list(key string) (elements []json.RawMessage) {
	_ = json.Unmarshal(o[key], &elements) // no list: nil
	return elements
}

// field is an object in an object; what is changed in it goes back by set.
func (o object) field(key string) object { return objectOf(o[key]) }

// every is a counter that is true each nth time, beginning with the nth.
type every struct {
	n     uint64
	count atomic.Uint64
}

func (e *every) time() bool { return e.count.Add(1)%e.n == 0 }
