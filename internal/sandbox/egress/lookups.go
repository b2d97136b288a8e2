package egress

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// These say how long a name server's answer is reused, and how many answers are kept. A package
// manager opens hundreds of connections to one host in seconds, and some name servers limit
// queries. The address of each connection is still checked.
const (
	lookupTime = 30 * time.Second
	maxLookups = 256
)

// lookups queries a name server once for many connections.
type lookups struct {
	ask func(ctx context.Context, host string) ([]netip.Addr, error)

	mu   sync.Mutex
	list map[string]*cachedLookup
}

type cachedLookup struct {
	done  chan struct{} // closed when the other fields are set
	addrs []netip.Addr
	err   error
	until time.Time
}

func newLookups(ask func(ctx context.Context, host string) ([]netip.Addr, error)) *lookups {
	return &lookups{ask: ask, list: map[string]*cachedLookup{}}
}

// resolve returns the addresses of host. If a query for it is already running, it waits for that
// query. An error is returned to all waiting callers and is not cached.
func (a *lookups) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	now := time.Now()
	a.mu.Lock()
	got := a.list[host]
	if got == nil || !got.until.IsZero() && now.After(got.until) {
		a.makeRoom(now)
		got = &cachedLookup{done: make(chan struct{})}
		a.list[host] = got
		// The query continues if the connection that started it closes: others may wait for it.
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

func (a *lookups) fill(ctx context.Context, host string, got *cachedLookup) {
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

// makeRoom removes old answers, or all answers.
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
