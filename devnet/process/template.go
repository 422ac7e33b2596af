package process

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/ethereum/go-ethereum/crypto"
	"go.yaml.in/yaml/v3"
)

// text is a template of package text/template that is filled in for each node.
type text struct {
	place
	set    bool
	source string
	parsed *template.Template
}

func (t *text) decode(d *decoder, n *yaml.Node, name string) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.wrong(n, name, "text")
		return
	}
	t.place, t.set, t.source = at(n), true, n.Value
	var err error
	t.parsed, err = template.New(name).Option("missingkey=error").Funcs(functions("")).Parse(n.Value)
	if err != nil {
		d.fail(t.place, "%s: %q is no template: %s", name, short(n.Value), err)
	}
}

// short is the beginning of a value, to be quoted.
func short(value string) string {
	const most = 60
	line, _, cut := strings.Cut(value, "\n")
	if len(line) > most {
		line, cut = strings.ToValidUTF8(line[:most], ""), true
	}
	if cut {
		line += "…"
	}
	return line
}

// fill fills the template in. f names the file of an error.
func (t text) fill(f *File, seed string, data any) (string, error) {
	if t.parsed == nil {
		return "", nil
	}
	var b strings.Builder
	if err := t.parsed.Funcs(functions(seed)).Execute(&b, data); err != nil {
		return "", fmt.Errorf("%s:%d:%d: %q: %w", f.path, t.line, t.column, short(t.source), err)
	}
	return b.String(), nil
}

// view is what the templates of a node see of it.
type view struct {
	Name   string // n1, n2, …
	Number int    // 1, 2, …
	Index  int    // 0, 1, …
	Role   string
	Host   string
	Ports  map[string]int
	Vars   map[string]string
	Home   string // the node's directory
	Data   string // its data directory, in Home

	Nodes   []*view // all, itself among them
	Peers   []peer  // all others
	ChainID uint64
	Period  int      // seconds between blocks, at least 1
	Faucet  string   // address of the faucet; "" without one
	Started string   // when the network was made, RFC 3339
	Seed    string   // of the run
	Jepgo   string   // this program
	FileDir string   // directory of the devnet file
	funded  []string // accounts that need funds
	asked   *bool    // somebody has looked at Accounts
}

// Accounts are the addresses that must have funds in the genesis.
func (v *view) Accounts() []string {
	*v.asked = true
	return v.funded
}

// peer is another node as one node sees it.
type peer struct {
	*view
	Dial map[string]string // protocol → host:port by which this node reaches it, over the link
}

// functions are what templates can call beside those of text/template. Keys follow
// from the seed.
func functions(seed string) template.FuncMap {
	return template.FuncMap{
		"key":     func(kind string, i int) string { return key(seed, kind, i) },
		"address": address,
		"pubkey":  pubkey,
		"bare":    func(s string) string { return strings.ToLower(strings.TrimPrefix(s, "0x")) },
		"env": func(name, fallback string) string {
			return cmp.Or(os.Getenv(name), fallback)
		},
		"vars": func(name string, nodes []*view) ([]string, error) {
			var all []string
			for _, n := range nodes {
				v, ok := n.Vars[name]
				if !ok {
					return nil, fmt.Errorf("node %s has no var %q, expected one of %q", n.Name, name, slices.Sorted(maps.Keys(n.Vars)))
				}
				all = append(all, v)
			}
			return all, nil
		},
		"list": func(s ...string) []string { return s },
		"sort": func(s []string) []string { return slices.Sorted(slices.Values(s)) },
		"uniq": func(s []string) []string { return slices.Compact(slices.Sorted(slices.Values(s))) },
		"join": func(sep string, s []string) string { return strings.Join(s, sep) },
		"repeat": func(n int, s string) (string, error) {
			if n < 0 || len(s) > 0 && n > maxFile/len(s) {
				return "", fmt.Errorf("repeat %d: expected 0 to what fits in %d bytes", n, maxFile)
			}
			return strings.Repeat(s, n), nil
		},
		"add": func(a, b int) int { return a + b },
		"sub": func(a, b int) int { return a - b },
		"mod": func(a, b int) (int, error) {
			if b <= 0 {
				return 0, fmt.Errorf("mod %d %d: expected a number above 0", a, b)
			}
			return a % b, nil
		},
		"hex": func(n uint64) string { return "0x" + strconv.FormatUint(n, 16) },
		"json": func(v any) (string, error) {
			b, err := json.Marshal(v)
			return string(b), err
		},
	}
}

// key derives private key i of a kind, in hex. A digest that is no key of the curve
// (one in 2^128) is hashed again.
func key(seed, kind string, i int) string {
	digest := crypto.Keccak256(fmt.Appendf(nil, "devnet/%s/%s/%d", seed, kind, i))
	for {
		if k, err := crypto.ToECDSA(digest); err == nil {
			return hex.EncodeToString(crypto.FromECDSA(k))
		}
		digest = crypto.Keccak256(digest)
	}
}

// address is the address of a private key in hex.
func address(key string) (string, error) {
	k, err := crypto.HexToECDSA(strings.TrimPrefix(key, "0x"))
	if err != nil {
		return "", fmt.Errorf("address: %d characters are no private key: expected 64 hex digits", len(key))
	}
	return crypto.PubkeyToAddress(k.PublicKey).Hex(), nil
}

// pubkey is the uncompressed public key of a private key, as in an enode URL.
func pubkey(key string) (string, error) {
	k, err := crypto.HexToECDSA(strings.TrimPrefix(key, "0x"))
	if err != nil {
		return "", fmt.Errorf("pubkey: %d characters are no private key: expected 64 hex digits", len(key))
	}
	return hex.EncodeToString(crypto.FromECDSAPub(&k.PublicKey)[1:]), nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
