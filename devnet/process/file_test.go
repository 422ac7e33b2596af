package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const least = `profile: bft
chain_id: 7
template:
  command: [node]
  ports: {http: free}
`

func TestReadTellsWhereAndWhat(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string // one line of the error for each, in any order
	}{
		{"", []string{`f.yaml:1:1: file is empty`}},
		{"- a\n", []string{`f.yaml:1:1: file: a list, expected fields`}},
		{"a: [\n", []string{`f.yaml:`, `no YAML`}},
		{least + "---\na: 1\n", []string{`second document`}},
		{least + "nodez: 4\n", []string{`f.yaml:6:1: file: field "nodez" is unknown, expected one of profile, chain_id`}},
		{least + "nodes: 4\nnodes: 5\n", []string{`f.yaml:7:1: file: field "nodes": given twice`}},
		{least + "nodes: four\n", []string{`f.yaml:6:8: nodes: "four", expected a number of nodes, or a list`}},
		{least + "nodes: 0\n", []string{`f.yaml:6:8: nodes: "0"`}},
		{least + "nodes: 1000\n", []string{`f.yaml:6:8: nodes: 1000, expected 1 to 32`}},
		{least + "nodes:\n  - role: a\n  - rule: b\n", []string{`f.yaml:8:5: nodes[1]: field "rule" is unknown`}},
		{least + "block_time: fast\n", []string{`f.yaml:6:13: block_time: "fast", expected a duration`}},
		{least + "block_time: -1s\n", []string{`expected none below 0`}},
		{least + "reorg_depth: 1.5\n", []string{`f.yaml:6:14: reorg_depth: "1.5", expected a whole number`}},
		{least + "chain_id: {}\n", []string{`given twice`}},
		{least + "faucet_key: abc\n", []string{`faucet_key: of 3 characters, expected a private key`}},
		{strings.Replace(least, "7", "-7", 1), []string{`f.yaml:2:11: chain_id: "-7", expected a whole number`}},
		{strings.Replace(least, "free", "70000", 1), []string{`f.yaml:5:17: template.ports.http: "70000", expected a port from 1 to 65535, or free`}},
		{strings.Replace(least, "[node]", "node", 1), []string{`f.yaml:4:12: template.command: "node", expected a list`}},
		{strings.Replace(least, "[node]", "[null]", 1), []string{`f.yaml:4:13: template.command[0]: nothing, expected text`}},
		{strings.Replace(least, "[node]", `["{{.Name"]`, 1), []string{`f.yaml:4:13: template.command[0]: "{{.Name" is no template`}},
		{strings.Replace(least, "[node]", `["{{frob 1}}"]`, 1), []string{`f.yaml:4:13:`, `"frob" not defined`}},
		{strings.Replace(least, "[node]", `[]`, 1), []string{`command: missing`}},
		{strings.Replace(least, "http: free", `rpc: free`, 1), []string{`http: missing, expected a URL, or a port of that name`}},
		{least + "  p2p: {devp2p: gossip}\n", []string{`p2p.devp2p: port "gossip" is none of its ports ["http"]`}},
		{least + "  ready: {port: p2p, log: '('}\n", []string{`ready.port: port "p2p"`, `ready.log "(": expected a regular expression`}},
		{least + "  ready: {rpc: maybe}\n", []string{`f.yaml:6:16: template.ready.rpc: "maybe", expected true or false`}},
		{least + "  files: {../x: a}\n", []string{`file "../x": expected a path within the node's directory`}},
		{"profile: bft\n", []string{`chain_id: missing`, `command: missing`}},
		{least + "  vars: &v {a: *v}\n", []string{`f.yaml:`}}, // an alias within itself
	} {
		_, err := parse("f.yaml", []byte(test.text))
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: error\n%v\nlacks %q", test.text, err, want)
			}
		}
	}
}

func TestReadTellsOfAll(t *testing.T) {
	_, err := parse("f.yaml", []byte("profile: bft\nchain_id: x\nfoo: 1\nbar: 2\n"))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("error %v, want three lines", err)
	}
}

func TestNodesOverTheTemplate(t *testing.T) {
	f, err := parse("f.yaml", []byte(least+`  vars: {a: "1", b: "2"}
  ready: {timeout: 5s}
  role: plain
nodes:
  - role: special
    vars: {b: "3"}
  - command: [other, x]
    power: 3
`))
	if err != nil {
		t.Fatal(err)
	}
	first, second := f.node(0), f.node(1)
	switch {
	case f.Count() != 2:
		t.Errorf("%d nodes, want 2", f.Count())
	case first.Role != "special" || second.Role != "plain":
		t.Errorf("roles %q and %q", first.Role, second.Role)
	case first.Vars["a"].source != "1" || first.Vars["b"].source != "3" || second.Vars["b"].source != "2":
		t.Errorf("vars %v and %v", first.Vars, second.Vars)
	case first.Command[0].source != "node" || second.Command[0].source != "other" || second.Power != 3:
		t.Errorf("commands %v and %v", first.Command, second.Command)
	case second.Ready.Timeout != 5*time.Second:
		t.Errorf("ready %+v", second.Ready)
	}
	if err := f.Resize(3); err == nil {
		t.Error("a list of nodes was given another number")
	}
}

func TestFunctions(t *testing.T) {
	for source, want := range map[string]string{
		`{{join "," (uniq (list "b" "a" "b"))}}`:                                                                           "a,b",
		`{{repeat 3 "ab"}}{{add 1 2}}{{sub 1 2}}{{mod 5 3}}{{hex 255}}`:                                                    "ababab3-120xff",
		`{{bare "0xAB"}} {{json .Vars}}`:                                                                                   `ab {"x":"y"}`,
		`{{address "0000000000000000000000000000000000000000000000000000000000000001"}}`:                                   "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf",
		`{{slice (pubkey "0000000000000000000000000000000000000000000000000000000000000001") 0 16}}`:                       "79be667ef9dcbbac",
		`{{eq (key "a" 0) (key "a" 0)}} {{eq (key "a" 0) (key "a" 1)}} {{eq (key "a" 0) (key "b" 0)}} {{len (key "a" 0)}}`: "true false false 64",
		`{{env "JEPGO_TEST_UNSET" "default"}}`:                                                                             "default",
	} {
		f := &File{path: "f.yaml"}
		var one text
		d := decoder{path: "f.yaml"}
		v := struct {
			T text `yaml:"t"`
		}{}
		d.file(fmt.Appendf(nil, "t: '%s'\n", source), &v)
		if err := d.err(); err != nil {
			t.Fatal(err)
		}
		one = v.T
		got, err := one.fill(f, "seed", &view{Vars: map[string]string{"x": "y"}, asked: new(bool)})
		if err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", source, got, err, want)
		}
	}
}

func TestFillTellsWhere(t *testing.T) {
	for _, source := range []string{`{{.Nope}}`, `{{.Vars.nope}}`, `{{mod 1 0}}`, `{{address "x"}}`, `{{repeat 99999999 "abc"}}`, `{{repeat -1 "a"}}`} {
		v := struct {
			T text `yaml:"t"`
		}{}
		d := decoder{path: "f.yaml"}
		d.file(fmt.Appendf(nil, "\n\nt: '%s'\n", source), &v)
		_, err := v.T.fill(&File{path: "f.yaml"}, "", &view{asked: new(bool)})
		if err == nil || !strings.HasPrefix(err.Error(), "f.yaml:3:4: ") {
			t.Errorf("%s: error %v, want its place", source, err)
		}
	}
}

// TestExamples holds every example to what Read takes.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	more, err2 := filepath.Glob("../../examples/*/*.yaml")
	if files = append(files, more...); err != nil || err2 != nil || len(files) < 3 {
		t.Fatalf("examples %q, %v, %v", files, err, err2)
	}
	for _, file := range files {
		if _, err := Read(file); err != nil {
			t.Error(err)
		}
	}
}

func TestServes(t *testing.T) {
	for path, want := range map[string][2]bool{"clique/clique.yaml": {true, false}, "embedded.yaml": {true, true}} {
		f, err := Read("../../examples/" + path)
		if err != nil {
			t.Fatal(err)
		}
		if ws, comet := f.Serves(); ws != want[0] || comet != want[1] {
			t.Errorf("%s serves WebSocket %v, CometBFT %v, want %v", path, ws, comet, want)
		}
	}
}

// TestEveryFieldIsDocumented holds docs/devnet-file.md to the fields that there
// are.
func TestEveryFieldIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/devnet-file.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range fieldNames() {
		if !strings.Contains(string(doc), "`"+name+"`") {
			t.Errorf("docs/devnet-file.md says nothing of the field %q", name)
		}
	}
	for name := range functions("") {
		if !strings.Contains(string(doc), "`"+name+" ") && !strings.Contains(string(doc), "`"+name+"`") {
			t.Errorf("docs/devnet-file.md says nothing of the function %q", name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(least))
	f.Add([]byte(least + "nodes:\n  - {role: a}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := parse("f.yaml", b)
		if err == nil {
			for i := range file.Count() {
				file.node(i)
			}
		}
	})
}
