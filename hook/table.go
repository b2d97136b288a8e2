package hook

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// registry is what is inside a [Registry]: a table that is replaced as a whole, so
// that firing takes no lock while it runs hooks.
type registry struct {
	o     Options
	table atomic.Pointer[table]

	mu     sync.Mutex // of what follows, and of replacing the table
	end    context.Context
	cancel context.CancelFunc
	closed bool
	firing sync.WaitGroup // firings, and hooks that nobody waits for
	said   []Outcome      // see Late
}

// table is immutable.
type table struct {
	all []*entry
	by  map[Event][]*entry
}

func newRegistry(o *Options) *Registry {
	r := &Registry{}
	if o != nil {
		r.o = *o
	}
	r.end, r.cancel = context.WithCancel(context.Background())
	return r
}

func (r *registry) register(list []Definition) error {
	added := make([]*entry, len(list))
	for i, d := range list {
		e, err := r.newEntry(d)
		if err != nil {
			return placed(err, i, len(list))
		}
		added[i] = e
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.table.Store(r.table.Load().with(added))
	return nil
}

// placed says which of several definitions an error is about.
func placed(err error, i, of int) error {
	var e *Error
	if of == 1 || !errors.As(err, &e) {
		return err
	}
	at := *e
	at.Field = "[" + strconv.Itoa(i) + "]"
	if e.Field != "" {
		at.Field += "." + e.Field
	}
	return &at
}

// with is the table with entries added at its end.
func (t *table) with(added []*entry) *table {
	next := &table{by: map[Event][]*entry{}}
	if t != nil {
		next.all, next.by = t.all, maps.Clone(t.by)
	}
	next.all = slices.Concat(next.all, added)
	fresh := map[Event]bool{}
	for _, e := range added {
		if !fresh[e.Event] {
			fresh[e.Event] = true
			next.by[e.Event] = slices.Clone(next.by[e.Event])
		}
		next.by[e.Event] = append(next.by[e.Event], e)
	}
	return next
}

// remove takes out an entry that has had its one run.
func (r *registry) remove(gone *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.table.Load()
	without := func(list []*entry) []*entry {
		return slices.DeleteFunc(slices.Clone(list), func(e *entry) bool { return e == gone })
	}
	next := &table{all: without(t.all), by: maps.Clone(t.by)}
	next.by[gone.Event] = without(t.by[gone.Event])
	r.table.Store(next)
}

func (r *registry) of(e Event) []*entry {
	if t := r.table.Load(); t != nil {
		return t.by[e]
	}
	return nil
}

func (r *registry) has(e Event) bool { return len(r.of(e)) > 0 }

func (r *registry) hooks() []Definition {
	t := r.table.Load()
	if t == nil {
		return nil
	}
	list := make([]Definition, len(t.all))
	for i, e := range t.all {
		list[i] = e.Definition
		list[i].Timeout = e.limit
	}
	return list
}

// enter counts a firing; false when the registry has been closed.
func (r *registry) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.firing.Add(1)
	}
	return !r.closed
}

// life ends when the registry is closed.
func (r *registry) life() context.Context {
	if r.end == nil {
		return context.Background()
	}
	return r.end
}

func (r *registry) done() bool { return r.life().Err() != nil }

func (r *registry) now() time.Time {
	if r.o.Clock != nil {
		return r.o.Clock()
	}
	return time.Now()
}

func (r *registry) close() error {
	r.mu.Lock()
	again := r.closed
	r.closed = true
	r.mu.Unlock()
	if r.cancel != nil {
		r.cancel()
	}
	var err error
	if c, ok := r.o.Runner.(io.Closer); ok && !again {
		err = c.Close()
	}
	r.firing.Wait()
	return err
}
