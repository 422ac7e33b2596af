package rpc

import "sync"

// visitors are the requests under way, for whom Close waits.
type visitors struct {
	mu   sync.Mutex
	shut bool
	wg   sync.WaitGroup
}

// enter is false when nobody may enter any more; else leave must follow.
func (v *visitors) enter() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shut {
		return false
	}
	v.wg.Add(1)
	return true
}

func (v *visitors) leave() { v.wg.Done() }

// close lets nobody in any more.
func (v *visitors) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.shut = true
}

// wait returns when all have left.
func (v *visitors) wait() { v.wg.Wait() }
