package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

func rng() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestEdits(t *testing.T) {
	const doc = ` {"a" : {"b":[1, 2.50 ,{"c":"0x0f"}] , "n":12345678901234567890} ,"\u0061b":"0xAb", "e":[], "s":"x,}\""}`
	for _, c := range []struct{ path, do, value, want string }{
		{"a.n", "set_field", "null", ` {"a" : {"b":[1, 2.50 ,{"c":"0x0f"}] , "n":null} ,"\u0061b":"0xAb", "e":[], "s":"x,}\""}`},
		{"a.b.1", "set_field", "3", ` {"a" : {"b":[1, 3 ,{"c":"0x0f"}] , "n":12345678901234567890} ,"\u0061b":"0xAb", "e":[], "s":"x,}\""}`},
		{"a.b.*", "set_field", "0", ` {"a" : {"b":[0, 0 ,0] , "n":12345678901234567890} ,"\u0061b":"0xAb", "e":[], "s":"x,}\""}`},
		{"", "set_field", "7", ` 7`},
		{"a", "delete_field", "", ` {"\u0061b":"0xAb", "e":[], "s":"x,}\""}`},
		{"s", "delete_field", "", ` {"a" : {"b":[1, 2.50 ,{"c":"0x0f"}] , "n":12345678901234567890} ,"\u0061b":"0xAb", "e":[]}`},
		{"a.*", "delete_field", "", ` {"a" : { } ,"\u0061b":"0xAb", "e":[], "s":"x,}\""}`},
		{"a.b.0", "delete_field", "", ` {"a" : {"b":[2.50 ,{"c":"0x0f"}] , "n":12345678901234567890} ,"\u0061b":"0xAb", "e":[], "s":"x,}\""}`},
		{"a.b", "truncate_array", "1", ` {"a" : {"b":[1] , "n":12345678901234567890} ,"\u0061b":"0xAb", "e":[], "s":"x,}\""}`},
		{"a.b", "truncate_array", "3", doc},
		{"a", "truncate_array", "0", doc},
		{"a.b.2.c", "malform_hex", "", strings.Replace(doc, `"0x0f"`, `"0xgf"`, 1)},
		{"ab", "negate_hex", "", strings.Replace(doc, `"0xAb"`, `"-0x1"`, 1)},
		{"ab", "oversize_hex", "", strings.Replace(doc, `"0xAb"`, `"0x`+strings.Repeat("f", 64)+`Ab"`, 1)},
		{"e", "nest", "", strings.Replace(doc, `[]`, strings.Repeat("[", 101)+strings.Repeat("]", 101), 1)},
		{"nothing", "set_field", "1", doc},
		{"a.b.7", "delete_field", "", doc},
		{"a.b.2.c.d", "set_field", "1", doc},
		{"e.*", "flip_hex", "", doc},
		{"a.n", "flip_hex", "", doc},
	} {
		e := Edit{Path: c.path, Do: Operation(c.do), Value: c.value}
		if e.Do == TruncateArray {
			e.Keep = int(c.value[0] - '0')
		}
		if err := e.check(); err != nil {
			t.Error(err)
		}
		got := string(e.apply([]byte(doc), whole([]byte(doc)), rng()))
		if e.Do == MalformHex && strings.Contains(got, `"0x0g"`) {
			got = strings.Replace(got, `"0x0g"`, `"0xgf"`, 1) // either digit
		}
		if got != c.want {
			t.Errorf("%s %q:\n%s\nexpected\n%s", c.do, c.path, got, c.want)
		}
	}
	for range 100 {
		doc := []byte(`"0xAB09"`)
		got := Edit{Do: FlipHex}.apply(doc, whole(doc), rand.New(rand.NewPCG(rand.Uint64(), 1)))
		if len(got) != len(doc) || strings.EqualFold(string(got), string(doc)) || !json.Valid(got) || strings.Trim(string(got[3:7]), "0123456789abcdefAB") != "" {
			t.Errorf("flipped: %s", got)
		}
	}
}

func TestChecks(t *testing.T) {
	for want, r := range map[string]Rule{
		`rpc rule "delay": delay 0s ± 0s: expected a delay above 0 and a jitter of 0 to the delay`: {Do: Action{Kind: Delay}},
		`rpc rule "x": action "explode": unknown`:                                                  {Name: "x", Do: Action{Kind: "explode"}},
		`rpc rule "drop": share 2: expected 0 to 1`:                                                {Share: 2, Do: Action{Kind: Drop}},
		`rpc rule "drop": methods "/(/": expected a regular expression between slashes`:            {Methods: "/(/", Do: Action{Kind: Drop}},
		`rpc rule "drop": methods "/a": expected a regular expression between slashes`:             {Methods: "/a", Do: Action{Kind: Drop}},
		`rpc rule "drop": methods "[": expected a pattern such as eth_get*`:                        {Methods: "[", Do: Action{Kind: Drop}},
		`rpc rule "status": status 200: expected 300 to 599`:                                       {Do: Action{Kind: Status, Status: 200}},
		`rpc rule "stale": stale by 0 blocks: expected 1 to 10000`:                                 {Do: Action{Kind: Stale}},
		`rpc rule "edit": no edits: expected one or more`:                                          {Do: Action{Kind: Corrupt}},
		`rpc rule "edit": edit set_field "a": value "": expected JSON`:                             {Do: Action{Kind: Corrupt, Edits: []Edit{{Path: "a", Do: SetField}}}},
		`rpc rule "edit": edit delete_field: expected a path, as a result has to be there`:         {Do: Action{Kind: Corrupt, Edits: []Edit{{Do: DeleteField}}}},
		`rpc rule "truncate": keep 1: expected 0 to less than 1`:                                   {Do: Action{Kind: Cut, Keep: 1}},
		`rpc rule "html": status 204: expected one from 200 to 599 that has a body`:                {Do: Action{Kind: Page, Status: 204}},
		`rpc rule "drop": gate {SkipFirst:-1 EveryN:0 Max:0}: expected nothing below 0`:            {Gate: Gate{SkipFirst: -1}, Do: Action{Kind: Drop}},
	} {
		if err := r.Check(); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	p, err := New(Options{Target: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	good := Rule{Do: Action{Kind: Drop}}
	if err := p.Set(good); err != nil {
		t.Fatal(err)
	}
	if err := p.Set(good, good); err == nil || len(p.Rules()) != 1 {
		t.Errorf("two of a name: %v, rules %v", err, p.Rules())
	}
	for _, o := range []Options{{}, {Target: "127.0.0.1:8545"}, {Target: "ws://x:1"}, {Target: "http://x:1", TargetWS: "http://x:1"}, {Target: "http://x:1", Listen: "nowhere:x"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// FuzzMessages: whatever comes from a client or a node, what goes on is JSON when
// it was, and nothing panics.
func FuzzMessages(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"latest"}]}`,
		`[{"id":"a","method":"eth_call","params":[{},"latest"]},{"id":2,"method":"eth_getBalance","params":["0x"]}]`,
		`{"id":1,"result":{"a":[{"b":"0x1"}],"number":"0x99","blockNumber":7}}`,
		`{"params":[],"id":{},"method":"eth_blockNumber"}`, `[]`, `[[]]`, ` 1e5 `, `"\ud800"`, `{"":{"":[[],{}]}}`,
	} {
		f.Add([]byte(s), []byte(s), "a.*.b")
	}
	f.Fuzz(func(t *testing.T, request, answer []byte, path string) {
		edits := []Edit{{Path: path, Do: FlipHex}, {Path: path, Do: TruncateArray}, {Path: path, Do: OversizeHex}}
		if path != "" {
			edits = append(edits, Edit{Path: path, Do: NestValue}, Edit{Path: path, Do: DeleteField})
		}
		s, err := newRuleset([]Rule{
			{Do: Action{Kind: Stale, Blocks: 3}}, {Do: Action{Kind: Corrupt, Edits: edits}}, {Do: Action{Kind: WrongID}},
			{Methods: "eth_call", Do: Action{Kind: Drop}}, {Name: "after", Methods: "eth_getBalance", Do: Action{Kind: Fail, After: true}},
		}, 1)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(_ context.Context, method, _ string) ([]byte, error) {
			if method == "eth_blockNumber" {
				return []byte(`"0x10"`), nil
			}
			return []byte(`{"number":"0x9"}`), nil
		}
		x := s.examine(bytes.Clone(request), ask)
		if x == nil {
			return
		}
		forward, _, err := x.before(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if forward != nil && !json.Valid(forward) {
			t.Fatalf("request %q went on as %q", request, forward)
		}
		out, _ := x.after(answer)
		if json.Valid(answer) && out != nil && !json.Valid(out) {
			t.Fatalf("answer %q went on as %q", answer, out)
		}
	})
}
