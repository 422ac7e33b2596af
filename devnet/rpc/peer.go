package rpc

import (
	"io"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// writeTimeout is for a peer to take a message.
const writeTimeout = 30 * time.Second

// peer is one end of a session. Messages are written whole, by anybody.
type peer struct {
	conn *websocket.Conn
	mu   sync.Mutex
}

func (p *peer) send(kind int, message []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	return p.conn.WriteMessage(kind, message)
}

// stream sends a message that is too large to be looked at.
func (p *peer) stream(kind int, message io.Reader) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn.SetWriteDeadline(time.Now().Add(2 * writeTimeout))
	w, err := p.conn.NextWriter(kind)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, message); err != nil {
		return err // without the message's end, which the peer must not see
	}
	return w.Close()
}

func (p *peer) control(kind int, data []byte) error {
	return p.conn.WriteControl(kind, data, time.Now().Add(writeTimeout))
}
