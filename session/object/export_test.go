package object

import (
	"context"
	"time"
)

// SetTimes changes how long a client relies on its cached end of a log, and how long slots are
// kept.
func (s *Store) SetTimes(headTTL, slotTTL time.Duration) { s.headTTL, s.slotTTL = headTTL, slotTTL }

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

// Fold folds the small objects of a session.
func (s *Store) Fold(id string) error {
	h, err := s.handle(id)
	if err != nil {
		return err
	}
	return h.fold(s.ctx)
}

// Keys lists the objects below the store's prefix, with their sizes.
func (s *Store) Keys() (map[string]int64, error) {
	keys := map[string]int64{}
	for o, err := range s.bucket.list(s.ctx, "", "") {
		if err != nil {
			return nil, err
		}
		keys[o.key] = o.size
	}
	return keys, nil
}

// Put writes an object below the store's prefix, Get reads one.
func (s *Store) Put(key string, body []byte) error { return s.bucket.put(s.ctx, key, body) }

// Get reads an object below the store's prefix.
func (s *Store) Get(key string) ([]byte, error) {
	o, err := s.bucket.get(s.ctx, key, 0)
	return o.body, err
}

// ParseRecords is for fuzzing.
var ParseRecords = parseRecords

// AppendRecords is for fuzzing.
var AppendRecords = appendRecords

// NameOf is how an id is written in keys.
var NameOf = nameOf

// DecodeEntry is for fuzzing.
func DecodeEntry(b []byte) error {
	_, _, err := decodeEntry(b)
	return err
}

// FoldWith is Fold under a context.
func (s *Store) FoldWith(ctx context.Context, id string) error {
	h, err := s.handle(id)
	if err != nil {
		return err
	}
	return h.fold(ctx)
}

// Settle waits for what goes on in the background.
func (s *Store) Settle() { s.running.Wait() }
