package clock

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jepgo/jepgo/devnet"
)

// renewal is how often the lease is renewed.
const renewal = 200 * time.Millisecond

// Skew is the hooked clock of one process. Methods are safe for concurrent use. A
// goroutine renews its lease until Remove, or until the target has ended.
type Skew struct {
	id   devnet.Identity
	stop func() // the renewing, and waits for it

	mu     sync.Mutex
	page   []byte // nil after Remove
	now    slot
	lapses int
}

func newSkew(id devnet.Identity, page []byte) *Skew {
	s := &Skew{id: id, page: page}
	stop, done := make(chan struct{}), make(chan struct{})
	s.stop = sync.OnceFunc(func() {
		close(stop)
		<-done
	})
	go func() {
		defer close(done)
		tick := time.NewTicker(renewal)
		defer tick.Stop()
		for devnet.Alive(id) {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			s.mu.Lock()
			s.publish() // an error of the clock lets the lease end
			s.mu.Unlock()
		}
	}()
	return s
}

// Set lets the target see the true time plus an offset, that from now on grows by
// ppm microseconds a second, or shrinks. It takes microseconds and stops nobody;
// calls that have begun may still return what held before.
func (s *Skew) Set(offset time.Duration, ppm float64) error {
	return s.SetSince(offset, ppm, time.Time{})
}

// SetSince is Set with an offset that has grown since a true time: what a second
// incarnation of the target takes over. The zero time is now.
func (s *Skew) SetSince(offset time.Duration, ppm float64, since time.Time) error {
	switch {
	case offset < -MaxOffset || offset > MaxOffset:
		return fmt.Errorf("offset %v: expected at most %v either way", offset, MaxOffset)
	case !(math.Abs(ppm) <= MaxPPM):
		return fmt.Errorf("drift %v ppm: expected at most %d either way", ppm, MaxPPM)
	}
	t0, err := trueTime()
	if err != nil {
		return err
	}
	if !since.IsZero() {
		t0 = since.UnixNano()
	}
	seconds := int64(offset / second)
	nanos := int64(offset % second)
	if nanos < 0 {
		seconds, nanos = seconds-1, nanos+second
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.page == nil {
		return fmt.Errorf("process %s: its clock was restored", s.id)
	}
	s.now = slot{mask: realtime, seconds: seconds, nanos: nanos, rate: int64(math.Round(ppm / 1e6 * rateUnit)), t0: t0}
	return s.publish()
}

// publish renews the lease of what is set. The caller has the lock.
func (s *Skew) publish() error {
	if s.page == nil || s.now.mask == 0 {
		return nil
	}
	now, err := trueTime()
	if err != nil {
		return err
	}
	if s.now.expiry != 0 && now >= s.now.expiry {
		s.lapses++
	}
	s.now.expiry = now + int64(Lease)
	publish(s.page, s.now)
	return nil
}

// Asked is the offset that the target should see at a true time.
func (s *Skew) Asked(at time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(s.now.at(at.UnixNano()))
}

// Lapses is how often the lease ended although we live, because this machine did
// not let us run for longer than Lease: the target was right meanwhile.
func (s *Skew) Lapses() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lapses
}

// Read is Read of the target.
func (s *Skew) Read() (Reading, error) { return Read(s.id) }

// Remove makes the clock right, ends the lease and restores the vDSO. It is
// idempotent; an error says that the vDSO may still be patched, and that it may be
// called again. A target that has ended has nothing to restore.
func (s *Skew) Remove() error {
	s.stop()
	s.mu.Lock()
	if s.page != nil {
		publish(s.page, slot{})
		unix.Munmap(s.page)
		s.page = nil
		s.now = slot{}
	}
	s.mu.Unlock()
	if err := Restore(s.id); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
