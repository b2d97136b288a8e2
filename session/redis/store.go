package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis"
	"github.com/holdfast-dev/holdfast/session"
)

// Options are the options of [Open]. The zero value works.
type Options struct {
	// Timeout is how long to wait for a server that does not answer or cannot be reached; default
	// 10 s.
	Timeout time.Duration
	// TLS is used with rediss: URLs; nil checks the server's certificate against the
	// system's authorities.
	TLS *tls.Config
}

// Store is a [session.Store] on a Redis server, with all optional interfaces except
// [session.Recoverer], which the server does itself, and [session.Searcher]. It is safe for
// concurrent use, also by several processes. The caller of Open closes it.
type Store struct {
	target
	timeout    time.Duration
	base       string // prefix of all keys
	db         *redis.Client
	subscriber subscriber

	mu     sync.Mutex
	closed chan struct{}
	ops    sync.WaitGroup // calls in progress; mu is held to add one
}

var (
	_ session.Store     = (*Store)(nil)
	_ session.Leaser    = (*Store)(nil)
	_ session.Deleter   = (*Store)(nil)
	_ session.Eraser    = (*Store)(nil)
	_ session.Rebuilder = (*Store)(nil)
	_ session.Watcher   = (*Store)(nil)
)

// Open opens the store of a URL and creates it if there is none:
//
//	redis://user:password@host:6379/0?prefix=holdfast:
//	rediss://host:6380
//	unix:///run/redis/redis.sock?db=1
//
// prefix distinguishes several stores on a server. durability sets what the server must guarantee,
// and rewrite=off makes Erase leave out the rewrite; see the package comment.
//
// Errors are [*session.Error] values with a hint: ErrInvalid for an invalid URL, ErrUnsupported
// for a server that is too old or may lose acknowledged writes, ErrReadOnly for a replica,
// ErrNewer for data of a later version, ErrCorrupt for keys of another program. Errors never
// contain the password.
func Open(ctx context.Context, url string, o *Options) (*Store, error) {
	t, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	s := &Store{target: t, timeout: 10 * time.Second, base: "{" + t.prefix + "}", closed: make(chan struct{})}
	var tlsConfig *tls.Config
	if t.tls {
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if o != nil {
		if o.Timeout > 0 {
			s.timeout = o.Timeout
		}
		if o.TLS != nil && t.tls {
			tlsConfig = o.TLS.Clone()
		}
	}
	s.db = redis.New(s.clientOptions(tlsConfig))
	err = s.createIfMissing(ctx)
	if errors.Is(err, errCluster) {
		_ = s.db.Close()
		o := s.clientOptions(tlsConfig)
		o.Key, o.Database = s.base+"format", 0 // a cluster has one database
		s.db = redis.New(o)
		err = s.createIfMissing(ctx)
	}
	if err != nil {
		_ = s.db.Close()
		return nil, err
	}
	s.subscriber.start(s)
	return s, nil
}

// Close ends calls in progress and closes the connections. Later calls do nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	select {
	case <-s.closed:
		s.mu.Unlock()
		s.ops.Wait()
		return nil
	default:
	}
	close(s.closed)
	s.mu.Unlock()
	s.subscriber.stop()
	err := s.db.Close()
	s.ops.Wait()
	if err != nil {
		return s.translate("close store", "", err)
	}
	return nil
}

// enter registers a call in progress, which Close waits for.
func (s *Store) enter(op, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return s.closedError(op, id)
	default:
		s.ops.Add(1)
		return nil
	}
}

func (s *Store) closedError(op, id string) error {
	return &session.Error{Op: op, Session: id, Err: session.ErrClosed, Detail: s.shown}
}
