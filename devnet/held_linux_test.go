package devnet

import (
	"errors"
	"os"
	"testing"
)

func TestHeld(t *testing.T) {
	me, err := Lookup(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	before, err := Held(me)
	if err != nil {
		t.Fatal(err)
	}
	if before.RSS < 1<<20 || before.Threads < 1 || before.FDs < 3 {
		t.Errorf("this process holds %+v", before)
	}
	const files = 20
	for range files {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	after, err := Held(me)
	if err != nil || after.FDs < before.FDs+files {
		t.Errorf("with %d more files: %+v, %v, before %+v", files, after, err, before)
	}
	me.Start++
	if _, err := Held(me); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("a stranger with this pid: %v, want one that says that the process is done", err)
	}
}
