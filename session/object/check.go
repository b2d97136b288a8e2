package object

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/session"
)

// Check implements [session.Checker]: it checks that the bucket still contains the store.
func (s *Store) Check(ctx context.Context) error {
	_, err := s.bucket.get(ctx, formatKey, 0)
	if errors.Is(err, errMissing) {
		err = &session.Error{
			Err: session.ErrPoisoned, Detail: s.url + ": the store was removed", Hint: "restore the bucket, or restart to create a new store",
		}
	}
	return s.explain(ctx, "check store", "", err)
}
