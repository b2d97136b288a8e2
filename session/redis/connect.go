package redis

import (
	"crypto/tls"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis"
)

// clientOptions returns the settings of a connection to one server. The store retries by itself,
// because it knows what is safe to repeat.
func (s *Store) clientOptions(t *tls.Config) redis.Options {
	return redis.Options{
		Network: s.network, Addr: s.addr, User: s.user, Password: s.password, Database: s.number, TLS: t,
		Dial: s.timeout, Timeout: s.patience(), Admit: s.admit,
	}
}

// patience is slightly longer than the store's timeout, so that the server can report its own
// timeout first.
func (s *Store) patience() time.Duration { return s.timeout + time.Second }
