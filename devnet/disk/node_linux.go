package disk

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// node is a file or directory. What it does not override is done to the backing
// directory at once.
type node struct {
	fs.LoopbackNode
	session *session
}

var _ interface {
	fs.NodeLookuper
	fs.NodeGetattrer
	fs.NodeSetattrer
	fs.NodeOpener
	fs.NodeCreater
	fs.NodeUnlinker
	fs.NodeRenamer
	fs.NodeFsyncer
	fs.NodeStatfser
	fs.NodeStatxer
	fs.NodeTmpfiler
	fs.NodeCopyFileRanger
} = (*node)(nil)

func (n *node) rel() string     { return n.Path(n.Root()) }
func (n *node) backing() string { return filepath.Join(n.RootData.Path, n.rel()) }
func (n *node) ino() uint64     { return n.StableAttr().Ino }

// errno makes an error of the os package one for the kernel.
func errno(err error) syscall.Errno { return fs.ToErrno(err) }

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if n.session.isDead() {
		return nil, syscall.EIO
	}
	child, e := n.LoopbackNode.Lookup(ctx, name, out)
	if e == fs.OK {
		n.session.overlay(child.StableAttr().Ino, &out.Attr)
	}
	return child, e
}

func (n *node) Getattr(ctx context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if n.session.isDead() {
		return syscall.EIO
	}
	if h, ok := f.(*handle); ok {
		return h.Getattr(ctx, out)
	}
	e := n.LoopbackNode.Getattr(ctx, nil, out)
	if e == fs.OK {
		n.session.overlay(n.ino(), &out.Attr)
	}
	return e
}

// Statx would bypass the overlay; the kernel asks Getattr instead.
func (n *node) Statx(context.Context, fs.FileHandle, uint32, uint32, *fuse.StatxOut) syscall.Errno {
	return syscall.ENOSYS
}

func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if e := n.session.alive(); e != fs.OK {
		return e
	}
	h, _ := f.(*handle)
	if size, ok := in.GetSize(); ok {
		if e := n.truncate(h, int64(size)); e != fs.OK {
			return e
		}
		in.Valid &^= fuse.FATTR_SIZE
	}
	if h != nil {
		return h.setattr(ctx, in, out)
	}
	e := n.LoopbackNode.Setattr(ctx, nil, in, out)
	if e == fs.OK {
		n.session.overlay(n.ino(), &out.Attr)
	}
	return e
}

func (n *node) truncate(h *handle, size int64) syscall.Errno {
	if h != nil {
		return h.truncate(size)
	}
	c, err := n.session.acquire(n.ino(), n.backing(), true)
	if err != nil {
		return errno(err)
	}
	defer n.session.release(c)
	return (&handle{node: n, content: c}).truncate(size)
}

func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	writes := flags&syscall.O_ACCMODE != syscall.O_RDONLY
	if writes || flags&syscall.O_TRUNC != 0 {
		if e := n.session.alive(); e != fs.OK {
			return nil, 0, e
		}
	}
	c, err := n.session.acquire(n.ino(), n.backing(), writes || flags&syscall.O_TRUNC != 0)
	if err != nil {
		return nil, 0, errno(err)
	}
	h := &handle{node: n, content: c}
	if flags&syscall.O_TRUNC != 0 {
		if e := h.truncate(0); e != fs.OK {
			n.session.release(c)
			return nil, 0, e
		}
	}
	return h, 0, fs.OK
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if e := n.session.alive(); e != fs.OK {
		return nil, nil, 0, e
	}
	// O_APPEND would move our writes, O_DIRECT would ask for alignment, and a page
	// that is written in part is read first.
	flags = flags&^(syscall.O_APPEND|syscall.O_DIRECT|syscall.O_ACCMODE) | syscall.O_RDWR
	child, lf, fuseFlags, e := n.LoopbackNode.Create(ctx, name, flags, mode, out)
	if e != fs.OK {
		return nil, nil, 0, e
	}
	file := lf.(*fs.LoopbackFile)
	defer file.Release(ctx)
	c, err := n.session.adopt(child.StableAttr().Ino, file, strings.HasPrefix(name, canaryPrefix))
	if err != nil {
		return nil, nil, 0, errno(err)
	}
	made, ok := child.Operations().(*node)
	if !ok {
		n.session.release(c)
		return nil, nil, 0, syscall.EIO
	}
	return child, &handle{node: made, content: c}, fuseFlags, fs.OK
}

// adopt makes a file that was just created a content. Its inode number cannot be
// that of another content, whose descriptor would keep it taken; a second
// Create of a file that is there already is an open.
func (s *session) adopt(ino uint64, file *fs.LoopbackFile, canary bool) (*content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.contents[ino]
	if c == nil {
		fd, ok := file.PassthroughFd()
		if !ok {
			return nil, syscall.EBADF
		}
		own, err := fcntlDup(fd)
		if err != nil {
			return nil, err
		}
		c = &content{ino: ino, canary: canary, write: true, pages: map[int64]*page{}}
		if err := c.attach(os.NewFile(uintptr(own), "backing")); err != nil {
			return nil, err
		}
		s.contents[ino] = c
	}
	c.refs++
	return c, nil
}

func (n *node) Tmpfile(context.Context, uint32, uint32, *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	return nil, nil, 0, syscall.EOPNOTSUPP
}

// CopyFileRange is left to the kernel, which reads and writes.
func (n *node) CopyFileRange(context.Context, fs.FileHandle, uint64, *fs.Inode, fs.FileHandle, uint64, uint64, uint64) (uint32, syscall.Errno) {
	return 0, syscall.EOPNOTSUPP
}

func (n *node) Unlink(ctx context.Context, name string) syscall.Errno {
	if e := n.session.alive(); e != fs.OK {
		return e
	}
	child := n.GetChild(name)
	freed := n.sizeOf(child, name)
	e := n.LoopbackNode.Unlink(ctx, name)
	if e == fs.OK {
		n.removed(child, freed)
	}
	return e
}

// sizeOf is the size of a file that nobody has open: what its removal frees.
func (n *node) sizeOf(child *fs.Inode, name string) int64 {
	a := n.session.disk.fault.Load()
	if a == nil || !a.Full {
		return 0
	}
	var st syscall.Stat_t
	if err := syscall.Lstat(filepath.Join(n.backing(), name), &st); err != nil || st.Nlink > 1 || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return 0
	}
	return st.Size
}

// removed does what is left to do when a name is gone. freed is the size of the
// file if it was its last name and nobody has it open.
func (n *node) removed(child *fs.Inode, freed int64) {
	if child != nil {
		n.session.mu.Lock()
		open := n.session.contents[child.StableAttr().Ino] != nil
		n.session.mu.Unlock()
		if open {
			n.session.unlinked(child.StableAttr().Ino)
			return
		}
	}
	n.session.disk.fault.Load().give(freed)
}

func (n *node) Rename(ctx context.Context, name string, newParent fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	if e := n.session.alive(); e != fs.OK {
		return e
	}
	to, ok := newParent.(*node)
	if !ok {
		return syscall.EXDEV
	}
	over := to.GetChild(newName)
	freed := to.sizeOf(over, newName)
	e := n.LoopbackNode.Rename(ctx, name, &to.LoopbackNode, newName, flags)
	if e == fs.OK && flags == 0 {
		to.removed(over, freed)
	}
	return e
}

// Fsync of a directory has nothing to do, because names are durable at once; but
// it can fail.
func (n *node) Fsync(ctx context.Context, f fs.FileHandle, flags uint32) syscall.Errno {
	if h, ok := f.(*handle); ok {
		return h.fsync()
	}
	_, e := n.session.enter(opFsync, false, n.rel)
	return e
}

func (n *node) Statfs(ctx context.Context, out *fuse.StatfsOut) syscall.Errno {
	e := n.LoopbackNode.Statfs(ctx, out)
	if a := n.session.disk.fault.Load(); e == fs.OK && a != nil && a.Full && out.Bsize > 0 {
		left := uint64(max(0, a.left.Load())) / uint64(out.Bsize)
		out.Bfree, out.Bavail = min(out.Bfree, left), min(out.Bavail, left)
	}
	return e
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if e := n.session.alive(); e != fs.OK {
		return nil, e
	}
	return n.LoopbackNode.Mkdir(ctx, name, mode, out)
}

func (n *node) Mknod(ctx context.Context, name string, mode, rdev uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if e := n.session.alive(); e != fs.OK {
		return nil, e
	}
	return n.LoopbackNode.Mknod(ctx, name, mode, rdev, out)
}

func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if e := n.session.alive(); e != fs.OK {
		return nil, e
	}
	return n.LoopbackNode.Symlink(ctx, target, name, out)
}

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if e := n.session.alive(); e != fs.OK {
		return nil, e
	}
	child, e := n.LoopbackNode.Link(ctx, target, name, out)
	if e == fs.OK {
		n.session.overlay(child.StableAttr().Ino, &out.Attr)
	}
	return child, e
}

func (n *node) Rmdir(ctx context.Context, name string) syscall.Errno {
	if e := n.session.alive(); e != fs.OK {
		return e
	}
	return n.LoopbackNode.Rmdir(ctx, name)
}
