package embedded

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be the program that package embedded executes
// again: a validator, a supervisor, or the owner of a network that tests kill.
func TestMain(m *testing.M) {
	if len(os.Args) < 4 {
		os.Exit(m.Run())
	}
	if os.Getenv(idleEnv) != "" {
		os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var err error
	switch arg := os.Args[3]; os.Args[1] {
	case validatorCommand:
		err = RunValidator(ctx, arg)
	case supervisorCommand:
		err = Supervise(ctx, arg)
	case ownerCommand:
		err = own(ctx, arg)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// idleEnv makes the test binary do nothing until its standard input ends, under
// whatever arguments.
const idleEnv = "JEPGO_TEST_IDLE"

// ownerCommand runs a network as jepgo test does, until SIGTERM.
const ownerCommand = "test-owner"

func own(ctx context.Context, dir string) error {
	start, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	n, err := Start(start, Options{Dir: dir})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return n.Close(context.Background())
}

// bound turns a hang into a failure; nothing is judged by how long it takes.
const bound = 2 * time.Minute

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// tempDir is t.TempDir without symbolic links in it.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
