package clock

import (
	"encoding/hex"
	"fmt"
)

// The page that is mapped into a target is code, the page behind it data:
//
//	0x000  mark
//	0x040  hooks of the three calls
//	0x400  the displaced first instructions of clock_gettime, and a jump to the rest
//	0x1000 sequence number (u32)
//	0x1008 the process that set the skew: its pid (u64) and start (u64)
//	0x1040 two slots of 64 bytes; the sequence number's last bit tells which is valid
//
// All in a slot are 64 bits: mask (bit c: clock c is skewed), offset in whole
// seconds, offset in nanoseconds (0 to 999,999,999), rate in 2^-32, t0 and expiry in
// nanoseconds of the true CLOCK_REALTIME. From the expiry on no clock is skewed.
//
// A reader never waits for a writer: the valid slot is not written to, so that a
// writer that dies half-way leaves nothing torn and holds nobody up.
const (
	pageSize = 4096

	markAt       = 0x000
	gettimeAt    = 0x040
	timeofdayAt  = 0x120
	timeAt       = 0x170
	trampolineAt = 0x400

	ownerAt  = 0x008 // in the data page, as the next
	slotsAt  = 0x040
	slotSize = 0x040

	// mark begins the code page. A change of what follows is a new mark.
	mark = "jepgo clock skew, version 1"
	// memfdName is the data page's name in /proc/PID/maps.
	memfdName   = "jepgo-clock"
	memfdNameAt = 0x020 // in the code page, for the system call
)

// instruction is one line of the hook: the test decodes the bytes and compares.
type instruction struct {
	at    int // in the code page
	bytes string
	text  string
}

// hookCode is position-independent within its two pages. It keeps to the System V
// ABI, uses under 80 bytes of stack beside what the original uses, no SSE, and writes
// nothing but what the caller asked for, so that it may be interrupted and entered
// again anywhere.
func hookCode() []instruction {
	return []instruction{
		// gettime: clock_gettime(clock edi, *timespec rsi). The original writes to our stack, so
		// that no true time is ever seen where a skewed one belongs.
		{0x40, "53", "push rbx"},
		{0x41, "55", "push rbp"},
		{0x42, "4883ec18", "sub rsp, 0x18"},
		{0x46, "89fb", "mov ebx, edi"},
		{0x48, "4889f5", "mov rbp, rsi"},
		{0x4b, "4889e6", "mov rsi, rsp"},
		{0x4e, "e8ad030000", "call 0x400"},
		{0x53, "85c0", "test eax, eax"},
		{0x55, "757f", "jnz 0xd6"},
		{0x57, "4c8b0424", "mov r8, qword ptr [rsp]"},
		{0x5b, "4c8b4c2408", "mov r9, qword ptr [rsp+0x8]"},
		{0x60, "83fb3f", "cmp ebx, 0x3f"},
		{0x63, "7767", "jnbe 0xcc"},
		{0x65, "488d35940f0000", "lea rsi, ptr [rip+0xf94]"},
		// retry: The latch: the slot that an even or odd sequence number names, valid if the
		// number is still the same after everything was read.
		{0x6c, "8b3e", "mov edi, dword ptr [rsi]"},
		{0x6e, "89f9", "mov ecx, edi"},
		{0x70, "83e101", "and ecx, 0x1"},
		{0x73, "c1e106", "shl ecx, 0x6"},
		{0x76, "4801f1", "add rcx, rsi"},
		{0x79, "488b5140", "mov rdx, qword ptr [rcx+0x40]"},
		{0x7d, "488b4148", "mov rax, qword ptr [rcx+0x48]"},
		{0x81, "4c8b5950", "mov r11, qword ptr [rcx+0x50]"},
		{0x85, "4c8b5158", "mov r10, qword ptr [rcx+0x58]"},
		{0x89, "488b7160", "mov rsi, qword ptr [rcx+0x60]"},
		{0x8d, "488b4968", "mov rcx, qword ptr [rcx+0x68]"},
		{0x91, "3b3d690f0000", "cmp edi, dword ptr [rip+0xf69]"},
		{0x97, "7544", "jnz 0xdd"},
		{0x99, "480fa3da", "bt rdx, rbx"},
		{0x9d, "732d", "jnb 0xcc"},
		{0x9f, "4969d000ca9a3b", "imul rdx, r8, 0x3b9aca00"},
		{0xa6, "4c01ca", "add rdx, r9"},
		{0xa9, "4839ca", "cmp rdx, rcx"},
		{0xac, "7d1e", "jnl 0xcc"},
		{0xae, "4901c0", "add r8, rax"},
		{0xb1, "4d01d9", "add r9, r11"},
		{0xb4, "4d85d2", "test r10, r10"},
		{0xb7, "752f", "jnz 0xe8"},
		{0xb9, "4981f900ca9a3b", "cmp r9, 0x3b9aca00"},
		{0xc0, "7c0a", "jl 0xcc"},
		{0xc2, "4981e900ca9a3b", "sub r9, 0x3b9aca00"},
		{0xc9, "49ffc0", "inc r8"},
		// store:
		{0xcc, "4c894500", "mov qword ptr [rbp], r8"},
		{0xd0, "4c894d08", "mov qword ptr [rbp+0x8], r9"},
		{0xd4, "31c0", "xor eax, eax"},
		// fail:
		{0xd6, "4883c418", "add rsp, 0x18"},
		{0xda, "5d", "pop rbp"},
		{0xdb, "5b", "pop rbx"},
		{0xdc, "c3", "ret"},
		// again: The slot may have changed while it was read.
		{0xdd, "f390", "pause"},
		{0xdf, "488d351a0f0000", "lea rsi, ptr [rip+0xf1a]"},
		{0xe6, "eb84", "jmp 0x6c"},
		// drift: offset + ((true time - t0) * rate) >> 32, rounded down, as nanoseconds.
		{0xe8, "4889d0", "mov rax, rdx"},
		{0xeb, "4829f0", "sub rax, rsi"},
		{0xee, "49f7ea", "imul r10"},
		{0xf1, "480facd020", "shrd rax, rdx, 0x20"},
		{0xf6, "4c01c8", "add rax, r9"},
		{0xf9, "4899", "cqo"},
		{0xfb, "b900ca9a3b", "mov ecx, 0x3b9aca00"},
		{0x100, "48f7f9", "idiv rcx"},
		{0x103, "4885d2", "test rdx, rdx"},
		{0x106, "7906", "jns 0x10e"},
		{0x108, "4801ca", "add rdx, rcx"},
		{0x10b, "48ffc8", "dec rax"},
		// whole:
		{0x10e, "4901c0", "add r8, rax"},
		{0x111, "4989d1", "mov r9, rdx"},
		{0x114, "ebb6", "jmp 0xcc"},
		// gettimeofday: gettimeofday(*timeval rdi, *timezone rsi); the zone, which nobody asks for,
		// by a system call.
		{0x120, "53", "push rbx"},
		{0x121, "55", "push rbp"},
		{0x122, "4883ec18", "sub rsp, 0x18"},
		{0x126, "4889fb", "mov rbx, rdi"},
		{0x129, "4885f6", "test rsi, rsi"},
		{0x12c, "7409", "jz 0x137"},
		{0x12e, "31ff", "xor edi, edi"},
		{0x130, "b860000000", "mov eax, 0x60"},
		{0x135, "0f05", "syscall"},
		// nozone:
		{0x137, "31c0", "xor eax, eax"},
		{0x139, "4885db", "test rbx, rbx"},
		{0x13c, "7426", "jz 0x164"},
		{0x13e, "31ff", "xor edi, edi"},
		{0x140, "4889e6", "mov rsi, rsp"},
		{0x143, "e8f8feffff", "call 0x40"},
		{0x148, "85c0", "test eax, eax"},
		{0x14a, "7518", "jnz 0x164"},
		{0x14c, "488b1424", "mov rdx, qword ptr [rsp]"},
		{0x150, "488913", "mov qword ptr [rbx], rdx"},
		{0x153, "4869542408d34d6210", "imul rdx, qword ptr [rsp+0x8], 0x10624dd3"},
		{0x15c, "48c1ea26", "shr rdx, 0x26"},
		{0x160, "48895308", "mov qword ptr [rbx+0x8], rdx"},
		// done:
		{0x164, "4883c418", "add rsp, 0x18"},
		{0x168, "5d", "pop rbp"},
		{0x169, "5b", "pop rbx"},
		{0x16a, "c3", "ret"},
		// time: time(*time_t rdi), by CLOCK_REALTIME_COARSE as the original.
		{0x170, "53", "push rbx"},
		{0x171, "4883ec10", "sub rsp, 0x10"},
		{0x175, "4889fb", "mov rbx, rdi"},
		{0x178, "bf05000000", "mov edi, 0x5"},
		{0x17d, "4889e6", "mov rsi, rsp"},
		{0x180, "e8bbfeffff", "call 0x40"},
		{0x185, "488b0424", "mov rax, qword ptr [rsp]"},
		{0x189, "4885db", "test rbx, rbx"},
		{0x18c, "7403", "jz 0x191"},
		{0x18e, "488903", "mov qword ptr [rbx], rax"},
		// null:
		{0x191, "4883c410", "add rsp, 0x10"},
		{0x195, "5b", "pop rbx"},
		{0x196, "c3", "ret"},
	}
}

// probeCode is what Read runs in a page of its own.
func probeCode() []instruction {
	return []instruction{
		// probe: Not reached from the vDSO: what Read runs. rbx = clock_gettime, rbp = samples,
		// r12 = how many, r13 = where to say that they are there. Each sample is the
		// system call, the vDSO, the system call.
		{0x1a0, "b8e4000000", "mov eax, 0xe4"},
		{0x1a5, "31ff", "xor edi, edi"},
		{0x1a7, "4889ee", "mov rsi, rbp"},
		{0x1aa, "0f05", "syscall"},
		{0x1ac, "31ff", "xor edi, edi"},
		{0x1ae, "488d7510", "lea rsi, ptr [rbp+0x10]"},
		{0x1b2, "ffd3", "call rbx"},
		{0x1b4, "b8e4000000", "mov eax, 0xe4"},
		{0x1b9, "31ff", "xor edi, edi"},
		{0x1bb, "488d7520", "lea rsi, ptr [rbp+0x20]"},
		{0x1bf, "0f05", "syscall"},
		{0x1c1, "4883c530", "add rbp, 0x30"},
		{0x1c5, "41ffcc", "dec r12d"},
		{0x1c8, "75d6", "jnz 0x1a0"},
		{0x1ca, "41c7450001000000", "mov dword ptr [r13], 0x1"},
		// wait:
		{0x1d2, "f390", "pause"},
		{0x1d4, "ebfc", "jmp 0x1d2"},
	}
}

// assemble places instructions on a page filled with int3, from the address base.
func assemble(code []instruction, base int) ([]byte, error) {
	page := make([]byte, pageSize)
	for i := range page {
		page[i] = 0xcc
	}
	for _, in := range code {
		b, err := hex.DecodeString(in.bytes)
		if err != nil {
			return nil, fmt.Errorf("hook at %#x: %w", in.at, err)
		}
		copy(page[in.at-base:], b)
	}
	return page, nil
}
