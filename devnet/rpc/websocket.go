package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

const (
	maxWaiting = 256  // requests of one connection that wait for a rule at a time
	maxPending = 4096 // requests of one connection with rules to their answers
	maxHeld    = 1024 // notifications of one connection that are held back
	closeBusy  = websocket.CloseTryAgainLater
)

// session is one WebSocket connection through the proxy.
type session struct {
	proxy        *Proxy
	client, node *peer
	ctx          context.Context
	cancel       context.CancelFunc
	wg           sync.WaitGroup
	waiting      chan struct{}
	held         chan heldMessage
	holds        atomic.Int64 // messages in held, or on their way from there

	mu      sync.Mutex
	pending map[string]*exchange // by the ids of requests that the node has not answered
	repeats map[string]firing    // ids whose answer is the second, and thrown away
	heads   map[headsOf][][]byte
}

// headsOf names a queue of new heads that a Stale rule holds.
type headsOf struct {
	rule         *rule
	subscription string
}

// heldMessage is a notification on its way to the client.
type heldMessage struct {
	kind    int
	message []byte
	set     *ruleset
	since   time.Time
	delay   time.Duration
	fired   []firing // the Delay rules
}

// hopByHop are the headers of the client's handshake that are not the node's to
// see; the dialer writes its own.
func hopByHop(name string) bool {
	return strings.HasPrefix(name, "Sec-Websocket-") || name == "Connection" || name == "Upgrade" || name == "Host"
}

func (p *Proxy) serveWS(w http.ResponseWriter, r *http.Request) {
	header := http.Header{}
	for name, values := range r.Header {
		if !hopByHop(name) {
			header[name] = values
		}
	}
	if protocols := websocket.Subprotocols(r); len(protocols) > 0 {
		header.Set("Sec-Websocket-Protocol", strings.Join(protocols, ", "))
	}
	target := *p.targetWS
	if r.URL.Path != "/" && r.URL.Path != "" {
		target.Path = strings.TrimRight(target.Path, "/") + r.URL.Path
	}
	if r.URL.RawQuery != "" {
		target.RawQuery = r.URL.RawQuery
	}
	node, resp, err := p.dialer.DialContext(r.Context(), target.String(), header)
	if err != nil {
		p.refuseWS(w, resp, err)
		return
	}
	defer node.Close()
	answer := http.Header{}
	if chosen := node.Subprotocol(); chosen != "" {
		answer.Set("Sec-Websocket-Protocol", chosen)
	}
	// Whom to let in was the node's decision, and it has.
	upgrader := websocket.Upgrader{HandshakeTimeout: headerTimeout, CheckOrigin: func(*http.Request) bool { return true }}
	client, err := upgrader.Upgrade(w, r, answer)
	if err != nil {
		return // it has answered already
	}
	defer client.Close()
	s := &session{
		proxy: p, client: &peer{conn: client}, node: &peer{conn: node},
		waiting: make(chan struct{}, maxWaiting), held: make(chan heldMessage, maxHeld),
		pending: map[string]*exchange{}, repeats: map[string]firing{}, heads: map[headsOf][][]byte{},
	}
	s.ctx, s.cancel = context.WithCancel(p.ctx)
	s.run()
}

// refuseWS hands on why the node took no connection.
func (p *Proxy) refuseWS(w http.ResponseWriter, resp *http.Response, err error) {
	if resp == nil {
		http.Error(w, "rpc proxy: node not reached: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusOK || errors.Is(err, context.Canceled) {
		http.Error(w, "rpc proxy: node made no WebSocket", http.StatusBadGateway)
		return
	}
	if t := resp.Header.Get("Content-Type"); t != "" {
		w.Header().Set("Content-Type", t)
	}
	w.WriteHeader(resp.StatusCode)
	io.Copy(w, resp.Body) // the dialer keeps a little of it
}

// run moves messages until either end is gone.
func (s *session) run() {
	stop := context.AfterFunc(s.ctx, func() {
		s.client.conn.Close()
		s.node.conn.Close()
	})
	defer stop()
	s.wg.Go(func() { s.pump(s.client, s.node, s.fromClient) })
	s.wg.Go(func() { s.pump(s.node, s.client, s.fromNode) })
	s.wg.Go(s.release)
	s.wg.Wait()
}

// pump reads messages from one end until that is gone, and ends the session.
func (s *session) pump(from, to *peer, take func(kind int, message []byte) error) {
	defer s.cancel()
	// Pings are the ends' own affair: a node that hangs must not look alive.
	from.conn.SetPingHandler(func(data string) error { return quiet(to.control(websocket.PingMessage, []byte(data))) })
	from.conn.SetPongHandler(func(data string) error { return quiet(to.control(websocket.PongMessage, []byte(data))) })
	from.conn.SetCloseHandler(func(int, string) error { return nil }) // it is handed on below
	for {
		kind, r, err := from.conn.NextReader()
		if err == nil {
			err = s.one(kind, r, to, take)
		}
		if err != nil {
			s.handOnEnd(to, err)
			return
		}
	}
}

// quiet forgets that a control message could not be written: whoever writes to
// that end next will see it.
func quiet(error) error { return nil }

func (s *session) one(kind int, r io.Reader, to *peer, take func(int, []byte) error) error {
	message, err := readUpTo(r, 0)
	if err != nil {
		return err
	}
	if to == s.node {
		s.proxy.messages.Add(1)
	}
	if len(message) > maxBody {
		if to == s.node {
			s.proxy.opaque.Add(1)
		}
		return to.stream(kind, io.MultiReader(bytes.NewReader(message), r))
	}
	return take(kind, message)
}

// handOnEnd tells the other end how this one has ended, where it said so.
func (s *session) handOnEnd(to *peer, err error) {
	var closed *websocket.CloseError
	if !errors.As(err, &closed) {
		return
	}
	switch closed.Code {
	case websocket.CloseNoStatusReceived:
		to.control(websocket.CloseMessage, nil)
	case websocket.CloseAbnormalClosure, websocket.CloseTLSHandshake: // never on the wire
	default:
		to.control(websocket.CloseMessage, websocket.FormatCloseMessage(closed.Code, closed.Text))
	}
}

// fromClient takes a message to the node, by the rules.
func (s *session) fromClient(kind int, message []byte) error {
	x := s.proxy.set.Load().examine(message, s.proxy.ask)
	if x == nil {
		return s.node.send(kind, message)
	}
	if !x.waits() {
		return s.request(x, kind, message)
	}
	// Whoever waits must not hold up the rest.
	select {
	case s.waiting <- struct{}{}:
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	s.wg.Go(func() {
		defer func() { <-s.waiting }()
		if s.request(x, kind, message) != nil {
			s.cancel()
		}
	})
	return nil
}

// waits reports whether before takes time.
func (x *exchange) waits() bool {
	for _, c := range x.calls {
		for _, f := range c.fired {
			if f.Do.Kind == Delay && !f.Do.After || f.Do.Kind == Stale {
				return true
			}
		}
	}
	return false
}

func (s *session) request(x *exchange, kind int, message []byte) error {
	forward, end, err := x.before(s.ctx)
	switch {
	case errors.Is(err, errReplaced):
		return s.node.send(kind, message)
	case err != nil:
		return err
	case end != nil:
		return s.end(end)
	case forward == nil:
		return s.respond(x, kind, nil)
	}
	s.expect(x)
	return s.node.send(kind, forward)
}

// expect remembers an exchange until the node answers it.
func (s *session) expect(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) > maxPending {
		return
	}
	for _, c := range x.calls {
		if c.id != "" && !c.lost {
			s.pending[c.id] = x
		}
	}
}

// answered finds the exchange that a message from the node answers.
func (s *session) answered(answers []envelope) *exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range answers {
		if x := s.pending[a.id]; x != nil && a.method == "" {
			for _, c := range x.calls {
				if s.pending[c.id] == x {
					delete(s.pending, c.id)
				}
			}
			return x
		}
	}
	return nil
}

// end ends a message, and with a status the session: an open WebSocket has no
// other way to say it.
func (s *session) end(end *ending) error {
	switch {
	case end.status == 0:
		return nil // lost; the connection stays
	case end.page:
		return s.client.send(websocket.TextMessage, []byte(page))
	}
	s.client.control(websocket.CloseMessage, websocket.FormatCloseMessage(closeBusy, http.StatusText(end.status)))
	return errEnded
}

var errEnded = errors.New("ended by a rule")

// respond gives the client the node's answer, by the rules; nil is none.
func (s *session) respond(x *exchange, kind int, message []byte) error {
	answer, end := x.after(message)
	if end != nil {
		return s.end(end)
	}
	if answer == nil {
		return nil
	}
	return s.client.send(kind, answer)
}

// fromNode takes a message to the client, by the rules.
func (s *session) fromNode(kind int, message []byte) error {
	set := s.proxy.set.Load()
	s.mu.Lock()
	idle := len(set.rules) == 0 && len(s.pending) == 0 && len(s.repeats) == 0
	s.mu.Unlock()
	if idle && s.holds.Load() == 0 {
		return s.client.send(kind, message)
	}
	answers, batch, ok := parse(message)
	switch {
	case !ok:
		return s.client.send(kind, message)
	case !batch && answers[0].method != "":
		return s.notification(set, kind, answers[0])
	case s.swallow(answers):
		return nil
	}
	x := s.answered(answers)
	if x == nil {
		return s.client.send(kind, message)
	}
	if err := s.repeat(x, kind); err != nil {
		return err
	}
	if !x.delaysAnswer() {
		return s.respond(x, kind, message)
	}
	select {
	case s.waiting <- struct{}{}:
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	s.wg.Go(func() {
		defer func() { <-s.waiting }()
		if x.hold(s.ctx, true) != nil || s.respond(x, kind, message) != nil {
			s.cancel()
		}
	})
	return nil
}

func (x *exchange) delaysAnswer() (yes bool) {
	x.each(true, func(_ *call, f firing) { yes = yes || f.Do.Kind == Delay })
	return yes
}

// repeat sends what has to be sent twice; its answer is told by its id.
func (s *session) repeat(x *exchange, kind int) error {
	again, all := x.repeats()
	if again == nil {
		return nil
	}
	s.mu.Lock()
	for _, r := range all {
		if r.id != "" {
			s.repeats[r.id] = r.by
		}
	}
	s.mu.Unlock()
	return s.node.send(kind, again)
}

// swallow reports whether these are answers to what was sent twice.
func (s *session) swallow(answers []envelope) (yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range answers {
		if by, ok := s.repeats[a.id]; ok {
			by.duplicated.Add(1)
			delete(s.repeats, a.id)
			yes = true
		}
	}
	return yes
}
