package emulator

import (
	"encoding/binary"
	"slices"
)

// maxFrame holds an Ethernet frame of a device with an MTU of 1500.
const maxFrame = 2048

// Protocols and their header lengths.
const (
	headerEthernet = 14
	headerIPv4     = 20
	headerTCP      = 20
	headerUDP      = 8

	typeIPv4    = 0x0800
	protocolTCP = 6
	protocolUDP = 17

	flagFIN, flagSYN, flagRST, flagACK = 1, 2, 4, 16
)

// parts is where things are in a frame. Frames that are not what they claim to be
// have none.
type parts struct {
	tcp, udp  bool // with a whole header
	transport int  // where IP's payload begins; 0 in a frame that is not of IPv4
	payload   int  // where the application's bytes begin
	end       int  // where they end
	flags     byte // of TCP
}

// look finds the parts of a frame.
func look(frame []byte) parts {
	if len(frame) < headerEthernet+headerIPv4 || binary.BigEndian.Uint16(frame[12:]) != typeIPv4 {
		return parts{payload: min(headerEthernet, len(frame)), end: len(frame)}
	}
	ip := frame[headerEthernet:]
	header, total := int(ip[0]&15)*4, int(binary.BigEndian.Uint16(ip[2:]))
	if header < headerIPv4 || total < header || total > len(ip) {
		return parts{payload: headerEthernet, end: len(frame)}
	}
	p := parts{transport: headerEthernet + header, payload: headerEthernet + header, end: headerEthernet + total}
	if binary.BigEndian.Uint16(ip[6:])&0x3fff != 0 {
		return p // a fragment
	}
	t := frame[p.transport:p.end]
	switch {
	case ip[9] == protocolTCP && len(t) >= headerTCP && int(t[12]>>4)*4 >= headerTCP && int(t[12]>>4)*4 <= len(t):
		p.tcp, p.flags = true, t[13]
		p.payload += int(t[12]>>4) * 4
	case ip[9] == protocolUDP && len(t) >= headerUDP:
		p.udp = true
		p.payload += headerUDP
	}
	return p
}

// size is how many of the frame's bytes are the application's.
func (p parts) size() int { return p.end - p.payload }

// opens reports whether the frame asks for a new connection.
func (p parts) opens() bool { return p.flags&(flagSYN|flagACK) == flagSYN }

func (p parts) rst() bool { return p.flags&flagRST != 0 }

// ends reports whether the frame is, or has with it, the end of a connection.
func (p parts) ends() bool { return p.flags&(flagFIN|flagRST) != 0 }

// withoutEnd returns the frame of TCP as it would be if more were to follow.
func (p parts) withoutEnd(frame []byte) []byte {
	frame = slices.Clone(frame)
	frame[p.transport+13] &^= flagFIN | flagRST
	p.fixSum(frame)
	return frame
}

// corrupt returns the frame with a flipped bit that a checksum covers: in the
// payload, or else in the numbers of TCP, or in what there is behind the header
// of Ethernet or IP.
func (p parts) corrupt(frame []byte, random uint64) []byte {
	from, to := p.payload, p.end
	if from == to {
		from = max(p.transport, headerEthernet)
		if p.tcp {
			from, to = from+4, from+12
		}
	}
	if from >= to {
		return frame
	}
	return flip(frame, from, to, random)
}

func flip(frame []byte, from, to int, random uint64) []byte {
	frame = slices.Clone(frame) // other edges may carry the same one
	frame[from+int(random>>3%uint64(to-from))] ^= 1 << (random & 7)
	return frame
}

// corruptVisibly returns the frame with a flipped bit in its payload and a
// checksum that fits; ok is false when there is no payload of TCP or UDP.
func (p parts) corruptVisibly(frame []byte, random uint64) (spoilt []byte, ok bool) {
	if p.size() == 0 || !p.tcp && !p.udp {
		return nil, false
	}
	spoilt = flip(frame, p.payload, p.end, random)
	p.fixSum(spoilt)
	return spoilt, true
}

// fixSum makes the checksum of TCP or UDP fit the frame as it is.
func (p parts) fixSum(frame []byte) {
	at := p.transport + 16
	if p.udp {
		at = p.transport + 6
		if binary.BigEndian.Uint16(frame[at:]) == 0 {
			return // none is in use
		}
	}
	binary.BigEndian.PutUint16(frame[at:], 0)
	binary.BigEndian.PutUint16(frame[at:], p.sum(frame))
}

// sum is the checksum of TCP or UDP over the frame as it is: RFC 1071.
func (p parts) sum(frame []byte) uint16 {
	ip := frame[headerEthernet:]
	sum := sum16(0, ip[12:20]) + uint64(ip[9]) + uint64(p.end-p.transport) // the pseudo-header
	got := fold(sum16(sum, frame[p.transport:p.end]))
	if got == 0 && p.udp {
		return 0xffff // 0 means none
	}
	return got
}

func sum16(sum uint64, b []byte) uint64 {
	for ; len(b) > 1; b = b[2:] {
		sum += uint64(b[0])<<8 | uint64(b[1])
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}

func fold(sum uint64) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// reset is a frame that breaks a connection.
type reset struct {
	frame []byte
	back  bool // to the sender of the frame that it stands for
}

// resets makes the RSTs that break the connection of a TCP frame at both ends.
// Their numbers are those which an end expects when nothing else is on its way
// (RFC 5961). Otherwise it asks back, and the other end, which is gone, answers
// with an RST that fits.
func resets(frame []byte, p parts) []reset {
	t := frame[p.transport:]
	seq, ack := binary.BigEndian.Uint32(t[4:]), binary.BigEndian.Uint32(t[8:])
	next := seq + uint32(p.size())
	if p.flags&flagSYN != 0 {
		next++
	}
	if p.flags&flagFIN != 0 {
		next++
	}
	if p.flags&flagACK == 0 {
		return []reset{{craft(frame, p, true, 0, next), true}} // a first SYN: refused
	}
	return []reset{{craft(frame, p, true, ack, next), true}, {craft(frame, p, false, seq, ack), false}}
}

// craft makes an RST from the addresses of a frame.
func craft(frame []byte, p parts, back bool, seq, ack uint32) []byte {
	b := make([]byte, headerEthernet+headerIPv4+headerTCP)
	copy(b, frame[:headerEthernet+headerIPv4])
	ip, t := b[headerEthernet:], b[headerEthernet+headerIPv4:]
	copy(t, frame[p.transport:p.transport+4])
	if back {
		swap(b[0:6], b[6:12])
		swap(ip[12:16], ip[16:20])
		swap(t[0:2], t[2:4])
	}
	ip[0], ip[1] = 4<<4|headerIPv4/4, 0
	binary.BigEndian.PutUint16(ip[2:], headerIPv4+headerTCP)
	binary.BigEndian.PutUint32(ip[4:], 0x4000) // no identification; not to be fragmented
	ip[8] = 64
	binary.BigEndian.PutUint16(ip[10:], 0)
	binary.BigEndian.PutUint16(ip[10:], fold(sum16(0, ip[:headerIPv4])))
	binary.BigEndian.PutUint32(t[4:], seq)
	binary.BigEndian.PutUint32(t[8:], ack)
	t[12], t[13] = headerTCP/4<<4, flagRST|flagACK
	look(b).fixSum(b)
	return b
}

func swap(a, b []byte) {
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
}
