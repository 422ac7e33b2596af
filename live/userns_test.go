//go:build live

package live

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// nobody is an ordinary user.
const nobody = 65534

// TestWithoutRoot loses packets as a user without privileges, in the user namespace
// that jepgo makes for it; kill -9 of the process that the user has started leaves
// nothing.
func TestWithoutRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("NOT TESTED: it takes root to become another user, and to open devices to them")
	}
	dir := t.TempDir()
	openDevices(t, t.TempDir())
	for at := dir; at != os.TempDir(); at = filepath.Dir(at) {
		letIn(t, at)
	}
	letIn(t, filepath.Dir(binary))
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	doctor := asNobody(t, dir, "doctor", "--link", "emulator")
	if doctor.status != 0 && strings.Contains(doctor.stderr, "user namespace") {
		t.Skipf("NOT TESTED: THIS MACHINE MAKES NO USER NAMESPACES: %s", doctor)
	}
	for _, m := range []string{`mechanism +link emulator +works .*in a user namespace`, `mechanism +disks +works`, `fault +loss +works`} {
		if doctor.status != 0 || !regexp.MustCompile(m).MatchString(doctor.stdout) {
			t.Fatalf("want %q: %s", m, doctor)
		}
	}
	losing := []string{"test", "--seed", "7", "--link", "emulator", "--workload", "head", "--nemesis", "loss", "--nemesis-interval", "1s"}
	if !testing.Short() {
		if r := asNobody(t, dir, append(losing, "--time", length.String())...); r.status != 0 {
			t.Errorf("want a valid run: %s", r)
		}
	}

	cmd := nobodys(dir, append(losing, "--time", "5m")...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	started := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	lost := regexp.MustCompile(`:f :start-loss, .*:lost [1-9]`)
	eventually(t, 2*time.Minute, "packets are lost", func() bool {
		run, err := filepath.EvalSymlinks(filepath.Join(dir, "store", "latest"))
		if info, err := os.Stat(run); err != nil || info.ModTime().Before(started) {
			return false
		}
		history, _ := os.ReadFile(filepath.Join(run, "history.edn"))
		return err == nil && lost.Match(history)
	})
	spaces := userSpaces(t)
	if len(spaces) == 0 {
		t.Fatal("nobody is in a user namespace of this test's while it runs")
	}
	cmd.Process.Kill()
	cmd.Wait()
	dead := time.Now()
	// With the last of them go the namespaces, and all that was mounted in them.
	eventually(t, time.Minute, "all its processes end", func() bool { return len(validators(t, dir)) == 0 && len(userSpaces(t)) == 0 })
	t.Logf("nothing left after %v", time.Since(dead).Round(time.Millisecond))
	if r := asNobody(t, dir, "heal"); r.status != 0 {
		t.Errorf("jepgo heal: %s", r)
	}
	err := filepath.WalkDir(filepath.Join(dir, "store"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Sys().(*syscall.Stat_t).Uid != nobody {
			t.Errorf("%s does not belong to the user", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// openDevices gives this test's thread, and what it starts, a mount namespace in
// which the devices are as most distributions have them.
func openDevices(t *testing.T, dir string) {
	t.Helper()
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	err := unix.Unshare(unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err == nil {
		err = unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755")
		t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	}
	for minor, path := range map[uint32]string{200: "/dev/net/tun", 229: "/dev/fuse"} {
		node := filepath.Join(dir, filepath.Base(path))
		if err == nil {
			err = unix.Mknod(node, unix.S_IFCHR|0o666, int(unix.Mkdev(10, minor)))
		}
		if err == nil {
			err = errors.Join(os.Chmod(node, 0o666), unix.Mount(node, path, "", unix.MS_BIND, ""))
		}
	}
	if err != nil {
		t.Skipf("NOT TESTED: devices cannot be opened to another user: %v", err)
	}
}

func letIn(t *testing.T, dir string) {
	t.Helper()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

// nobodys is a jepgo command of that user's, on the calling thread's mounts.
func nobodys(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd
}

func asNobody(t *testing.T, dir string, args ...string) result {
	t.Helper()
	cmd := nobodys(dir, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// userSpaces lists the user namespaces, other than this process's, of processes
// of this test's binary.
func userSpaces(t *testing.T) []string {
	t.Helper()
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, dir := range dirs {
		exe, _ := os.Readlink(dir + "/exe")
		space, err := os.Readlink(dir + "/ns/user")
		if err == nil && exe == binary && space != own && !slices.Contains(found, space) {
			found = append(found, fmt.Sprint(dir, " in ", space))
		}
	}
	return found
}
