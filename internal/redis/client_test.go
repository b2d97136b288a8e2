package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestGreeting(t *testing.T) {
	secret := "made" + "-up"
	for name, tt := range map[string]struct {
		change  func(*Options)
		answers map[string]string
		want    []string
		err     string
	}{
		"nobody":   {nil, nil, []string{"HELLO 2", "PING"}, ""},
		"password": {func(o *Options) { o.Password = secret }, nil, []string{"HELLO 2 AUTH default " + secret, "PING"}, ""},
		"user":     {func(o *Options) { o.User, o.Password = "u", secret }, nil, []string{"HELLO 2 AUTH u " + secret, "PING"}, ""},
		"database": {func(o *Options) { o.Database = 3 }, nil, []string{"HELLO 2", "SELECT 3", "PING"}, ""},
		"old": {
			func(o *Options) { o.Password = secret }, map[string]string{"HELLO": "-ERR unknown command\r\n"},
			[]string{"HELLO 2 AUTH default " + secret, "AUTH " + secret, "PING"}, "",
		},
		"old with users": {
			func(o *Options) { o.User, o.Password = "u", secret }, map[string]string{"HELLO": "-NOPROTO\r\n"},
			[]string{"HELLO 2 AUTH u " + secret, "AUTH u " + secret, "PING"}, "",
		},
		"wrong password": {
			func(o *Options) { o.Password = secret }, map[string]string{"HELLO": "-WRONGPASS no\r\n", "AUTH": "-WRONGPASS no\r\n"},
			[]string{"HELLO 2 AUTH default " + secret, "AUTH " + secret}, "WRONGPASS",
		},
		"no password": {nil, map[string]string{"HELLO": "-NOAUTH x\r\n", "PING": "-NOAUTH x\r\n"}, []string{"HELLO 2", "PING"}, "NOAUTH"},
		"no database": {func(o *Options) { o.Database = 99 }, map[string]string{"SELECT": "-ERR DB index is out of range\r\n"}, []string{"HELLO 2", "SELECT 99"}, "out of range"},
		"no Redis":    {nil, map[string]string{"HELLO": "HTTP/1.1 400 Bad Request\r\n\r\n"}, []string{"HELLO 2"}, ErrProtocol.Error()},
	} {
		f := serve(t, okExcept(tt.answers))
		_, err := f.client(t, tt.change).Do(t.Context(), "PING")
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: the error shows the password", name)
		}
		if got := f.received(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestAdmit(t *testing.T) {
	no := errors.New("not this one")
	for _, refuse := range []error{nil, no} {
		f := serve(t, okExcept(nil))
		c := f.client(t, func(o *Options) {
			o.Admit = func(ctx context.Context, c *Conn) error {
				_, err := c.Do(ctx, "INFO")
				return errors.Join(err, refuse)
			}
		})
		if _, err := c.Do(t.Context(), "PING"); !errors.Is(err, refuse) {
			t.Error(err)
		}
		_, _ = c.Do(t.Context(), "PING")
		if want := map[bool]int{true: 1, false: 2}[refuse == nil]; f.connections() != want {
			t.Errorf("%d connections", f.connections())
		}
	}
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f := &fakeServer{answer: okExcept(nil)}
	go func() {
		if c, err := l.Accept(); err == nil {
			f.talk(c)
		}
	}()
	if _, err := f.client(t, func(o *Options) { o.Network, o.Addr = "unix", path }).Do(t.Context(), "PING"); err != nil {
		t.Error(err)
	}
}

func TestPipeline(t *testing.T) {
	f := serve(t, okExcept(map[string]string{"B": "-ERR no\r\n", "C": ":3\r\n"}))
	got, err := f.client(t, nil).Pipeline(t.Context(), Command{"A"}, Command{"B"}, Command{"C"})
	if want := []any{"OK", Error("ERR no"), int64(3)}; err != nil || !reflect.DeepEqual(got, want) {
		t.Error(got, err)
	}
	if f.connections() != 1 {
		t.Error(f.connections())
	}
}

// After an error reply the connection can be used. Any other error closes it, and nothing is
// sent twice.
func TestBrokenConnectionsAreNotUsedAgain(t *testing.T) {
	for answer, want := range map[string]struct {
		conns int
		err   error
	}{
		"-ERR no\r\n":          {1, Error("ERR no")},
		"-READONLY no\r\n":     {2, Error("READONLY no")},
		"":                     {2, io.EOF},
		"$5\r\nab" + hangUp:    {2, io.ErrUnexpectedEOF},
		"+OK\r\n+and more\r\n": {2, nil},
		"?\r\n":                {2, ErrProtocol},
	} {
		f := serve(t, okExcept(map[string]string{"ODD": answer}))
		c := f.client(t, nil)
		if _, err := c.Do(t.Context(), "ODD"); want.err != nil && !errors.Is(err, want.err) {
			t.Errorf("%q: %v", answer, err)
		}
		if reply, err := c.Do(t.Context(), "PING"); reply != "OK" || err != nil {
			t.Errorf("%q: then %v %v", answer, reply, err)
		}
		if f.connections() != want.conns {
			t.Errorf("%q: %d connections, want %d", answer, f.connections(), want.conns)
		}
		if heard := strings.Join(f.received(), ","); strings.Count(heard, "ODD") != 1 {
			t.Errorf("%q: %s", answer, heard)
		}
	}
}

// A connection that the server closed while it was idle is not used.
func TestStaleConnection(t *testing.T) {
	f := serve(t, okExcept(nil))
	c := f.client(t, nil)
	if _, err := c.Do(t.Context(), "PING"); err != nil {
		t.Fatal(err)
	}
	p, _ := c.pool(f.addr)
	stale := p.idle[0]
	_ = stale.net.(*net.TCPConn).CloseRead()
	if isAlive(stale.net) {
		t.Skip("this system does not tell")
	}
	if _, err := c.Do(t.Context(), "PING"); err != nil || f.connections() != 2 {
		t.Error(err, f.connections())
	}
}

func TestCancel(t *testing.T) {
	f, asked := serveHanging(t)
	c := f.client(t, func(o *Options) { o.Timeout = time.Hour })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Do(ctx, "HANG")
		done <- err
	}()
	<-asked
	cancel()
	if err := <-done; err == nil {
		t.Error("an answer that never came")
	}
	if reply, err := c.Do(t.Context(), "PING"); reply != "OK" || err != nil || f.connections() != 2 {
		t.Error(reply, err, f.connections())
	}
	if _, err := c.Do(ctx, "PING"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNoFreeConnection(t *testing.T) {
	f := serve(t, okExcept(nil))
	c := f.client(t, func(o *Options) { o.Size = 1 })
	p, _ := c.pool(f.addr)
	conn, err := p.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.wait = time.Nanosecond
	if _, err := c.Do(t.Context(), "PING"); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	p.wait = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.get(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p.put(conn)
	if _, err := c.Do(t.Context(), "PING"); err != nil || f.connections() != 1 {
		t.Error(err, f.connections())
	}
}

// At most Size connections are opened, however many calls run at once.
func TestPoolIsBounded(t *testing.T) {
	f := serve(t, okExcept(nil))
	c := f.client(t, func(o *Options) { o.Size = 3 })
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := c.Do(t.Context(), "PING"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if f.connections() > 3 {
		t.Errorf("%d connections", f.connections())
	}
}

func TestCloseEndsRunningCalls(t *testing.T) {
	f, asked := serveHanging(t)
	c := f.client(t, func(o *Options) { o.Timeout = time.Hour })
	done := make(chan error, 1)
	go func() {
		_, err := c.Do(context.Background(), "HANG")
		done <- err
	}()
	<-asked
	c.Close()
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if _, err := c.Do(t.Context(), "PING"); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// A server that does not answer is given up after the timeout.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		c := newConn(ours, 5*time.Second)
		defer c.close()
		begun := time.Now()
		_, err := c.Do(t.Context(), "PING")
		if e, ok := errors.AsType[net.Error](err); !ok || !e.Timeout() || time.Since(begun) != 5*time.Second || !c.broken {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

func TestScript(t *testing.T) {
	loaded := false
	f := serve(t, func(command []string) string {
		switch {
		case command[0] == "EVAL":
			loaded = true
		case command[0] == "EVALSHA" && !loaded:
			return "-NOSCRIPT No matching script.\r\n"
		}
		return "*1\r\n+ok\r\n"
	})
	c := f.client(t, nil)
	s := NewScript("return {'ok'}")
	for range 2 {
		if got, err := c.Run(t.Context(), s, "k", []any{"a", 1}); err != nil || !reflect.DeepEqual(got, []any{"ok"}) {
			t.Error(got, err)
		}
	}
	sha := "EVALSHA " + s.digest + " 1 k a 1"
	if want := []string{"HELLO 2", sha, "EVAL return {'ok'} 1 k a 1", sha}; !slices.Equal(f.received(), want) {
		t.Errorf("%q", f.received())
	}
}

// Over TLS the server's certificate is checked for the name that was asked for.
func TestTLS(t *testing.T) {
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f := &fakeServer{addr: l.Addr().String(), answer: okExcept(nil)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go f.talk(c)
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	good := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	c := f.client(t, func(o *Options) { o.TLS = good })
	for range 2 {
		if reply, err := c.Do(t.Context(), "PING"); reply != "OK" || err != nil {
			t.Error(reply, err)
		}
	}
	if f.connections() != 1 {
		t.Error(f.connections())
	}
	other := good.Clone()
	other.ServerName = "other.example"
	for name, config := range map[string]*tls.Config{"name": other, "authority": {MinVersion: tls.VersionTLS12}} {
		_, err := f.client(t, func(o *Options) { o.TLS = config }).Do(t.Context(), "PING")
		if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
			t.Errorf("another %s: %v", name, err)
		}
	}
}
