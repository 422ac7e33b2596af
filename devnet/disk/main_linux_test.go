package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is also the processes that use the disks, and the owner of a
// disk that is killed: the role is in its environment.
const roleEnv = "DISK_TEST_ROLE"

func TestMain(m *testing.M) {
	role, arg, _ := strings.Cut(os.Getenv(roleEnv), " ")
	switch role {
	case "":
		os.Exit(m.Run())
	case "owner":
		ownerMain(arg)
	case "holder":
		holderMain(arg)
	case "writer":
		writerMain(arg)
	case "pebble":
		pebbleMain(arg)
	case "try":
		tryMain(arg)
	}
}

// process starts this binary in a role and returns its output.
func process(t *testing.T, role string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd, out, _ := processIn(t, role)
	return cmd, out
}

// processIn is process; the process may read its input, which ends with the
// returned writer.
func processIn(t *testing.T, role string) (*exec.Cmd, io.Reader, io.Closer) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe() // held open while the test runs
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, out, in
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
}

// ownerMain mounts a disk, puts a dirty and a durable file on it, and waits to be
// killed.
func ownerMain(dir string) {
	d, err := Mount(Options{Dir: filepath.Join(dir, "dir"), Mount: filepath.Join(dir, "mount"), Name: "owned"})
	if err != nil {
		fmt.Println(err)
		return
	}
	must(os.WriteFile(filepath.Join(d.Dir(), "dirty"), []byte("dirty"), 0o644))
	f, err := os.Create(filepath.Join(d.Dir(), "durable"))
	must(err)
	_, err = f.WriteString("durable")
	must(err)
	must(f.Sync())
	must(f.Close())
	if _, err := d.NewCanary(); err != nil { // open when we die
		must(err)
	}
	// A child that outlives us must not keep the mount half alive.
	child := exec.Command("sleep", "60")
	must(child.Start())
	fmt.Println("mounted", child.Process.Pid)
	select {}
}

// holderMain keeps a file open and mapped until its input ends, and then says
// what it can still do with it.
func holderMain(path string) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	must(err)
	_, err = f.WriteString("held")
	must(err)
	fmt.Println("holds")
	io.Copy(io.Discard, os.Stdin)
	_, err = f.WriteAt([]byte("more"), 0)
	fmt.Println(err != nil)
}

// writerMain appends numbered records of 1000 bytes for ever, and fsyncs and
// tells every tenth.
func writerMain(path string) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	must(err)
	info, err := f.Stat()
	must(err)
	record := make([]byte, recordSize)
	for n := uint64(info.Size() / recordSize); ; n++ {
		binary.LittleEndian.PutUint64(record, n)
		_, err := f.Write(record)
		must(err)
		if n%10 == 9 {
			must(f.Sync())
			fmt.Println(n)
		}
	}
}

const recordSize = 1000

func must(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// tryMain does each thing that can go wrong on a disk once, as a process of its
// own, and tells the errors.
func tryMain(arg string) {
	old := filepath.Join(arg, "old")
	say := func(what string, err error) {
		var no syscall.Errno
		if errors.As(err, &no) {
			fmt.Println(what, unix.ErrnoName(no))
			return
		}
		fmt.Println(what, err)
	}
	f, err := os.OpenFile(old, os.O_RDWR, 0)
	say("open", err)
	if err == nil {
		buf := make([]byte, 16<<10)
		n, err := f.ReadAt(buf, 0)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		say("read", err)
		wrong := 0
		for _, b := range buf[:n] {
			for x := b ^ 0x77; x != 0; x &= x - 1 {
				wrong++
			}
		}
		fmt.Println("flipped", wrong)
		_, err = f.WriteAt(buf[:4096], 0)
		say("write", err)
		_, err = f.WriteAt(make([]byte, 8192), 1<<20)
		say("grow", err)
		say("fsync", f.Sync())
	}
	_, err = os.Create(filepath.Join(arg, "new"))
	say("create", err)
	say("rename", os.Rename(old, old+"2"))
	_ = os.Rename(old+"2", old) // may be refused as well
}

// newDisk mounts a disk for a test, or skips the test where there can be none.
func newDisk(t testing.TB, o Options) *Disk {
	t.Helper()
	if err := Probe(); err != nil {
		t.Skipf("SKIPPED, NOTHING WAS TESTED: %v", err)
	}
	dir := t.TempDir()
	o.Dir, o.Mount = filepath.Join(dir, "dir"), filepath.Join(dir, "mount")
	if o.Name == "" {
		o.Name = "test"
	}
	d, err := Mount(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if err := absent(d.Dir(), d.Source()); err != nil {
			t.Error(err)
		}
	})
	return d
}

// wait waits for a condition; only the limit of the whole test ends it.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for !ok() {
		select {
		case <-t.Context().Done():
			t.Fatal(what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
