package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/jepgo/jepgo/judge"
)

// progress tells a person that a long check is alive. It says nothing in the
// first moments, and nothing at all where nobody watches.
type progress struct {
	w     io.Writer
	mu    sync.Mutex
	begun time.Time
	last  time.Time
	width int
}

const (
	progressDelay  = 2 * time.Second
	progressPeriod = 200 * time.Millisecond
)

func newProgress(w io.Writer) *progress {
	if !IsTerminal(w) {
		return &progress{}
	}
	return &progress{w: w, begun: time.Now()}
}

// at redraws the line.
func (p *progress) at(now judge.Progress) {
	if p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.begun) < progressDelay || time.Since(p.last) < progressPeriod {
		return
	}
	p.last = time.Now()
	line := fmt.Sprintf("%s: %d ops %s", now.File, now.Ops, now.Stage)
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, p.width-len(line))))
	p.width = len(line)
}

// end takes the line away.
func (p *progress) end() {
	if p.w == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.width > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
}
