package redis

import (
	"crypto/tls"
	"time"

	"github.com/holdfast-dev/holdfast/internal/redis"
)

// client are the settings of a connection to one server. The store tries again by
// itself: it knows what may be done twice.
func (s *Store) client(t *tls.Config) redis.Options {
	return redis.Options{
		Network: s.network, Addr: s.addr, User: s.user, Password: s.password, Database: s.number, TLS: t,
		Dial: s.timeout, Timeout: s.patience(), Admit: s.admit,
	}
}

// patience is a little more than the store's own, so that a server may say itself that
// it took too long.
func (s *Store) patience() time.Duration { return s.timeout + time.Second }
