package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrSilent is returned by Compare when the node itself gives no answer, so that
// there is nothing to compare with.
var ErrSilent = errors.New("node gives no answer")

// Comparison is what a node said, the same directly and through its proxy.
type Comparison struct {
	Height  uint64        // of the block that both gave
	Bytes   int           // compared
	Direct  time.Duration // that the slowest direct answer took
	Through time.Duration // that the slowest answer through the proxy took
}

// Compare asks the node for its head, its chain id and a block, directly and
// through the proxy as any client would, and returns an error when the answers
// differ in a byte, or the head through the proxy is not between those that the
// node gave before and after.
func (p *Proxy) Compare(ctx context.Context) (Comparison, error) {
	var c Comparison
	via := newTransport()
	defer via.CloseIdleConnections()
	put := func(through bool, body string) ([]byte, error) {
		url, slowest := p.target.String(), &c.Direct
		if through {
			url, slowest = "http://"+p.addr, &c.Through
		}
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		start := time.Now()
		answer, err := post(ctx, via, url, []byte(body))
		*slowest = max(*slowest, time.Since(start))
		switch {
		case err != nil && !through:
			return nil, fmt.Errorf("%w: %w", ErrSilent, err)
		case err != nil:
			return nil, fmt.Errorf("through the proxy: %w", err)
		}
		return answer, nil
	}
	var heads [3]uint64
	for i := range heads {
		answer, err := put(i == 1, `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`)
		if err != nil {
			return c, err
		}
		n, ok := resultNumber(answer)
		if !ok && i != 1 {
			return c, fmt.Errorf("%w: eth_blockNumber: %.100s", ErrSilent, answer)
		}
		if !ok {
			return c, fmt.Errorf("through the proxy: eth_blockNumber: %.100s", answer)
		}
		heads[i] = n
	}
	if heads[1] < heads[0] || heads[1] > heads[2] {
		return c, fmt.Errorf("head through the proxy %d: expected %d to %d, as the node says", heads[1], heads[0], heads[2])
	}
	c.Height = heads[0]
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":2,"method":"eth_chainId","params":[]}`,
		`{"jsonrpc":"2.0","id":3,"method":"eth_getBlockByNumber","params":[` + string(hexNumber(c.Height)) + `,false]}`,
	} {
		direct, err := put(false, body)
		if err != nil {
			return c, err
		}
		through, err := put(true, body)
		if err != nil {
			return c, err
		}
		if !bytes.Equal(direct, through) {
			return c, fmt.Errorf("answer through the proxy differs from the node's: %.200s and %.200s", through, direct)
		}
		c.Bytes += len(direct)
	}
	return c, nil
}

func resultNumber(body []byte) (uint64, bool) {
	answers, batch, ok := parse(body)
	if !ok || batch || !answers[0].hasResult {
		return 0, false
	}
	return quantity(answers[0].raw, answers[0].result)
}
