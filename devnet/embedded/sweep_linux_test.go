package embedded

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jepgo/jepgo/devnet"
)

// idle starts a process whose command line is that of a validator of a network.
func idle(t *testing.T, args ...string) devnet.Identity {
	t.Helper()
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), idleEnv+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	id, err := devnet.Lookup(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestSweep(t *testing.T) {
	root := tempDir(t)
	network := func(owner devnet.Identity, dir ...string) string {
		t.Helper()
		path, err := create(Options{Dir: filepath.Join(append([]string{root}, dir...)...)})
		if err != nil {
			t.Fatal(err)
		}
		s, err := readState(path)
		if err != nil {
			t.Fatal(err)
		}
		s.Owner = owner
		if err := s.write(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	me, err := devnet.Lookup(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	stranger := idle(t, "stranger", "--config", "x")
	past := devnet.Identity{PID: me.PID, Start: me.Start - 1}

	in := filepath.Join(root, "store")
	orphan := idle(t, validatorCommand, "--config", configPath(network(past, "store", "gone"), "n1"))
	adopted := idle(t, validatorCommand, "--config", configPath(network(stranger, "store", "adopted"), "n2"))
	stateless := idle(t, validatorCommand, "--config", configPath(filepath.Join(in, "no", "state"), "n3"))
	spared := []devnet.Identity{
		stranger,
		idle(t, validatorCommand, "--config", configPath(network(me, "store", "mine"), "n1")),
		idle(t, validatorCommand, "--config", configPath(network(past, "store2"), "n1")),
		idle(t, validatorCommand, "--config", filepath.Join(in, "other.json")),
		idle(t, "other", "--config", configPath(filepath.Join(in, "gone"), "n1")),
	}

	link := filepath.Join(root, "link")
	if err := os.Symlink(in, link); err != nil {
		t.Fatal(err)
	}
	swept, err := Sweep(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	var got []devnet.Identity
	for _, o := range swept {
		got = append(got, o.Process)
	}
	for _, id := range []devnet.Identity{orphan, adopted, stateless} {
		if !slices.Contains(got, id) || devnet.Alive(id) {
			t.Errorf("orphan %s was not swept", id)
		}
	}
	if len(got) != 3 {
		t.Errorf("swept %v, want 3 orphans", swept)
	}
	for _, id := range spared {
		if !devnet.Alive(id) {
			t.Errorf("%s was swept, but is no orphan of this place", id)
		}
	}
	if swept, err := Sweep(t.Context(), link); err != nil || len(swept) != 0 {
		t.Errorf("a second sweep found %v, %v", swept, err)
	}
}
