package object

import "time"

// SetTimes changes how long what a client knows is good for, and how long slots are kept.
func (s *Store) SetTimes(fresh, kept time.Duration) { s.fresh, s.kept = fresh, kept }

// EmptyBucket removes everything below the store's prefix.
func (s *Store) EmptyBucket() error {
	var keys []string
	for o, err := range s.bucket.list(s.ctx, "", "") {
		if err != nil {
			return err
		}
		keys = append(keys, o.key)
	}
	return s.bucket.remove(s.ctx, keys)
}
