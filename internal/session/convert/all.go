package convert

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/holdfast-dev/holdfast/session"
)

// maxParallel is the maximum number of sources imported at the same time.
const maxParallel = 4

// ImportAll imports sources, several at a time, and calls done with their reports in the order
// of the sources. When ctx ends, or done returns false, it finishes the imports in progress
// and starts no others. o.Progress is called from several goroutines.
//
// The returned error is the error of ctx. The error of a single source is passed to done.
func ImportAll(ctx context.Context, to *session.Sessions, sources []Source, o *Options, done func(*Report, error) bool) error {
	type result struct {
		rep *Report
		err error
	}
	var (
		whole   = context.WithoutCancel(ctx)
		results = make([]chan result, len(sources))
		begin   = make(chan int)
		stop    = make(chan struct{})
		workers sync.WaitGroup
		records sync.Mutex // files with Holdfast's own records may share a parent session
	)
	for i := range results {
		results[i] = make(chan result, 1)
	}
	for range min(maxParallel, 2*runtime.GOMAXPROCS(0), len(sources)) {
		workers.Go(func() {
			for i := range begin {
				if sources[i].Format == JSONL {
					records.Lock()
				}
				rep, err := Import(whole, to, sources[i], o)
				if sources[i].Format == JSONL {
					records.Unlock()
				}
				results[i] <- result{rep, err}
			}
		})
	}
	workers.Go(func() {
		defer close(begin)
		for i := range sources {
			if ctx.Err() != nil {
				close(results[i])
				return
			}
			select {
			case begin <- i:
			case <-stop:
				return
			case <-ctx.Done():
				close(results[i])
				return
			}
		}
	})
	defer workers.Wait()
	defer close(stop)
	for i := range sources {
		r, ok := <-results[i]
		if !ok {
			break
		}
		if errors.Is(r.err, session.ErrExists) || errors.Is(r.err, session.ErrBusy) || errors.Is(r.err, session.ErrConflict) {
			r.rep, r.err = Import(whole, to, sources[i], o) // two files of the same session were imported at the same time
		}
		if !done(r.rep, r.err) {
			break
		}
	}
	return ctx.Err()
}
