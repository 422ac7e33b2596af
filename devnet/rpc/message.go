package rpc

import (
	"encoding/json"
	"strconv"
)

// maxBatch is how many elements of a batch are looked at; a longer one passes
// untouched.
const maxBatch = 10_000

// envelope is one JSON-RPC request, notification or answer.
type envelope struct {
	raw    []byte
	method string // "" for an answer
	id     string // as it stands, "" for none
	// The spans are within raw; there when the flag is true.
	idAt, params, result span
	hasParams, hasResult bool
}

// parse takes a body apart; ok is false when it is not JSON, or too long a batch.
// What is not JSON-RPC in it becomes an envelope without a method or id.
func parse(body []byte) (messages []envelope, batch, ok bool) {
	if !json.Valid(body) {
		return nil, false, false
	}
	all := whole(body)
	if body[all.start] != '[' {
		return []envelope{open(all.of(body))}, false, true
	}
	for e := range elements(body, all) {
		if len(messages) == maxBatch {
			return nil, true, false
		}
		messages = append(messages, open(e.of(body)))
	}
	return messages, true, true
}

func open(raw []byte) envelope {
	e := envelope{raw: raw}
	for k, v := range members(raw, span{0, len(raw)}) {
		switch key, _ := text(raw, k); key {
		case "method":
			e.method, _ = text(raw, v)
		case "id":
			if e.idAt, e.id = v, string(v.of(raw)); e.id == "null" {
				e.id = ""
			}
		case "params":
			e.params, e.hasParams = v, true
		case "result":
			e.result, e.hasResult = v, true
		}
	}
	return e
}

// failure is the answer of a Fail to the request with that id.
func failure(id string, a Action) []byte {
	msg, err := json.Marshal(a.Message)
	if err != nil { // not reached: a string has always a form
		msg = []byte(`""`)
	}
	return []byte(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + strconv.Itoa(a.Code) + `,"message":` + string(msg) + `}}`)
}

// otherID is an id that is far from those that clients count up, and of the same
// kind.
func otherID(id string) string {
	if n, err := strconv.ParseInt(id, 10, 64); err == nil && n < 1<<52 {
		return strconv.FormatInt(n+1_000_003, 10)
	}
	return `"nobody asked"`
}
