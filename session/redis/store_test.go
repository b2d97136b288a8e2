package redis_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	client "github.com/holdfast-dev/holdfast/internal/redis"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/redis"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
)

func TestStore(t *testing.T) {
	sessiontest.Run(t, func(t testing.TB) session.Store { return fresh(t) }, sessiontest.Capabilities{
		Reopen: func(t testing.TB, s session.Store) session.Store { return open(t, s.(*opened).url) },
		Corrupt: func(t testing.TB, s session.Store, id string, seq int64) {
			url := s.(*opened).url
			key, c := base(t, url)+"records:"+id, raw(t, url)
			record, err := c.text("LINDEX", key, seq-1)
			if err != nil {
				t.Fatal(err)
			}
			if seq%2 == 0 {
				record = record[:len(record)-2] + "XX"
			} else {
				record = "X"
			}
			if err := c.do("LSET", key, seq-1, record); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// A cluster of one server: all keys of a store are in one slot.
func TestCluster(t *testing.T) {
	i, url := cluster(t)
	c := raw(t, i.url)
	if err := c.do("CLUSTER", "ADDSLOTSRANGE", 0, 16383); err != nil {
		t.Fatal(err)
	}
	for ok := false; !ok; {
		info, err := c.text("CLUSTER", "INFO")
		if err != nil {
			t.Fatal(err)
		}
		ok = strings.Contains(info, "cluster_state:ok")
	}
	sessiontest.Run(t, func(t testing.TB) session.Store { return open(t, newURLOn(t, url)) }, sessiontest.Capabilities{
		Reopen: func(t testing.TB, s session.Store) session.Store { return open(t, s.(*opened).url) },
		Slow:   true,
	})
	_, err := redis.Open(ctx, url+"?durability=wait", nil)
	if !errors.Is(err, session.ErrUnsupported) {
		t.Error(err)
	}
}

// A store is opened by way of any server of a cluster, and is followed when its slot moves
// to another one while it is open.
func TestClusterSlotMoves(t *testing.T) {
	servers, urls := clusterOf(t, 3)
	place := newURLOn(t, urls[0])
	_, query, _ := strings.Cut(place, "?")
	var stores []*opened
	for _, u := range urls {
		stores = append(stores, open(t, u+"?"+query))
	}
	a := create(t, stores[0], session.Opened{SessionID: "s"})
	watched, seen := make(chan int64), a.head
	go func() {
		defer close(watched)
		for head, err := range stores[2].Watch(t.Context(), "s", seen) {
			if err != nil {
				return
			}
			watched <- head
		}
	}()
	slot := client.Slot(base(t, place))
	from := slot * 3 / 16384
	for round := range 4 {
		a.store = stores[round%3]
		a.add(a.note("before"))
		if head := <-watched; head != a.head {
			t.Errorf("the watcher hears of %d, want %d", head, a.head)
		}
		to := (from + 1) % 3
		moveSlot(t, servers, urls, slot, from, to)
		for _, s := range stores {
			a.store = s
			a.add(a.note("after"))
		}
		for head := range watched {
			if head == a.head {
				break
			}
		}
		for _, s := range stores {
			if head := check(t, s, "s"); head != a.head {
				t.Errorf("head %d, want %d", head, a.head)
			}
		}
		from = to
	}
}

// A store is opened by way of a replica. The master dies and the replica takes over: the
// same store goes on.
func TestClusterMasterDies(t *testing.T) {
	master, first := cluster(t)
	replica, place := cluster(t)
	m, r := raw(t, master.url), raw(t, replica.url)
	at, err := url.Parse(first)
	if err != nil {
		t.Fatal(err)
	}
	id, err := m.text("CLUSTER", "MYID")
	if err == nil {
		err = m.do("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
	}
	if err == nil {
		err = m.do("CONFIG", "SET", "repl-diskless-sync-delay", 0)
	}
	if err == nil {
		err = r.do("CLUSTER", "MEET", at.Hostname(), at.Port(), master.args[len(master.args)-1])
	}
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, func() bool { return r.do("CLUSTER", "REPLICATE", id) == nil }) // when they have met
	waitUntil(t, func() bool {
		info, err := r.text("INFO", "replication")
		return err == nil && strings.Contains(info, "master_link_status:up")
	})
	s := open(t, place)
	a := create(t, s, session.Opened{SessionID: "s"})
	a.add(a.note("before"))
	if err := m.do("WAIT", 1, 0); err != nil {
		t.Fatal(err)
	}
	master.kill()
	waitUntil(t, func() bool { return r.do("CLUSTER", "FAILOVER", "TAKEOVER") == nil })
	a.add(a.note("after"))
	check(t, s, "s")
}

// waitUntil waits for something that servers settle among themselves.
func waitUntil(t testing.TB, done func() bool) {
	t.Helper()
	for deadline := time.After(time.Minute); !done(); {
		select {
		case <-deadline:
			t.Fatal("it took too long")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// moveSlot gives a slot with all its keys to another server of a cluster.
func moveSlot(t testing.TB, servers []*instance, urls []string, slot, from, to int) {
	t.Helper()
	old, now := raw(t, servers[from].url), raw(t, servers[to].url)
	id := func(b bare) string {
		s, err := b.text("CLUSTER", "MYID")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(now.do("CLUSTER", "SETSLOT", slot, "IMPORTING", id(old)))
	must(old.do("CLUSTER", "SETSLOT", slot, "MIGRATING", id(now)))
	found, err := old.Do(ctx, "CLUSTER", "GETKEYSINSLOT", slot, 1000)
	must(err)
	keys, _ := found.([]any)
	at, err := url.Parse(urls[to])
	must(err)
	must(old.do(append([]any{"MIGRATE", at.Hostname(), at.Port(), "", 0, 10_000, "KEYS"}, keys...)...))
	must(now.do("CLUSTER", "SETSLOT", slot, "NODE", id(now)))
	must(old.do("CLUSTER", "SETSLOT", slot, "NODE", id(now)))
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
		testneed.Need(t, `HOLDFAST_TEST_REDIS names no server: eval "$(scripts/services start redis)"`)
	}
	return u
}

// newURL is the URL of a store that is not there yet, with a prefix of its own.
func newURL(t testing.TB) string {
	t.Helper()
	return newURLOn(t, server(t))
}

func newURLOn(t testing.TB, server string) string {
	t.Helper()
	prefix := "test-" + rand.Text() + ":"
	t.Cleanup(func() { sweep(t, server, prefix) })
	return server + "?prefix=" + url.QueryEscape(prefix)
}

func fresh(t testing.TB) *opened {
	t.Helper()
	return open(t, newURL(t))
}

// bare is a plain client of a server.
type bare struct{ *client.Client }

func (b bare) do(args ...any) error {
	_, err := b.Do(ctx, args...)
	return err
}

func (b bare) text(args ...any) (string, error) {
	reply, err := b.Do(ctx, args...)
	s, _ := reply.(string)
	return s, err
}

// keys are the keys that fit a pattern.
func (b bare) keys(pattern string) ([]string, error) {
	reply, err := b.Do(ctx, "KEYS", pattern)
	list, _ := reply.([]any)
	keys := make([]string, len(list))
	for i := range list {
		keys[i], _ = list[i].(string)
	}
	return keys, err
}

// raw is a plain client of the server behind a URL.
func raw(t testing.TB, rawURL string) bare {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	opt := client.Options{Addr: u.Host, Dial: 5 * time.Second, Timeout: 30 * time.Second}
	if u.Scheme == "unix" {
		opt.Network, opt.Addr = "unix", u.Path
	}
	opt.User = u.User.Username()
	opt.Password, _ = u.User.Password()
	c := client.New(opt)
	t.Cleanup(func() { c.Close() })
	return bare{c}
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
	keys, err := c.keys("{" + strings.NewReplacer("[", `\[`).Replace(prefix) + "}*")
	for _, key := range keys {
		if err == nil {
			err = c.do("UNLINK", key)
		}
	}
	if err != nil && !strings.Contains(err.Error(), "connect") {
		t.Log(err)
	}
}
