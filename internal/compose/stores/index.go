package stores

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/session/search"
	"github.com/holdfast-dev/holdfast/session"
)

// Search searches a store with its own index, or with one in the home folder, which is updated
// first. If plain is true, an encrypted store may have an index too.
func Search(ctx context.Context, e *env.Env, ref Ref, store session.Store, q session.Search, plain bool) (*session.Hits, error) {
	s, done, err := searcher(ctx, e, ref, store, plain)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := s.Index(ctx); err != nil {
		return nil, err
	}
	return s.Search(ctx, q)
}

// searcher returns the store's own index, or else the index in this home folder. done closes it.
func searcher(ctx context.Context, e *env.Env, ref Ref, store session.Store, plain bool) (s session.Searcher, done func(), err error) {
	if ref.Encrypted && !plain {
		return nil, nil, &outcome.Failure{
			Message: "the index of an encrypted store would contain its words unencrypted", Result: outcome.Usage, Cause: session.ErrUnsupported,
			Advice: "use --plain-index to allow that",
		}
	}
	if s, ok := session.As[session.Searcher](store); ok && !ref.Encrypted {
		return s, func() {}, nil
	}
	path, err := LocalDir(e, ref, "index")
	if err != nil {
		return nil, nil, err
	}
	if ref.Encrypted { // without the key the index cannot read the store, and must not record it as empty
		path += "-opened"
	}
	x, err := search.Open(ctx, path+".db", store)
	if err != nil {
		return nil, nil, err
	}
	return x, func() {
		if err := x.Close(); err != nil {
			e.Warn("close the index: %v", err)
		}
	}, nil
}
