package disk

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

// unmount removes the session's mount and waits until the server has ended.
// Whoever still uses it after a moment is cut off.
func (s *session) unmount() error {
	point := s.disk.opts.Mount
	limit := time.Now().Add(politeWait)
	for {
		err := unix.Unmount(point, 0)
		if err == nil || errors.Is(err, unix.EINVAL) { // EINVAL: not a mount point
			break
		}
		if !s.isDead() && errors.Is(err, unix.EBUSY) && time.Now().Before(limit) {
			time.Sleep(look)
			continue
		}
		// Force ends the connection, so that nobody waits for an answer; without
		// the right to do so it lasts until the last file is closed.
		if err := unix.Unmount(point, unix.MNT_FORCE|unix.MNT_DETACH); errors.Is(err, unix.EPERM) {
			err = unix.Unmount(point, unix.MNT_DETACH)
			if err != nil {
				return fmt.Errorf("disk: unmount %q: %w", point, err)
			}
		} else if err != nil {
			return fmt.Errorf("disk: unmount %q: %w", point, err)
		}
		break
	}
	if err := absent(point, s.disk.source); err != nil {
		return err
	}
	if !s.isDead() {
		// What the server still answers is of no use to anybody, but the flush that
		// follows must be the last.
		select {
		case <-s.ended:
		case <-time.After(politeWait):
		}
		return nil
	}
	select {
	case <-s.ended:
		return nil
	case <-time.After(unmountWait):
		return fmt.Errorf("disk: unmount %q: its server has not ended after %v", point, unmountWait)
	}
}

// absent checks that our mount is gone.
func absent(point, source string) error {
	ms, err := mounts()
	if err != nil {
		return err
	}
	for _, m := range ms {
		if m.point == point && m.source == source {
			return fmt.Errorf("disk: unmount %q: it is there still", point)
		}
	}
	return nil
}

// mount is a line of mountinfo.
type mount struct{ point, kind, source string }

// mounts lists the mounts that this process sees, oldest first.
func mounts() ([]mount, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("disk: %w", err)
	}
	var ms []mount
	for line := range strings.Lines(string(text)) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if ok && len(l) >= 5 && len(r) >= 2 {
			ms = append(ms, mount{point: unescape(l[4]), kind: r[0], source: unescape(r[1])})
		}
	}
	return ms, nil
}

// unescape undoes the octal escapes of mountinfo: blanks are \040.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// sourceOf names a disk and its owner, as jepgo:PID@START:NAME.
func sourceOf(owner devnet.Identity, name string) string {
	return fmt.Sprintf("%s:%s:%s", fuseName, owner, name)
}

// Leftover is a mount whose owner is gone: it answers ENOTCONN to everybody.
type Leftover struct {
	Mount  string          // mount point
	Source string          // as Disk.Source
	Name   string          // of the disk
	Owner  devnet.Identity // that made it
}

// Leftovers lists the mounts of package disk that this process sees and whose
// owner has ended. It touches nothing.
func Leftovers() ([]Leftover, error) {
	ms, err := mounts()
	if err != nil {
		return nil, err
	}
	var ls []Leftover
	for _, m := range ms {
		if l, ok := leftover(m); ok {
			ls = append(ls, l)
		}
	}
	return ls, nil
}

func leftover(m mount) (Leftover, bool) {
	if m.kind != "fuse."+fuseName {
		return Leftover{}, false
	}
	l := Leftover{Mount: m.point, Source: m.source}
	f := strings.SplitN(m.source, ":", 3)
	if len(f) != 3 || f[0] != fuseName {
		return Leftover{}, false
	}
	pid, start, ok := strings.Cut(f[1], "@")
	var err1, err2 error
	l.Owner.PID, err1 = strconv.Atoi(pid)
	l.Owner.Start, err2 = strconv.ParseUint(start, 10, 64)
	l.Name = f[2]
	if !ok || err1 != nil || err2 != nil || devnet.Alive(l.Owner) {
		return Leftover{}, false
	}
	return l, true
}

// Detach removes a leftover, if it is still there and its owner still gone, and
// looks that it went. It is idempotent.
func Detach(l Leftover) error {
	for range 10 { // more than one may be mounted on the same directory
		there := false
		ms, err := mounts()
		if err != nil {
			return err
		}
		for _, m := range ms {
			if m.point == l.Mount && m.source == l.Source {
				if _, ok := leftover(m); !ok {
					return fmt.Errorf("disk: mount %q: its owner, process %s, still runs", l.Mount, l.Owner)
				}
				there = true
			}
		}
		if !there {
			return nil
		}
		if top := ms[last(ms, l.Mount)]; top.source != l.Source {
			return fmt.Errorf("disk: mount %q: %q is mounted over it", l.Mount, top.source)
		}
		err = unix.Unmount(l.Mount, unix.MNT_FORCE|unix.MNT_DETACH)
		if errors.Is(err, unix.EPERM) { // only root may force
			err = unix.Unmount(l.Mount, unix.MNT_DETACH)
		}
		if err != nil {
			return fmt.Errorf("disk: detach %q: %w", l.Mount, err)
		}
	}
	return absent(l.Mount, l.Source)
}

// last is the index of the newest mount on a directory that has one.
func last(ms []mount, point string) int {
	at := 0
	for i, m := range ms {
		if m.point == point {
			at = i
		}
	}
	return at
}
