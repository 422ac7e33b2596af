package emulator_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet/link"
	"github.com/jepgo/jepgo/devnet/link/emulator"
	"github.com/jepgo/jepgo/devnet/link/linktest"
	"github.com/jepgo/jepgo/devnet/userns"
)

func TestMain(m *testing.M) {
	linktest.Main(m, begin, map[string]func() error{"unprivileged": beUnprivileged, "nobody": beNobody})
}

func begin(nodes ...string) (linktest.Spaces, error) {
	e, err := emulator.New(emulator.Options{Nodes: nodes})
	if err != nil {
		return nil, err
	}
	return e, errors.Join(e.Cut(edge("a", "b")), e.Shape(edge("b", "a"), link.Shape{Loss: 0.5, Delay: time.Second}))
}

// beUnprivileged is in a mount namespace of its own, where it opens the device to
// everybody before it becomes nobody.
func beUnprivileged() error {
	dir := os.Getenv("MOUNT")
	node := filepath.Join(dir, "tun")
	for _, do := range []func() error{
		func() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") },
		func() error { return unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755") },
		func() error { return unix.Mknod(node, unix.S_IFCHR|0o666, int(unix.Mkdev(10, 200))) },
		func() error { return os.Chmod(node, 0o666) },
		func() error { return unix.Mount(node, "/dev/net/tun", "", unix.MS_BIND, "") },
	} {
		if err := do(); err != nil {
			return fmt.Errorf("SKIP: %w", err)
		}
	}
	cmd := linktest.Again("nobody")
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	out, err := cmd.Output()
	os.Stdout.Write(out)
	return err
}

// beNobody looks at the host from a user namespace.
func beNobody() error {
	cmd := userns.Command()
	cmd.Env = append(cmd.Env, linktest.Role("host"))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	status, err := userns.Run(cmd)
	if err == nil && status != 0 {
		err = fmt.Errorf("exit status %d", status)
	}
	return err
}
