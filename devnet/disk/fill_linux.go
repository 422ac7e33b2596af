package disk

import (
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Fill makes a file at the top of the disk, of that size or as large as there is
// room under a quota, see Fault.Full; it takes no other space. The file must not
// exist. The inode number is for Unfill.
func (d *Disk) Fill(name string, size int64) (filled int64, inode uint64, err error) {
	err = d.apart(name, func(path string) error {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		inode = st.Ino
		for {
			var on unix.Statfs_t
			if err := unix.Fstatfs(fd, &on); err != nil {
				return errors.Join(err, unix.Close(fd))
			}
			filled = min(size, int64(on.Bavail)*on.Bsize)
			err := unix.Ftruncate(fd, filled)
			if errors.Is(err, unix.ENOSPC) && filled > 0 {
				continue // others took some of it
			}
			return errors.Join(err, unix.Close(fd))
		}
	})
	return filled, inode, err
}

// Unfill removes a file made by Fill, if it is that one. It is idempotent.
func (d *Disk) Unfill(name string, inode uint64) error {
	return d.apart(name, func(path string) error {
		var st unix.Stat_t
		err := unix.Lstat(path, &st)
		switch {
		case errors.Is(err, unix.ENOENT):
			return nil
		case err != nil:
			return err
		case st.Ino != inode:
			return fmt.Errorf("inode %d, expected %d: not the one that was made", st.Ino, inode)
		}
		return unix.Unlink(path)
	})
}

// Free returns how many bytes the disk has free, as a process on it sees.
func (d *Disk) Free() (int64, error) {
	var st unix.Statfs_t
	err := d.apart("", func(path string) error { return unix.Statfs(path, &st) })
	return int64(st.Bavail) * st.Bsize, err
}

func (d *Disk) apart(name string, f func(path string) error) error {
	if !d.Mounted() {
		return ErrDead
	}
	a, err := newApart()
	if err != nil {
		return err
	}
	defer a.close()
	path := filepath.Join(d.opts.Mount, name)
	a.do(func() { err = f(path) })
	if err != nil {
		return fmt.Errorf("disk %q: %q: %w", d.opts.Name, name, err)
	}
	return nil
}
