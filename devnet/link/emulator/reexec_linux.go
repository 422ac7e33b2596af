package emulator

import (
	"os"
	"os/exec"
	"syscall"
)

// InUserNamespace has cmd, which is this program again, start as the root of a user
// namespace of its own. There New works without privileges, if this user may open
// /dev/net/tun and the kernel lets users make namespaces: Probe, called in cmd,
// tells. What cmd makes belongs to the user who started it; the host's network and
// processes are as they are to that user. It gets no signals that cmd's owner does
// not pass on, and replaces an earlier Cloneflags and mapping.
func InUserNamespace(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	a := cmd.SysProcAttr
	a.Cloneflags = syscall.CLONE_NEWUSER
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	a.GidMappingsEnableSetgroups = false
}
