package validator

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	panicHeight = 10 // at which the log has a panic, or the node ends
	exitStatus  = 3
	leakEvery   = 100 * time.Millisecond // the node keeps, each time,
	leakBytes   = 1 << 20                // so much memory
	leakMost    = 1 << 10                // and a descriptor, so often at the most
)

// processBugs are about the process itself.
func processBugs() []Bug {
	return []Bug{
		{Name: "panic-line", Doc: fmt.Sprintf("at block %d the node logs a panic that it has recovered from", panicHeight), Targets: LastValidator,
			Workloads: []string{"head"}, Checker: "crash-log", act: logPanic},
		{Name: "halt-line", Doc: fmt.Sprintf("at block %d the node logs that its consensus has failed", panicHeight), Targets: LastValidator,
			Workloads: []string{"head"}, Checker: "crash-log", act: func(ctx context.Context, node honest, _ string) {
				if reached(ctx, node, panicHeight) {
					fmt.Fprintln(os.Stderr, "CONSENSUS FAILURE!!! planted by jepgo")
				}
			}},
		{Name: "exits", Doc: fmt.Sprintf("at block %d the node ends with status %d and not a word", panicHeight, exitStatus), Targets: LastValidator,
			Workloads: []string{"head"}, Checker: "crash-log", act: func(ctx context.Context, node honest, _ string) {
				if reached(ctx, node, panicHeight) {
					os.Exit(exitStatus)
				}
			}},
		{Name: "leak", Doc: fmt.Sprintf("each %v the node keeps a descriptor and a MiB of memory", leakEvery), Targets: LastValidator,
			Workloads: []string{"head"}, Checker: "resource-slope", Says: Warns, Time: 170 * time.Second, act: leak},
	}
}

// reached waits for a height; false when ctx ended first.
func reached(ctx context.Context, node honest, height uint64) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for node.head() < height {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// logPanic waits for a height and then panics where something recovers.
func logPanic(ctx context.Context, node honest, _ string) {
	if !reached(ctx, node, panicHeight) {
		return
	}
	defer func() {
		fmt.Fprintln(os.Stderr, "panic:", recover(), "[recovered]")
	}()
	var handlers map[string]func()
	handlers["jepgo"]() // there is none
}

// leak keeps memory that is in use, and descriptors of the directory, until the
// node ends.
func leak(ctx context.Context, _ honest, dir string) {
	var held [][]byte
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	tick := time.NewTicker(leakEvery)
	defer tick.Stop()
	for len(held) < leakMost {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		b := make([]byte, leakBytes)
		for i := range b {
			b[i] = byte(i) // else the kernel gives no memory for it
		}
		held = append(held, b)
		if f, err := os.Open(filepath.Clean(dir)); err == nil {
			files = append(files, f)
		}
	}
	<-ctx.Done()
}
