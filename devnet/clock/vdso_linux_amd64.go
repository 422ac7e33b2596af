package clock

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// jumpSize is that of a jump with a 32-bit distance.
const jumpSize = 5

// image is the vDSO as it is before anybody changes it. Every 64-bit process of one
// kernel has the same bytes.
type image struct {
	bytes   []byte
	gettime window
	others  [2]window // gettimeofday, time
	gadget  int       // offset of a system call instruction
}

// window is the first whole instructions of a function that a jump takes the place
// of.
type window struct {
	at, size int // in the image
	hook     int // in the code page
}

func (w window) end() int { return w.at + w.size }

func (m *image) windows() []window { return []window{m.gettime, m.others[0], m.others[1]} }

// pristine reads the image from our own memory.
func pristine() (*image, error) {
	maps, err := readMaps("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	m := find(maps, "[vdso]")
	if m == nil {
		return nil, errors.New("vDSO: this process has none, so the kernel gives none (vdso=0?)")
	}
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil, fmt.Errorf("vDSO: %w", err)
	}
	defer mem.Close()
	b := make([]byte, m.hi-m.lo)
	if _, err := mem.ReadAt(b, int64(m.lo)); err != nil {
		return nil, fmt.Errorf("vDSO: %w", err)
	}
	if pages(maps) != nil && isHooked(b, m.lo, mem) {
		return nil, errors.New("vDSO: the clock of jepgo itself is skewed, so it cannot tell how a clean one looks")
	}
	return parse(b)
}

func parse(b []byte) (*image, error) {
	m := &image{bytes: b, gadget: bytes.Index(b, []byte{0x0f, 0x05})}
	if m.gadget < 0 {
		return nil, errors.New("vDSO: no system call instruction in it")
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("vDSO: %w", err)
	}
	if f.Class != elf.ELFCLASS64 || f.Machine != elf.EM_X86_64 {
		return nil, fmt.Errorf("vDSO: %v for %v, expected 64 bits for x86-64", f.Class, f.Machine)
	}
	syms, err := f.DynamicSymbols()
	if err != nil {
		return nil, fmt.Errorf("vDSO: %w", err)
	}
	for _, want := range []struct {
		name string
		hook int
		at   *window
	}{
		{"__vdso_clock_gettime", gettimeAt, &m.gettime},
		{"__vdso_gettimeofday", timeofdayAt, &m.others[0]},
		{"__vdso_time", timeAt, &m.others[1]},
	} {
		for _, s := range syms {
			if s.Name == want.name {
				if *want.at, err = windowOf(b, int(s.Value), int(s.Size)); err != nil {
					return nil, fmt.Errorf("vDSO: %s: %w", want.name, err)
				}
				want.at.hook = want.hook
			}
		}
		if want.at.size == 0 {
			return nil, fmt.Errorf("vDSO: no symbol %s", want.name)
		}
	}
	return m, nil
}

// windowOf is the room for a jump at the start of a function. It fails where some
// branch of the function leads into it.
func windowOf(b []byte, at, size int) (window, error) {
	if at < 0 || size < jumpSize || at+size > len(b) {
		return window{}, fmt.Errorf("%d bytes at %#x: no room for a jump", size, at)
	}
	w := window{at: at}
	for pc := at; pc < at+size; {
		in, err := decodeOne(b[pc : at+size])
		if err != nil {
			return window{}, fmt.Errorf("instruction at %#x: %w", pc, err)
		}
		if w.size < jumpSize {
			w.size += in.Len
		}
		pc += in.Len
		if to, ok := branch(in, pc); ok && at < to && to < w.end() {
			return window{}, fmt.Errorf("branch at %#x into the first instructions", pc-in.Len)
		}
	}
	// A write that spans pages may be cut in two by the writer's death.
	if w.at/pageSize != (w.end()-1)/pageSize {
		return window{}, fmt.Errorf("first instructions at %#x span two pages", at)
	}
	return w, nil
}

// decodeOne decodes an instruction, also the one that marks where an indirect branch
// may end, which x86asm does not know.
func decodeOne(b []byte) (x86asm.Inst, error) {
	if endbr64 := "\xf3\x0f\x1e\xfa"; bytes.HasPrefix(b, []byte(endbr64)) {
		return x86asm.Inst{Op: x86asm.NOP, Len: len(endbr64)}, nil
	}
	return x86asm.Decode(b, 64)
}

// branch is the target of a relative branch whose next instruction is at next.
func branch(in x86asm.Inst, next int) (to int, ok bool) {
	for _, a := range in.Args {
		if rel, isRel := a.(x86asm.Rel); isRel {
			return next + int(rel), true
		}
	}
	return 0, false
}

// displace copies whole instructions from the address from to the address to, and
// aims what they address relatively at the same places.
func displace(code []byte, from, to uint64) ([]byte, error) {
	out := bytes.Clone(code)
	for at := 0; at < len(code); {
		in, err := decodeOne(code[at:])
		if err != nil {
			return nil, fmt.Errorf("instruction %x: %w", code[at:], err)
		}
		switch in.PCRel {
		case 0:
		case 4:
			field := out[at+in.PCRelOff:]
			was := int32(binary.LittleEndian.Uint32(field))
			aim := int64(was) + int64(from) - int64(to)
			if aim != int64(int32(aim)) {
				return nil, fmt.Errorf("instruction %x: out of reach from %#x", code[at:at+in.Len], to)
			}
			binary.LittleEndian.PutUint32(field, uint32(aim))
		default:
			return nil, fmt.Errorf("instruction %x: a short branch cannot be moved", code[at:at+in.Len])
		}
		at += in.Len
	}
	return out, nil
}

// jump is a jump from one address to another.
func jump(from, to uint64) ([]byte, error) {
	rel := int64(to) - int64(from) - jumpSize
	if rel != int64(int32(rel)) {
		return nil, fmt.Errorf("jump from %#x to %#x: too far", from, to)
	}
	return binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(rel)), nil
}

// hookPage is the code page at the address page for a vDSO at base.
func (m *image) hookPage(base, page uint64) ([]byte, error) {
	b, err := assemble(hookCode(), 0)
	if err != nil {
		return nil, err
	}
	copy(b[markAt:], mark+"\x00")
	copy(b[memfdNameAt:], memfdName+"\x00")
	g := m.gettime
	moved, err := displace(m.bytes[g.at:g.end()], base+uint64(g.at), page+trampolineAt)
	if err != nil {
		return nil, fmt.Errorf("vDSO: %w", err)
	}
	back, err := jump(page+trampolineAt+uint64(len(moved)), base+uint64(g.end()))
	if err != nil {
		return nil, fmt.Errorf("vDSO: %w", err)
	}
	copy(b[trampolineAt:], append(moved, back...))
	return b, nil
}

// entry is what a window holds while it is hooked.
func (w window) entry(base, page uint64) ([]byte, error) {
	b, err := jump(base+uint64(w.at), page+uint64(w.hook))
	if err != nil {
		return nil, err
	}
	for len(b) < w.size {
		b = append(b, 0x90)
	}
	return b, nil
}

// isHooked reports whether some jump in a vDSO leads to a page with our mark.
func isHooked(b []byte, base uint64, mem io.ReaderAt) bool {
	for at := 0; at+jumpSize <= len(b); at++ {
		if b[at] == 0xe9 && hookOf(b[at:], base+uint64(at), mem) != 0 {
			return true
		}
	}
	return false
}

// hookOf is the page with our mark that the jump at an address leads to, or 0.
func hookOf(b []byte, at uint64, mem io.ReaderAt) uint64 {
	if len(b) < jumpSize || b[0] != 0xe9 {
		return 0
	}
	page := (at + jumpSize + uint64(int64(int32(binary.LittleEndian.Uint32(b[1:]))))) &^ (pageSize - 1)
	if !marked(page, mem) {
		return 0
	}
	return page
}

func marked(page uint64, mem io.ReaderAt) bool {
	var head [len(mark)]byte
	_, err := mem.ReadAt(head[:], int64(page))
	return err == nil && string(head[:]) == mark
}

// mapping is one line of /proc/PID/maps.
type mapping struct {
	lo, hi uint64
	perms  string
	name   string
}

func readMaps(path string) ([]mapping, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("memory map: %w", err)
	}
	var maps []mapping
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 5 {
			return nil, fmt.Errorf("memory map: line %q: expected at least 5 fields", line)
		}
		lo, hi, _ := strings.Cut(f[0], "-")
		m := mapping{perms: f[1]}
		var errLo, errHi error
		m.lo, errLo = strconv.ParseUint(lo, 16, 64)
		m.hi, errHi = strconv.ParseUint(hi, 16, 64)
		if err := errors.Join(errLo, errHi); err != nil {
			return nil, fmt.Errorf("memory map: line %q: %w", line, err)
		}
		if len(f) > 5 {
			m.name = f[5]
		}
		maps = append(maps, m)
	}
	return maps, nil
}

func find(maps []mapping, name string) *mapping {
	for i := range maps {
		if maps[i].name == name {
			return &maps[i]
		}
	}
	return nil
}

// pages lists the addresses of code pages that may be ours: those before a data
// page of our name.
func pages(maps []mapping) []uint64 {
	var at []uint64
	for _, m := range maps {
		if m.name == "/memfd:"+memfdName && m.hi-m.lo == pageSize {
			at = append(at, m.lo-pageSize)
		}
	}
	return at
}

const (
	// reach keeps the pages where a jump of 32 bits gets to them.
	reach = 1 << 30
	// apart is left free beside other mappings, for those that grow.
	apart = 16 * pageSize
	// stackRoom is left free below the stack.
	stackRoom = 1 << 28
	userEnd   = 1<<47 - pageSize
)

// room finds a free place for two pages near the vDSO.
func room(maps []mapping, base uint64) (uint64, error) {
	var best uint64
	try := func(at uint64) {
		if distance(at, base) < reach && (best == 0 || distance(at, base) < distance(best, base)) {
			best = at
		}
	}
	prev := mapping{hi: 1 << 20}
	for _, m := range append(maps, mapping{lo: userEnd, hi: userEnd}) {
		lo, hi := prev.hi+apart, m.lo
		if prev.name == "[heap]" {
			lo += stackRoom
		}
		if m.name == "[stack]" {
			hi -= min(hi, stackRoom)
		}
		if hi >= apart+2*pageSize && lo <= hi-apart-2*pageSize && m.lo <= userEnd {
			try(lo)
			try(hi - apart - 2*pageSize)
		}
		prev = m
	}
	if best == 0 {
		return 0, fmt.Errorf("memory map: no free page within %d MiB of the vDSO", reach>>20)
	}
	return best, nil
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }
