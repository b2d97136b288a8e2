package egress

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// How long an answer of a name server is used again, and how many are kept. A package manager opens hundreds of
// connections to one host in seconds, and not every name server answers as many questions. Each connection
// is still judged by the address that it goes to.
const (
	lookupTime = 30 * time.Second
	maxLookups = 256
)

// lookups asks a name server once for what many connections want to know.
type lookups struct {
	ask func(ctx context.Context, host string) ([]netip.Addr, error)

	mu   sync.Mutex
	list map[string]*lookedUp
}

type lookedUp struct {
	done  chan struct{} // closed when the rest is known
	addrs []netip.Addr
	err   error
	until time.Time
}

func newLookups(ask func(ctx context.Context, host string) ([]netip.Addr, error)) *lookups {
	return &lookups{ask: ask, list: map[string]*lookedUp{}}
}

// resolve returns the addresses of host. It waits for an answer that somebody else waits for already. An
// error is an answer for those who wait, and not kept.
func (a *lookups) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	now := time.Now()
	a.mu.Lock()
	got := a.list[host]
	if got == nil || !got.until.IsZero() && now.After(got.until) {
		a.makeRoom(now)
		got = &lookedUp{done: make(chan struct{})}
		a.list[host] = got
		// It goes on when the connection that asked first is gone: others may wait for it.
		go a.fill(context.WithoutCancel(ctx), host, got)
	}
	a.mu.Unlock()
	select {
	case <-got.done:
		return slices.Clone(got.addrs), got.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (a *lookups) fill(ctx context.Context, host string, got *lookedUp) {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	got.addrs, got.err = a.ask(ctx, host)
	a.mu.Lock()
	defer a.mu.Unlock()
	got.until = time.Now().Add(lookupTime)
	if got.err != nil && a.list[host] == got {
		delete(a.list, host)
	}
	close(got.done)
}

// makeRoom forgets what is old, or everything that is known.
func (a *lookups) makeRoom(now time.Time) {
	if len(a.list) < maxLookups {
		return
	}
	for host, got := range a.list {
		if !got.until.IsZero() && now.After(got.until) {
			delete(a.list, host)
		}
	}
	if len(a.list) >= maxLookups {
		clear(a.list)
	}
}
