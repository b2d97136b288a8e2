package redis_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/missing"
	"github.com/holdfast-dev/holdfast/session"
)

// instance is a server of a test's own, on a socket in a folder of its own.
type instance struct {
	t    testing.TB
	dir  string
	args []string
	cmd  *exec.Cmd
	url  string
}

// own starts a server with settings beside those that a store wants; later ones win.
func own(t testing.TB, settings ...string) *instance {
	t.Helper()
	if os.Getenv("HOLDFAST_TEST_REDIS_SERVER") == "" {
		missing.Skip(t, `HOLDFAST_TEST_REDIS_SERVER names no program: eval "$(scripts/services env redis)"`)
	}
	dir, err := os.MkdirTemp("", "hf-redis-*") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	i := &instance{t: t, dir: dir, url: "unix://" + dir + "/s"}
	i.args = append([]string{
		"--port", "0", "--unixsocket", dir + "/s", "--dir", dir, "--appendonly", "yes", "--appendfsync", "always",
		"--save", "", "--logfile", dir + "/log",
	}, settings...)
	t.Cleanup(func() {
		if i.cmd.Process != nil { // its child, if it has one, must not write into the folder any more
			_ = i.cmd.Process.Signal(os.Interrupt)
			late := time.AfterFunc(3*time.Second, func() { _ = i.cmd.Process.Kill() }) // with some settings it refuses to end
			_ = i.cmd.Wait()
			late.Stop()
		}
		os.RemoveAll(dir)
	})
	i.start()
	return i
}

func (i *instance) start() {
	i.t.Helper()
	i.cmd = exec.Command(os.Getenv("HOLDFAST_TEST_REDIS_SERVER"), i.args...)
	if err := i.cmd.Start(); err != nil {
		i.t.Fatal(err)
	}
	c := raw(i.t, i.url)
	for deadline := time.Now().Add(20 * time.Second); ; {
		// Any answer will do: a server may want a password first.
		err := c.Echo(ctx, "there").Err()
		if err == nil || len(err.Error()) > 6 && err.Error()[:6] == "NOAUTH" {
			return
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(i.dir, "log"))
			i.t.Fatalf("the server does not answer: %v\n%s", err, log)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// kill ends the server without a warning.
func (i *instance) kill() {
	_ = i.cmd.Process.Kill()
	_ = i.cmd.Wait()
}

// author writes a log the way [session.Log] does.
type author struct {
	t     testing.TB
	store session.Store
	id    string
	epoch int64
	head  int64
	last  session.Digest
}

var begin = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func (a *author) seal(kind session.Kind, payload any) session.Record {
	raw, ok := payload.(json.RawMessage)
	if !ok {
		raw, _ = json.Marshal(payload)
	}
	r := session.Record{
		Seq: a.head + 1, ID: fmt.Sprintf("%s-%d", a.id, a.head+1), Kind: kind, Payload: raw,
		Time: begin.Add(time.Duration(a.head) * time.Second),
	}
	r.Seal(a.last)
	a.head, a.last = r.Seq, r.Digest
	return r
}

func (a *author) batch(records ...session.Record) session.Batch {
	d, err := session.Fold(records)
	if err != nil {
		a.t.Fatal(err)
	}
	return session.Batch{Expect: records[0].Seq - 1, Epoch: a.epoch, Records: records, Delta: d}
}

// note is a record of no meaning to lists.
func (a *author) note(text string) session.Record {
	return a.seal(session.KindWorkspaceEvent, map[string]string{"text": text})
}

func (a *author) add(records ...session.Record) {
	a.t.Helper()
	if err := a.store.Append(ctx, a.id, a.batch(records...)); err != nil {
		a.t.Fatal(err, session.Hint(err))
	}
}

// create takes the lease of a session and makes it.
func create(t testing.TB, s session.Store, o session.Opened) *author {
	t.Helper()
	a := &author{t: t, store: s, id: o.SessionID}
	l, err := s.(session.Leaser).Acquire(ctx, a.id, session.Lease{}, func(session.Lease) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	a.epoch = l.Epoch
	o.Format, o.Created = 1, begin
	a.add(a.seal(session.KindOpened, o))
	return a
}

// check reads a log whole and returns its head.
func check(t testing.TB, s session.Store, id string) int64 {
	t.Helper()
	var last session.Record
	for r, err := range s.Read(ctx, id, session.Range{}) {
		if err == nil {
			err = r.Check()
		}
		if err == nil && last.Seq > 0 {
			err = r.CheckAfter(&last)
		}
		if err != nil {
			t.Fatal(err)
		}
		last = r
	}
	p, err := s.List(ctx, session.Query{ID: id})
	if err != nil || len(p.Sessions) != 1 || p.Sessions[0].Head != last.Seq || p.Sessions[0].HeadDigest != last.Digest {
		t.Fatalf("the list says %+v (%v), the log ends at %d", p.Sessions, err, last.Seq)
	}
	return last.Seq
}

// freePort is one that nobody listens on.
func freePort(t testing.TB) string {
	t.Helper()
	for {
		// A cluster's servers talk to each other on the port 10,000 above.
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(20_000+rand.IntN(10_000)))
		if err == nil {
			defer l.Close()
			_, port, _ := net.SplitHostPort(l.Addr().String())
			return port
		}
	}
}
