package redis_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/redis"
)

// rounds is how often the server is killed; HOLDFAST_TEST_REDIS_KILLS asks for more.
func rounds(t testing.TB) int {
	n, err := strconv.Atoi(os.Getenv("HOLDFAST_TEST_REDIS_KILLS"))
	if err != nil {
		n = 20
	}
	if testing.Short() {
		n = min(n, 3)
	}
	t.Logf("%d rounds", n)
	return n
}

// The server is killed while several clients write. Everything acknowledged is stored, every
// batch is complete, and the same stores continue when the server is back.
func TestKilledServerLosesNothing(t *testing.T) {
	const writers = 4
	i := own(t)
	s := open(t, newURLOn(t, i.url))
	var authors [writers]*author
	for n := range authors {
		authors[n] = create(t, s, session.Opened{SessionID: "s" + strconv.Itoa(n)})
	}
	for range rounds(t) {
		var acked [writers]atomic.Int64
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for n, a := range authors {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if err := a.store.Append(ctx, a.id, a.batch(a.note("one"), a.note("two"))); err != nil {
						t.Error(err, session.Hint(err))
						return
					}
					acked[n].Store(a.head)
				}
			})
		}
		time.Sleep(time.Duration(5+rand.IntN(30)) * time.Millisecond) // any moment will do
		i.kill()
		var had [writers]int64
		for n := range authors {
			had[n] = acked[n].Load()
		}
		i.start()
		other := open(t, s.url)
		for n, a := range authors {
			if head := other.head(t, a.id); head < had[n] || head%2 != 1 {
				t.Errorf("%s: head %d, acknowledged %d", a.id, head, had[n])
			}
		}
		close(stop)
		wg.Wait()
		other.Close()
		for _, a := range authors {
			if head := check(t, s, a.id); head != a.head {
				t.Errorf("%s: head %d, want %d", a.id, head, a.head)
			}
		}
		if t.Failed() {
			return
		}
	}
}

func (s *opened) head(t testing.TB, id string) int64 {
	t.Helper()
	p, err := s.List(ctx, session.Query{ID: id})
	if err != nil || len(p.Sessions) != 1 {
		t.Fatal(len(p.Sessions), err)
	}
	return p.Sessions[0].Head
}

// cutter is a network that drops a connection after so many bytes to the client, which
// is between the server's doing and its answer, or to the server.
type cutter struct {
	net.Listener
	addr     string
	greeting int64 // bytes of what the server answers first
	cuts     atomic.Int64
	wg       sync.WaitGroup
}

func cut(t testing.TB, addr string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	info, err := raw(t, "redis://"+addr).text("INFO")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, addr: addr, greeting: int64(len(info)) + 400}
	c.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.pass(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); c.wg.Wait() })
	return c
}

func (c *cutter) pass(in net.Conn) {
	out, err := net.Dial("tcp", c.addr)
	if err != nil {
		in.Close()
		return
	}
	var both sync.WaitGroup
	pipe := func(to, from net.Conn, limit int64) {
		n, _ := io.Copy(to, io.LimitReader(from, limit))
		if n == limit {
			c.cuts.Add(1)
		}
		in.Close()
		out.Close()
	}
	both.Go(func() { pipe(out, in, 500+rand.Int64N(20_000)) })
	both.Go(func() { pipe(in, out, c.greeting+rand.Int64N(400)) })
	both.Wait()
}

func TestLostConnections(t *testing.T) {
	direct := newURL(t)
	addr := strings.TrimPrefix(server(t), "redis://")
	c := cut(t, addr)
	s := open(t, strings.Replace(direct, addr, c.Addr().String(), 1))
	n := 400
	if testing.Short() {
		n = 100
	}
	a := create(t, s, session.Opened{SessionID: "s"})
	for i := 0; i < n || c.cuts.Load() < 10 && i < 100*n; i++ {
		a.add(a.note("one"), a.note(strings.Repeat("x", 200)))
		if i%20 == 0 {
			l, err := s.Acquire(ctx, "s", session.Lease{}, func(session.Lease) bool { return true })
			if err != nil || l.Epoch <= a.epoch {
				t.Fatal(l, err)
			}
			a.epoch = l.Epoch
			b := create(t, s, session.Opened{SessionID: "gone-" + strconv.Itoa(i)})
			if err := s.Delete(ctx, b.id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if head := check(t, open(t, direct), "s"); head != a.head {
		t.Errorf("head %d, want %d", head, a.head)
	}
	if c.cuts.Load() < 10 {
		t.Errorf("only %d connections were cut", c.cuts.Load())
	}
}

// An unavailable server is reported as such, in time and without the password.
func TestServerGone(t *testing.T) {
	const addr = "127.0.0.1:1"
	secret := "pass" + "w0rd-of-nobody"
	_, err := redis.Open(ctx, "redis://u:"+secret+"@"+addr, &redis.Options{Timeout: 50 * time.Millisecond})
	if err == nil || session.Hint(err) == "" || strings.Contains(err.Error()+session.Hint(err), secret) || !strings.Contains(err.Error(), addr) {
		t.Errorf("no server: %v", err)
	}
	i := own(t)
	s := open(t, i.url)
	hasty, err := redis.Open(ctx, i.url, &redis.Options{Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer hasty.Close()
	a := create(t, s, session.Opened{SessionID: "s"})
	i.kill()
	b := a.batch(a.note("x"))
	if err := hasty.Append(ctx, "s", b); err == nil || session.Hint(err) == "" {
		t.Errorf("append without a server: %v", err)
	}
	i.start()
	if err := s.Append(ctx, "s", b); err != nil {
		t.Errorf("the same batch when it is back: %v", err)
	}
	check(t, s, "s")
}

// A reply that never comes does not keep the caller whose context ends, and Close waits.
func TestHangingServer(t *testing.T) {
	i := own(t)
	s := open(t, newURLOn(t, i.url))
	a := create(t, s, session.Opened{SessionID: "s"})
	if err := raw(t, i.url).do("CLIENT", "PAUSE", "300", "ALL"); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	b := a.batch(a.note("x"))
	go func() { done <- s.Append(short, "s", b) }()
	cancel()
	if err := <-done; !errors.Is(err, short.Err()) {
		t.Errorf("append: %v", err)
	}
	if err := s.Append(ctx, "s", b); err != nil {
		t.Error(err)
	}
	check(t, s, "s")
}
