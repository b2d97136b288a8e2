package encrypted

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"sync"

	"filippo.io/age"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// dataKey encrypts the records of many sessions.
type dataKey struct {
	id      string
	secret  []byte
	wrapped []byte // the wrapped key as it is stored; nil until the key is wrapped
	mark    []byte // stored next to the wrapped key, see [Key.made]
}

func newDataKey() *dataKey {
	k := &dataKey{secret: make([]byte, 32)}
	_, _ = rand.Read(k.secret) // never fails
	k.id = keyID(k.secret)
	return k
}

// keyID returns the id of a data key, which does not reveal the key.
func keyID(secret []byte) string {
	sum := session.Digest(sha256.Sum256(append([]byte("holdfast data key\n"), secret...)))
	return hex.EncodeToString(sum[:8])
}

// wrap encrypts a data key for the recipients.
func wrap(secret []byte, to []age.Recipient) ([]byte, error) {
	var b bytes.Buffer
	w, err := age.Encrypt(&b, to...)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(secret); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// unwrap decrypts a data key. Its id must match the record's.
func (k *Key) unwrap(s *record.Sealed) (*dataKey, error) {
	r, err := age.Decrypt(bytes.NewReader(s.Wrapped), k.identities...)
	if err != nil {
		return nil, err
	}
	secret, err := io.ReadAll(io.LimitReader(r, 33))
	if err != nil {
		return nil, err
	}
	if len(secret) != 32 || keyID(secret) != s.Key {
		return nil, errors.New("the data key does not match the record")
	}
	return &dataKey{id: s.Key, secret: secret, wrapped: s.Wrapped, mark: s.Mark}, nil
}

// keyCache contains the known data keys and the data key of each known session.
type keyCache struct {
	key *Key

	mu      sync.Mutex
	keys    map[string]*dataKey
	refused map[string]error  // data keys that the key cannot decrypt
	of      map[string]string // session id to data key id
	current *dataKey          // for new sessions
}

func newKeyCache(k *Key) *keyCache {
	return &keyCache{key: k, keys: map[string]*dataKey{}, refused: map[string]error{}, of: map[string]string{}}
}

// maxCachedSessions is the maximum number of sessions in the cache.
const maxCachedSessions = 4096

// get returns a known data key.
func (r *keyCache) get(id string) *dataKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys[id]
}

// known returns the data key of a session if it is known.
func (r *keyCache) known(session string) *dataKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keys[r.of[session]]
}

func (r *keyCache) note(session, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.of) >= maxCachedSessions {
		clear(r.of)
	}
	r.of[session] = key
}

// forget makes the next use of a session read its first record again: the session may have been
// deleted and recreated.
func (r *keyCache) forget(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, session)
}

// open unwraps the data key of a first record.
func (r *keyCache) open(s *record.Sealed) (*dataKey, error) {
	if k := r.get(s.Key); k != nil {
		return k, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock() // decrypting with a passphrase is slow, so other callers wait for this result
	if k := r.keys[s.Key]; k != nil {
		return k, nil
	}
	if err := r.refused[s.Key]; err != nil {
		return nil, err
	}
	k, err := r.key.unwrap(s)
	if err != nil {
		err = &session.Error{
			Op: "unwrap data key " + s.Key, Err: session.ErrSealed, Detail: r.key.from + " cannot decrypt it: " + err.Error(),
			Hint: "open the store with the key it was written with",
		}
		r.refused[s.Key] = err
		return nil, err
	}
	r.keys[k.id] = k
	return k, nil
}

// use makes k the data key for new sessions.
func (r *keyCache) use(k *dataKey) error {
	if k.wrapped == nil {
		w, err := wrap(k.secret, r.key.recipients)
		if err != nil {
			return bad("wrap data key", err, "")
		}
		k.wrapped = w
		k.mark = r.key.mark(k)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys[k.id], r.current = k, k
	return nil
}

// newKey returns the data key for new sessions.
func (r *keyCache) newKey() *dataKey {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

// keyOf reads the data key of a session from its first record, or returns nil if the session has no
// record.
func (s *Store) keyOf(ctx context.Context, id string) (*dataKey, error) {
	if k := s.keys.known(id); k != nil {
		return k, nil
	}
	for rec, err := range s.inner.Read(ctx, id, session.Range{Limit: 1}) {
		if err != nil {
			return nil, err
		}
		box, err := readFirst(id, &rec)
		if err != nil {
			return nil, err
		}
		k, err := s.keys.open(box)
		if err != nil {
			return nil, named(err, id)
		}
		s.keys.note(id, k.id)
		return k, nil
	}
	return nil, nil
}

// readFirst decodes the encrypted payload of a first record.
func readFirst(id string, rec *session.Record) (*record.Sealed, error) {
	if !record.IsSealed(rec.Payload) {
		return nil, &session.Error{
			Op: "read", Session: id, Seq: rec.Seq, Err: session.ErrUnsupported, Detail: "the session is not encrypted",
			Hint: "copy the plain store into a new encrypted one: holdfast store copy FROM TO",
		}
	}
	box, err := record.ReadSealed(rec.Payload)
	if err == nil && (rec.Kind != record.KindOpened || len(box.Wrapped) == 0) {
		err = errors.New("the first record has no data key")
	}
	if err != nil {
		return nil, damaged(id, rec.Seq, err.Error())
	}
	return box, nil
}

func named(err error, id string) error {
	if e, ok := errors.AsType[*session.Error](err); ok && e.Session == "" {
		n := *e
		n.Session = id
		return &n
	}
	return err
}

func damaged(id string, seq int64, detail string) error {
	return &session.Error{Op: "open sealed record", Session: id, Seq: seq, Err: session.ErrCorrupt, Detail: detail, Hint: "holdfast sessions verify " + id}
}
