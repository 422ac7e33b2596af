package workloads

import (
	"bytes"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/jepgo/jepgo/client"
)

// The committed bytecode is what the sources compile to.
func TestContractsAreWhatTheirSourcesCompileTo(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: node is not in PATH, so the contracts were not compiled again")
	}
	env := os.Environ()
	if dir := os.Getenv("JEPGO_SOLC"); dir != "" {
		env = append(env, "NODE_PATH="+filepath.Join(dir, "node_modules"))
	}
	look := exec.Command(node, "-e", `process.stdout.write(require("solc").version())`)
	look.Env, look.Dir = env, t.TempDir()
	version, err := look.Output()
	if err != nil || !strings.HasPrefix(string(version), "0.8.30+") {
		t.Skipf("SKIPPED: npm package solc 0.8.30 found neither by JEPGO_SOLC (a folder with node_modules) nor by NODE_PATH (got version %q), so the contracts were not compiled again", version)
	}
	dir := t.TempDir()
	compile := exec.Command(node, "contracts/compile.mjs", dir)
	compile.Env = env
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("compile.mjs: %v\n%s", err, out)
	}
	made, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	committed, err := artifacts.ReadDir("contracts")
	if err != nil {
		t.Fatal(err)
	}
	if len(made) == 0 || len(made) != len(committed) {
		t.Errorf("%d contracts come out of the compiler, %d are committed", len(made), len(committed))
	}
	for _, file := range made {
		want, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := artifacts.ReadFile("contracts/" + file.Name())
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what its source compiles to; make it anew as compile.mjs says", file.Name())
		}
	}
}

// Others rely on these exact signatures.
func TestContractInterface(t *testing.T) {
	c, err := loadContract("Register")
	if err != nil {
		t.Fatal(err)
	}
	for name, signature := range map[string]string{"Read": "Read(uint256,uint256)", "Wrote": "Wrote(uint256,uint256)"} {
		if c.abi.Events[name].ID != crypto.Keccak256Hash([]byte(signature)) {
			t.Errorf("event %s is not %s", name, signature)
		}
	}
	for name, signature := range map[string]string{
		"write": "write(uint256,uint256)", "cas": "cas(uint256,uint256,uint256)", "read": "read(uint256)", "peek": "peek(uint256)",
	} {
		if !bytes.Equal(c.abi.Methods[name].ID, crypto.Keccak256([]byte(signature))[:4]) {
			t.Errorf("method %s is not %s", name, signature)
		}
	}
}

func TestDecodeCalldata(t *testing.T) {
	c, err := loadContract("Register")
	if err != nil {
		t.Fatal(err)
	}
	c.address = common.Address{1}
	r := &registers{contract: c}
	pack := func(method string, args ...any) []byte {
		data, err := c.abi.Pack(method, args...)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	huge := new(big.Int).Lsh(big.NewInt(1), 200)
	other := common.Address{2}
	for _, test := range []struct {
		name  string
		to    *common.Address
		input []byte
		want  string // f, key and value; "" for not ours
	}{
		{"write", &c.address, pack("write", big.NewInt(3), big.NewInt(4)), "write 3 4"},
		{"cas", &c.address, pack("cas", big.NewInt(3), big.NewInt(0), big.NewInt(5)), "cas 3 [0 5]"},
		{"read", &c.address, pack("read", big.NewInt(3)), "read 3 nil"},
		{"more than 64 bits", &c.address, pack("write", big.NewInt(1), huge), "write 1 " + huge.String() + "N"},
		{"peek as a transaction", &c.address, pack("peek", big.NewInt(3)), ""},
		{"another contract", &other, pack("read", big.NewInt(3)), ""},
		{"creation", nil, pack("read", big.NewInt(3)), ""},
		{"no method", &c.address, []byte{1, 2, 3, 4, 5}, ""},
		{"no input", &c.address, nil, ""},
		{"cut off", &c.address, pack("write", big.NewInt(3), big.NewInt(4))[:40], ""},
	} {
		got := ""
		if m, ok := r.decode(client.BlockTx{To: test.to, Input: test.input}); ok {
			parts, err := m(&client.Receipt{}) // reverted
			if err != nil || len(parts) != 3 {
				t.Fatalf("%s: %v, %v", test.name, parts, err)
			}
			got = strings.Join([]string{parts[0].Text(), parts[1].String(), parts[2].String()}, " ")
		}
		if got != test.want {
			t.Errorf("%s: decoded %q, want %q", test.name, got, test.want)
		}
	}
}
