package clock

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/jepgo/jepgo/devnet"
)

// BenchmarkTarget measures a clock_gettime in a C program: what the hook costs the
// target.
func BenchmarkTarget(b *testing.B) {
	needPtrace(b)
	path, err := compiled()
	if err != nil {
		b.Skipf("SKIPPED: %v", err)
	}
	cmd := exec.Command(path)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer devnet.Wait(cmd)
	defer in.Close()
	lines := bufio.NewScanner(out)
	lines.Scan() // ready
	id, err := devnet.Lookup(cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	measure := func(name string, clock int) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				fmt.Fprintf(in, "%d", clock)
				lines.Scan()
				ns, err := strconv.ParseFloat(lines.Text(), 64)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(ns, "ns/call")
			}
		})
	}
	measure("unpatched", 0)
	measure("unpatched monotonic", 1)
	s, err := Install(id)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Remove()
	measure("nothing set", 0)
	s.Set(time.Hour, 0)
	measure("offset", 0)
	measure("monotonic", 1)
	s.Set(time.Hour, 100)
	measure("offset and rate", 0)
}

// BenchmarkUs measures what we do.
func BenchmarkUs(b *testing.B) {
	needPtrace(b)
	args, _ := json.Marshal(exactly(0))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=idle", argsEnv+"="+string(args))
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer devnet.Wait(cmd)
	defer in.Close()
	id, err := devnet.Lookup(cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("install and remove", func(b *testing.B) {
		for b.Loop() {
			s, err := Install(id)
			if err == nil {
				err = s.Remove()
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := Read(id); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("patched", func(b *testing.B) {
		for b.Loop() {
			if _, err := Patched(id); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sweep", func(b *testing.B) {
		for b.Loop() {
			if _, err := Sweep(); err != nil {
				b.Fatal(err)
			}
		}
	})
	s, err := Install(id)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Remove()
	b.Run("set", func(b *testing.B) {
		for b.Loop() {
			if err := s.Set(time.Hour, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
}
