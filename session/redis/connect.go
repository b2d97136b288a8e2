package redis

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// client are the settings of a connection to one server. The store tries again by
// itself: it knows what may be done twice.
func (s *Store) client(t *tls.Config) *redis.Options {
	return &redis.Options{
		Network: s.network, Addr: s.addr, Username: s.user, Password: s.password, DB: s.number, TLSConfig: t,
		Protocol: 2, DisableIdentity: true, ContextTimeoutEnabled: true, OnConnect: s.admit,
		MaxRetries: -1, DialerRetries: 1, DialTimeout: s.timeout, ReadTimeout: s.patience(), WriteTimeout: s.patience(),
		Dialer: s.dialer(t), MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// cluster are those to a cluster, which may send on to another of its servers.
func (s *Store) cluster(t *tls.Config) *redis.ClusterOptions {
	c := s.client(t)
	return &redis.ClusterOptions{
		Addrs: []string{c.Addr}, Username: c.Username, Password: c.Password, TLSConfig: t,
		Protocol: c.Protocol, DisableIdentity: true, ContextTimeoutEnabled: true, OnConnect: c.OnConnect,
		MaxRedirects: 3, DialerRetries: 1, DialTimeout: c.DialTimeout, ReadTimeout: c.ReadTimeout, WriteTimeout: c.WriteTimeout,
		Dialer: c.Dialer, MaintNotificationsConfig: c.MaintNotificationsConfig,
	}
}

// patience is a little more than the store's own, so that a server may say itself that
// it took too long.
func (s *Store) patience() time.Duration { return s.timeout + time.Second }

// dialer makes connections. The client library writes to the standard error when that
// fails; so what fails is a connection that has failed already, and the error comes back
// to the caller only.
func (s *Store) dialer(t *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		plain := &net.Dialer{Timeout: s.timeout, KeepAlive: 30 * time.Second}
		if t == nil {
			return born(plain.DialContext(ctx, network, addr)), nil
		}
		return born((&tls.Dialer{NetDialer: plain, Config: t}).DialContext(ctx, network, addr)), nil
	}
}

func born(c net.Conn, err error) net.Conn {
	if err != nil {
		return &stillborn{err: err}
	}
	return c
}

// stillborn is a connection that was never made.
type stillborn struct {
	net.Conn
	err error
}

func (c *stillborn) Read([]byte) (int, error)         { return 0, c.err }
func (c *stillborn) Write([]byte) (int, error)        { return 0, c.err }
func (c *stillborn) Close() error                     { return nil }
func (c *stillborn) LocalAddr() net.Addr              { return &net.UnixAddr{} }
func (c *stillborn) RemoteAddr() net.Addr             { return &net.UnixAddr{} }
func (c *stillborn) SetDeadline(time.Time) error      { return nil }
func (c *stillborn) SetReadDeadline(time.Time) error  { return nil }
func (c *stillborn) SetWriteDeadline(time.Time) error { return nil }
