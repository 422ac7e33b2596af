package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	nfnl "github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet/link/netns"
)

const (
	logGroup = 7
	logSnap  = 64 // bytes of a packet: the IP header, and of TCP the ports

	// Of linux/netfilter/nfnetlink_log.h.
	logMsgPacket, logMsgConfig  = 0, 1
	logPayload                  = 9
	logConfigCmd, logConfigMode = 1, 2
	logConfigFlush              = 4 // a timeout, in hundredths of a second
	logCmdBind, logModePacket   = 1, 2
	logSubsystem                = unix.NFNL_SUBSYS_ULOG << 8
	logHeader                   = 4 // of nfnetlink, before the attributes
)

// log is where the kernel tells which packets its rules chose.
type log struct {
	conn *nfnl.Conn
	wg   sync.WaitGroup
}

// openLog calls f for each packet that rules log in the namespace of the calling
// thread, as its receiver sees the connection.
func openLog(f func(netns.Connection)) (*log, error) {
	conn, err := nfnl.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, fmt.Errorf("netfilter log: %w", err)
	}
	mode := append(binary.BigEndian.AppendUint32(nil, logSnap), logModePacket, 0)
	for _, attrs := range [][]nfnl.Attribute{
		{{Type: logConfigCmd, Data: []byte{logCmdBind}}},
		{{Type: logConfigMode, Data: mode}, {Type: logConfigFlush, Data: binary.BigEndian.AppendUint32(nil, 1)}},
	} {
		data, err := nfnl.MarshalAttributes(attrs)
		if err == nil {
			_, err = conn.Execute(nfnl.Message{
				Header: nfnl.Header{Type: logSubsystem | logMsgConfig, Flags: nfnl.Request | nfnl.Acknowledge},
				Data:   append([]byte{unix.AF_UNSPEC, 0, logGroup >> 8, logGroup & 255}, data...),
			})
		}
		if err != nil {
			conn.Close()
			return nil, fmt.Errorf("netfilter log: %w", err)
		}
	}
	l := &log{conn: conn}
	l.wg.Go(func() { l.run(f) })
	return l, nil
}

func (l *log) run(f func(netns.Connection)) {
	for {
		msgs, err := l.conn.Receive()
		if errors.Is(err, unix.ENOBUFS) {
			continue // some were not told: TCP sends again what they were
		}
		if err != nil {
			return
		}
		for _, m := range msgs {
			if c, ok := logged(m); ok {
				f(c)
			}
		}
	}
}

// logged reads a message about a packet.
func logged(m nfnl.Message) (c netns.Connection, ok bool) {
	if m.Header.Type != logSubsystem|logMsgPacket || len(m.Data) < logHeader {
		return c, false
	}
	attrs, err := nfnl.UnmarshalAttributes(m.Data[logHeader:])
	if err != nil {
		return c, false
	}
	for _, a := range attrs {
		if a.Type != logPayload || len(a.Data) < headerIPv4 {
			continue
		}
		ip := a.Data
		size := int(ip[0]&15) * 4
		if ip[0]>>4 != 4 || size < headerIPv4 || len(ip) < size+4 {
			continue
		}
		end := func(addr, port []byte) netip.AddrPort {
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte(addr)), binary.BigEndian.Uint16(port))
		}
		return netns.Connection{Remote: end(ip[12:16], ip[size:]), Local: end(ip[16:20], ip[size+2:])}, true
	}
	return c, false
}

// close returns when f is not called any more.
func (l *log) close() error {
	err := l.conn.Close()
	l.wg.Wait()
	return err
}
