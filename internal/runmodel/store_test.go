package runmodel

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/session"
)

// place is where the logs are.
type place interface {
	// open is a handle as a process has one.
	open(t *rapid.T) session.Store
	// close gives it back; the sessions with these ids can go, forks first.
	close(t *rapid.T, s session.Store, ids []string)
	// quick says that all logs can be read after every step.
	quick() bool
}

// errKilled is what a process that was killed hears of everything. Nothing is tried again.
var errKilled = fmt.Errorf("the program was killed: %w", session.ErrClosed)

// processStore is a store as one process has it: when that is killed nothing is written any
// more, and nothing is answered.
type processStore struct {
	session.Store
	p *process

	mu      sync.Mutex
	leases  map[string]session.Lease // that the process has
	armed   int                      // appends until the kill; 0: none
	applied bool                     // the last append is on disk, and nobody hears of it
}

func (m *processStore) Unwrap() session.Store { return m.Store }

func (m *processStore) alive() error {
	if m.p.dead.Load() {
		return errKilled
	}
	return nil
}

func (m *processStore) Append(ctx context.Context, id string, b session.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.alive(); err != nil {
		return err
	}
	if m.armed > 0 {
		if m.armed--; m.armed == 0 {
			if m.applied {
				_ = m.Store.Append(ctx, id, b) // and the answer is lost
			}
			m.p.kill()
			return errKilled
		}
	}
	return m.Store.Append(ctx, id, b)
}

func (m *processStore) Read(ctx context.Context, id string, r session.Range) iter.Seq2[session.Record, error] {
	if err := m.alive(); err != nil {
		return func(yield func(session.Record, error) bool) { yield(session.Record{}, err) }
	}
	return m.Store.Read(ctx, id, r)
}

func (m *processStore) List(ctx context.Context, q session.Query) (session.Page, error) {
	if err := m.alive(); err != nil {
		return session.Page{}, err
	}
	return m.Store.List(ctx, q)
}

func (m *processStore) Acquire(ctx context.Context, id string, h session.Lease, steal func(session.Lease) bool) (session.Lease, error) {
	if err := m.alive(); err != nil {
		return session.Lease{}, err
	}
	leaser, _ := session.As[session.Leaser](m.Store)
	l, err := leaser.Acquire(ctx, id, h, steal)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.leases == nil {
			m.leases = map[string]session.Lease{}
		}
		m.leases[id] = l
	}
	return l, err
}

// expire ends the leases of a process that is gone.
func (m *processStore) expire() {
	leaser, _ := session.As[session.Leaser](m.Store)
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, l := range m.leases {
		_ = leaser.Release(ctx, id, l)
	}
}

func (m *processStore) Renew(ctx context.Context, id string, l session.Lease) error {
	if err := m.alive(); err != nil {
		return err
	}
	leaser, _ := session.As[session.Leaser](m.Store)
	return leaser.Renew(ctx, id, l)
}

func (m *processStore) Held(ctx context.Context, id string) (*session.Lease, error) {
	leaser, _ := session.As[session.Leaser](m.Store)
	return leaser.Held(ctx, id)
}

func (m *processStore) Release(ctx context.Context, id string, l session.Lease) error {
	if err := m.alive(); err != nil {
		return err
	}
	leaser, _ := session.As[session.Leaser](m.Store)
	return leaser.Release(ctx, id, l)
}

func (m *processStore) Erase(ctx context.Context, id string, epoch int64, seqs []int64) error {
	if err := m.alive(); err != nil {
		return err
	}
	e, _ := session.As[session.Eraser](m.Store)
	return e.Erase(ctx, id, epoch, seqs)
}
