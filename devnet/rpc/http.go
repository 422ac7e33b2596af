package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// exchangeKey is where the context of a request to the node has its exchange.
type exchangeKey struct{}

// endError carries an ending from ModifyResponse to ErrorHandler.
type endError struct{ ending }

func (*endError) Error() string { return "ended by a rule" }

// newReverse is what carries requests to the node and answers back. (It is the
// standard library's, which knows all about hop-by-hop headers.)
func newReverse(p *Proxy) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport: p.transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(p.target)
			if x := r.In.Context().Value(exchangeKey{}); x != nil {
				r.Out.Header.Del("Accept-Encoding") // else the answer could not be read
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if x, ok := r.Request.Context().Value(exchangeKey{}).(*exchange); ok {
				return p.modify(r, x)
			}
			return nil
		},
		ErrorHandler: p.fail,
		ErrorLog:     silent(),
		BufferPool:   &buffers{},
	}
}

// buffers spares an allocation of 32 KiB for each answer.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if v, ok := b.pool.Get().(*[]byte); ok {
		return *v
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(v []byte) { b.pool.Put(&v) }

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if !p.visitors.enter() {
		vanish()
	}
	defer p.visitors.leave()
	defer endUpgraded(p.ctx, r)()
	if websocket.IsWebSocketUpgrade(r) {
		p.serveWS(w, r)
		return
	}
	body, all := receive(w, r)
	p.messages.Add(1)
	set := p.set.Load()
	if !all {
		p.opaque.Add(1)
	}
	if !all || r.Method != http.MethodPost {
		p.reverse.ServeHTTP(w, r)
		return
	}
	x := set.examine(body, p.ask)
	if x == nil {
		replaceBody(r, body)
		p.reverse.ServeHTTP(w, r)
		return
	}
	forward, end, err := x.before(r.Context())
	switch {
	case errors.Is(err, errReplaced):
		replaceBody(r, body)
		p.reverse.ServeHTTP(w, r)
	case err != nil:
		vanish()
	case end != nil:
		p.end(w, r, end, set)
	case forward == nil:
		answer, end := p.answer(r.Context(), x, nil)
		if end != nil {
			p.end(w, r, end, set)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		w.Write(answer)
	default:
		replaceBody(r, forward)
		p.reverse.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
	}
}

// vanish closes the connection without an answer. The panic is net/http's way to
// say so, and it recovers from it.
func vanish() { panic(http.ErrAbortHandler) }

// receive reads a body that is small enough to be looked at; all is false when it
// is not, and then r still has the whole of it.
func receive(w http.ResponseWriter, r *http.Request) (body []byte, all bool) {
	deadline := http.NewResponseController(w)
	deadline.SetReadDeadline(time.Now().Add(bodyTimeout))
	body, err := readUpTo(r.Body, r.ContentLength)
	if err != nil {
		vanish()
	}
	if len(body) > maxBody {
		r.Body = rest{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
		deadline.SetReadDeadline(time.Time{})
		return nil, false
	}
	deadline.SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, true
}

// rest is a body of which some was read already.
type rest struct {
	io.Reader
	io.Closer
}

// readUpTo reads all, or one byte more than is looked at.
func readUpTo(r io.Reader, size int64) ([]byte, error) {
	var b bytes.Buffer
	if size > 0 {
		b.Grow(int(min(size, 64<<10)) + bytes.MinRead) // who announces much has not sent it yet
	}
	_, err := b.ReadFrom(io.LimitReader(r, maxBody+1))
	return b.Bytes(), err
}

func replaceBody(r *http.Request, body []byte) {
	r.ContentLength = int64(len(body))
	r.TransferEncoding = nil
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
}

// answer is what comes after the node: the second request of a Duplicate, the
// delays, and what the rules do to the answer.
func (p *Proxy) answer(ctx context.Context, x *exchange, body []byte) ([]byte, *ending) {
	if again, all := x.repeats(); again != nil {
		if _, err := p.post(ctx, again); err == nil {
			for _, r := range all {
				r.by.duplicated.Add(1)
			}
		}
	}
	if err := x.hold(ctx, true); err != nil {
		return nil, &ending{}
	}
	return x.after(body)
}

// modify does to the node's answer what the rules say.
func (p *Proxy) modify(r *http.Response, x *exchange) error {
	body, err := readUpTo(r.Body, r.ContentLength)
	if err != nil {
		return err
	}
	if len(body) > maxBody || r.Header.Get("Content-Encoding") != "" {
		r.Body = rest{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
		return nil
	}
	r.Body.Close()
	out, end := p.answer(r.Request.Context(), x, body)
	if end != nil && end.status == 0 {
		return &endError{*end}
	}
	if end != nil {
		contentType, text := end.body()
		r.StatusCode, r.Status, out = end.status, "", []byte(text)
		r.Header.Set("Content-Type", contentType)
	}
	r.Body = io.NopCloser(bytes.NewReader(out))
	r.ContentLength, r.TransferEncoding = int64(len(out)), nil
	r.Header.Set("Content-Length", strconv.Itoa(len(out)))
	return nil
}

// fail ends a request that got no answer from the node, or must not give it.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, err error) {
	var ended *endError
	if errors.As(err, &ended) {
		p.end(w, r, &ended.ending, p.set.Load())
		return
	}
	if undialled(err) {
		http.Error(w, "rpc proxy: node not reached: "+err.Error(), http.StatusBadGateway)
		return
	}
	vanish() // as the node has
}

// end ends a request as a rule says.
func (p *Proxy) end(w http.ResponseWriter, r *http.Request, end *ending, set *ruleset) {
	if end.status != 0 {
		contentType, text := end.body()
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		w.WriteHeader(end.status)
		io.WriteString(w, text)
		return
	}
	if end.hang {
		select {
		case <-r.Context().Done():
		case <-set.done:
		}
	}
	vanish()
}

// post sends a body to the node itself and returns its answer.
func (p *Proxy) post(ctx context.Context, body []byte) ([]byte, error) {
	return post(ctx, p.transport, p.target.String(), body)
}

func post(ctx context.Context, via http.RoundTripper, url string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := via.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := readUpTo(resp.Body, resp.ContentLength)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: status %d", url, resp.StatusCode)
	case len(answer) > maxBody:
		return nil, fmt.Errorf("%s: answer over %d bytes", url, maxBody)
	}
	return answer, nil
}

// ask asks the node itself, past all rules.
func (p *Proxy) ask(ctx context.Context, method, params string) ([]byte, error) {
	return ask(ctx, p.transport, p.target.String(), method, params)
}

func ask(ctx context.Context, via http.RoundTripper, url, method, params string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	body, err := post(ctx, via, url, []byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`))
	if err != nil {
		return nil, err
	}
	answers, batch, ok := parse(body)
	if !ok || batch || len(answers) != 1 || !answers[0].hasResult {
		return nil, fmt.Errorf("%s: %s: no result: %.100s", url, method, body)
	}
	return answers[0].result.of(answers[0].raw), nil
}
