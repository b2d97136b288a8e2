package hook

import (
	"maps"
	"slices"
)

// table is an immutable set of entries.
type table struct {
	all []*entry
	by  map[Event][]*entry
}

// with returns the table with entries appended.
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

// remove removes an entry that may run only once. It is called just before the entry runs.
func (r *Registry) remove(done *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.table.Load()
	without := func(list []*entry) []*entry {
		return slices.DeleteFunc(slices.Clone(list), func(e *entry) bool { return e == done })
	}
	next := &table{all: without(t.all), by: maps.Clone(t.by)}
	next.by[done.Event] = without(t.by[done.Event])
	r.table.Store(next)
}

func (r *Registry) of(e Event) []*entry {
	if t := r.table.Load(); t != nil {
		return t.by[e]
	}
	return nil
}
