package nemesis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jepgo/jepgo/devnet/disk"
	"github.com/jepgo/jepgo/history"
)

// stepFiller is a file that fills a disk, at Path. On a disk of ours it is in the
// backing directory, and takes no space of the machine's.
const stepFiller = "filler"

// fillerPrefix begins the names of fillers; see copyPrefix.
const fillerPrefix = ".jepgo-filler-"

// fillFault fills the disks of nodes with a file.
type fillFault struct {
	targets targets
	room    int64
	share   float64
}

func diskFillEntry() Entry {
	var f fillFault
	return Entry{
		Name: "disk-fill", Doc: "fill the disks of nodes with a file", Specs: specs(f.params()...),
		Start: "start-disk-fill", Stop: "stop-disk-fill", Color: "#D4AC0D",
		New: func(spec string) (Fault, error) {
			f := &fillFault{}
			err := parseSpec(spec, f.params()...)
			return f, err
		},
	}
}

func (f *fillFault) params() []param {
	return []param{size(&f.room, "the size that is free before such as 64MiB", 4096), percent(&f.share, "a share of that to fill such as 95%"), f.targets.param()}
}

func (f *fillFault) Name() string {
	name := "disk-fill"
	if f.room > 0 {
		name += fmt.Sprintf(":%dB", f.room)
	}
	if f.share > 0 {
		name += ":" + shareText(f.share)
	}
	return name + f.targets.suffix()
}

func (*fillFault) Start() string { return "start-disk-fill" }
func (*fillFault) Stop() string  { return "stop-disk-fill" }
func (*fillFault) Needs() Needs  { return Needs{Disks: true} }

func (f *fillFault) Explain() string {
	return "Gives the disk of a node's data directory a size, 64 MiB more than is used when nothing else is asked for, and fills a share of what is free with a file, all of it by default, " +
		"as a log that nobody rotates does. No byte of the machine's own disk is taken. " +
		"It bites when the file is there and the space that is free on the same disk is seen to be that much less. " +
		"It is undone when that very file (device and inode) is gone, a file on the same disk can be written, made durable and read back, and the node is ready by RPC: " +
		"one that ended is started again, and one that is not ready is restarted; one that does not come back even so is a finding about the node. " + f.targets.explain()
}

func (f *fillFault) Possible(r Reach) error { return possibleOnDisks(f.Name(), f.targets, r) }

func (f *fillFault) Plan(ctx context.Context, net Net, rng *rand.Rand) (Application, error) {
	vs, disks, err := planOnDisks(ctx, f.Name(), f.targets, net, rng)
	if err != nil {
		return nil, err
	}
	room, share := f.room, f.share
	if room == 0 {
		room = 64 << 20
	}
	if share == 0 {
		share = 1
	}
	a := &filling{net: net, victims: vs, disks: disks, room: room, bytes: int64(float64(room) * share),
		names: make([]string, len(vs)), inodes: make([]uint64, len(vs)), filled: make([]int64, len(vs)), was: make([]disk.Counters, len(vs))}
	for i := range vs {
		a.names[i] = fmt.Sprintf("%s%016x", fillerPrefix, rng.Uint64())
	}
	return a, nil
}

// filling is one application of disk-fill.
type filling struct {
	net     Net
	victims []victim
	disks   []*disk.Disk
	room    int64 // free before
	bytes   int64 // that are filled
	names   []string
	inodes  []uint64 // 0: not made
	filled  []int64  // less than bytes where the node took some of the room
	was     []disk.Counters
}

func (f *filling) Value() history.Value {
	return restartingValue(f.victims, history.Keyword("free-bytes"), history.Int(f.room), history.Keyword("filled-bytes"), history.Int(f.bytes))
}

func (f *filling) UndoSteps() []Step {
	var ss []Step
	for i, v := range f.victims {
		dir := f.disks[i].Backing()
		ss = append(ss, Step{Kind: stepFiller, Node: v.node, Target: v.id, Path: filepath.Join(dir, f.names[i]), Was: inodeOf(dir)})
	}
	return append(ss, diskSteps(f.victims, f.disks)...)
}

// inodeOf names a directory by device and inode, "" when it is not there.
func inodeOf(dir string) string {
	info, err := os.Lstat(dir)
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("device %d inode %d", st.Dev, st.Ino)
}

func (f *filling) Apply(context.Context) error {
	return each(len(f.victims), func(i int) (err error) {
		f.was[i] = f.disks[i].Counters()
		if err := f.disks[i].Set(disk.Fault{Full: true, Quota: f.room}); err != nil {
			return err
		}
		f.filled[i], f.inodes[i], err = f.disks[i].Fill(f.names[i], f.bytes)
		return err
	})
}

func (f *filling) Probe(context.Context) (history.Value, error) {
	seen := make([]history.Value, len(f.victims))
	for i, v := range f.victims {
		free, err := f.disks[i].Free()
		if err != nil {
			return history.Value{}, err
		}
		if free > f.room-f.bytes {
			return history.Value{}, fmt.Errorf("node %q: %d bytes are free, expected at most %d", v.node, free, f.room-f.bytes)
		}
		seen[i] = history.MapOf(
			history.Keyword("free-bytes"), history.Int(free),
			history.Keyword("filler-bytes"), history.Int(f.filled[i]),
			history.Keyword("inode"), history.Int(int64(f.inodes[i])),
			history.Keyword("refused"), history.Int(f.disks[i].Counters().Sub(f.was[i]).Full))
	}
	return perNode(f.victims, seen), nil
}

func (f *filling) Undo(ctx context.Context) error {
	err := each(len(f.victims), func(i int) error {
		if f.inodes[i] != 0 {
			if err := f.disks[i].Unfill(f.names[i], f.inodes[i]); err != nil {
				return err
			}
		}
		f.disks[i].Clear()
		return nil
	})
	return errors.Join(err, each(len(f.victims), func(i int) error { return startEnded(ctx, f.net, f.victims[i]) }))
}

func (f *filling) VerifyUndone(ctx context.Context) (history.Value, error) {
	seen := make([]history.Value, len(f.victims))
	err := each(len(f.victims), func(i int) error {
		refused := f.disks[i].Counters().Sub(f.was[i]).Full
		if _, err := os.Lstat(filepath.Join(f.disks[i].Backing(), f.names[i])); !errors.Is(err, os.ErrNotExist) {
			return errors.Join(fmt.Errorf("node %q: filler %q is still there", f.victims[i].node, f.names[i]), err)
		}
		if err := soundDisk(f.disks[i], 0); err != nil {
			return fmt.Errorf("node %q: %w", f.victims[i].node, err)
		}
		seen[i] = history.MapOf(append(comeback(ctx, f.net, f.victims[i], true), history.Keyword("refused"), history.Int(refused))...)
		return nil
	})
	return perNode(f.victims, seen), err
}

// takeBackFiller removes a filler that was left in the directory that it was
// made in.
func takeBackFiller(_ context.Context, s Step) (string, error) {
	if !strings.HasPrefix(filepath.Base(s.Path), fillerPrefix) {
		return "nothing", fmt.Errorf("filler %q: not one of ours", s.Path)
	}
	if inodeOf(filepath.Dir(s.Path)) != s.Was {
		return fmt.Sprintf("the directory that the filler of %s was in is gone", s.Node), nil
	}
	err := os.Remove(s.Path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Sprintf("no filler of %s is left", s.Node), nil
	}
	if err != nil {
		return "nothing", err
	}
	return fmt.Sprintf("the filler of %s was removed", s.Node), nil
}
