package redis_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	client "github.com/redis/go-redis/v9"

	"github.com/holdfast-dev/holdfast/internal/missing"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/redis"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
)

func TestStore(t *testing.T) {
	sessiontest.Run(t, func(t testing.TB) session.Store { return fresh(t) }, sessiontest.Caps{
		Reopen: func(t testing.TB, s session.Store) session.Store { return open(t, s.(*opened).url) },
		Corrupt: func(t testing.TB, s session.Store, id string, seq int64) {
			url := s.(*opened).url
			key, c := base(t, url)+"records:"+id, raw(t, url)
			record, err := c.LIndex(ctx, key, seq-1).Result()
			if err != nil {
				t.Fatal(err)
			}
			if seq%2 == 0 {
				record = record[:len(record)-2] + "XX"
			} else {
				record = "X"
			}
			if err := c.LSet(ctx, key, seq-1, record).Err(); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// A cluster of one server: all keys of a store are in one slot.
func TestCluster(t *testing.T) {
	i, url := cluster(t)
	c := raw(t, i.url)
	if err := c.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for ok := false; !ok; {
		info, err := c.ClusterInfo(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		ok = strings.Contains(info, "cluster_state:ok")
	}
	sessiontest.Run(t, func(t testing.TB) session.Store { return open(t, placeOn(t, url)) }, sessiontest.Caps{
		Reopen: func(t testing.TB, s session.Store) session.Store { return open(t, s.(*opened).url) },
		Slow:   true,
	})
	_, err := redis.Open(ctx, url+"?durability=wait", nil)
	if !errors.Is(err, session.ErrUnsupported) {
		t.Error(err)
	}
}

var ctx = context.Background()

// opened is a store that knows its URL.
type opened struct {
	*redis.Store
	url string
}

func open(t testing.TB, url string) *opened {
	t.Helper()
	s, err := redis.Open(ctx, url, nil)
	if err != nil {
		t.Fatal(err, session.Hint(err))
	}
	t.Cleanup(func() { s.Close() })
	return &opened{s, url}
}

// server is the URL of the server that scripts/services has started.
func server(t testing.TB) string {
	t.Helper()
	u := os.Getenv("HOLDFAST_TEST_REDIS")
	if u == "" {
		missing.Skip(t, `HOLDFAST_TEST_REDIS names no server: eval "$(scripts/services start redis)"`)
	}
	return u
}

// place is the URL of a store that is not there yet, with a prefix of its own.
func place(t testing.TB) string {
	t.Helper()
	return placeOn(t, server(t))
}

func placeOn(t testing.TB, server string) string {
	t.Helper()
	prefix := "test-" + rand.Text() + ":"
	t.Cleanup(func() { sweep(t, server, prefix) })
	return server + "?prefix=" + url.QueryEscape(prefix)
}

func fresh(t testing.TB) *opened {
	t.Helper()
	return open(t, place(t))
}

// raw is a plain client of the server behind a URL.
func raw(t testing.TB, rawURL string) *client.Client {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	opt := &client.Options{Addr: u.Host, MaxRetries: -1}
	if u.Scheme == "unix" {
		opt.Network, opt.Addr = "unix", u.Path
	}
	opt.Username = u.User.Username()
	opt.Password, _ = u.User.Password()
	c := client.NewClient(opt)
	t.Cleanup(func() { c.Close() })
	return c
}

// base is what the keys behind a URL begin with.
func base(t testing.TB, rawURL string) string {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return "{" + u.Query().Get("prefix") + "}"
}

func sweep(t testing.TB, server, prefix string) {
	c := raw(t, server)
	keys, err := c.Keys(ctx, "{"+strings.NewReplacer("[", `\[`).Replace(prefix)+"}*").Result()
	if err == nil && len(keys) > 0 {
		err = c.Unlink(ctx, keys...).Err()
	}
	if err != nil && !strings.Contains(err.Error(), "connect") {
		t.Log(err)
	}
}
