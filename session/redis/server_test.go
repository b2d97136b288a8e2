package redis_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/freeport"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/session"
)

// instance is a server of a test's own, on a socket in a folder of its own.
type instance struct {
	t    testing.TB
	dir  string
	args []string
	cmd  *exec.Cmd
	url  string

	ended chan struct{} // closed when cmd has been waited for
}

// own starts a server with settings beside those that a store wants; later ones win.
func own(t testing.TB, settings ...string) *instance {
	t.Helper()
	i := prepare(t)
	i.args = append(i.args, settings...)
	i.start()
	return i
}

// prepare makes what a server needs; its end is the test's.
func prepare(t testing.TB) *instance {
	t.Helper()
	if os.Getenv("HOLDFAST_TEST_REDIS_SERVER") == "" {
		testneed.Need(t, `HOLDFAST_TEST_REDIS_SERVER names no program: eval "$(scripts/services env redis)"`)
	}
	dir, err := os.MkdirTemp("", "hf-redis-*") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	i := &instance{t: t, dir: dir, url: "unix://" + dir + "/s"}
	i.args = []string{
		"--port", "0", "--unixsocket", dir + "/s", "--dir", dir, "--appendonly", "yes", "--appendfsync", "always",
		"--save", "", "--logfile", dir + "/log",
	}
	t.Cleanup(func() {
		if i.ended != nil { // its child, if it has one, must not write into the folder any more
			_ = i.cmd.Process.Signal(os.Interrupt)
			late := time.AfterFunc(3*time.Second, func() { _ = i.cmd.Process.Kill() }) // with some settings it refuses to end
			<-i.ended
			late.Stop()
		}
		os.RemoveAll(dir)
	})
	return i
}

func (i *instance) start() {
	i.t.Helper()
	if err := i.begin(); err != nil {
		i.t.Fatal(err)
	}
}

// cluster starts a cluster of one server and returns its URL. Such a server takes two ports,
// and somebody may have taken one since nobody listened on it: then others are tried.
func cluster(t testing.TB) (*instance, string) {
	t.Helper()
	i := prepare(t)
	alone := i.args
	for try := 1; ; try++ {
		port, bus := strconv.Itoa(freeport.Pick(t)), strconv.Itoa(freeport.Pick(t))
		i.args = append(slices.Clip(alone), "--cluster-enabled", "yes", "--bind", "127.0.0.1", "--port", port, "--cluster-port", bus)
		err := i.begin()
		if err == nil {
			return i, "redis://127.0.0.1:" + port
		}
		if try == 20 || !strings.Contains(err.Error(), "ddress already in use") {
			t.Fatal(err)
		}
	}
}

// clusterOf starts a cluster whose servers have equal parts of the slots, and returns them
// with their URLs.
func clusterOf(t testing.TB, n int) (servers []*instance, urls []string) {
	t.Helper()
	for range n {
		i, u := cluster(t)
		servers, urls = append(servers, i), append(urls, u)
	}
	const slots = 16384
	for k, i := range servers {
		c := raw(t, i.url)
		for _, command := range [][]any{
			{"CLUSTER", "SET-CONFIG-EPOCH", k + 1},
			{"CLUSTER", "ADDSLOTSRANGE", k * slots / n, (k+1)*slots/n - 1},
		} {
			if err := c.do(command...); err != nil {
				t.Fatal(command, err)
			}
		}
		if k == 0 {
			continue
		}
		at, err := url.Parse(urls[0])
		if err != nil {
			t.Fatal(err)
		}
		bus := servers[0].args[len(servers[0].args)-1]
		if err := c.do("CLUSTER", "MEET", at.Hostname(), at.Port(), bus); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range servers {
		c := raw(t, i.url)
		waitUntil(t, func() bool {
			info, err := c.text("CLUSTER", "INFO")
			return err == nil && strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(n)+"\r")
		})
	}
	return servers, urls
}

// begin starts the server and waits for its answer, or for its end.
func (i *instance) begin() error {
	i.cmd = exec.Command(os.Getenv("HOLDFAST_TEST_REDIS_SERVER"), i.args...)
	_ = os.Remove(filepath.Join(i.dir, "log"))
	if err := i.cmd.Start(); err != nil {
		return err
	}
	i.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan<- struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(i.cmd, i.ended)
	c := raw(i.t, i.url)
	for deadline := time.After(time.Minute); ; {
		// Any answer will do: a server may want a password first.
		err := c.do("ECHO", "there")
		if err == nil || strings.HasPrefix(err.Error(), "NOAUTH") {
			return nil
		}
		select {
		case <-i.ended:
			return fmt.Errorf("the server has ended: %v\n%s", i.cmd.ProcessState, i.log())
		case <-deadline:
			return fmt.Errorf("the server does not answer: %w\n%s", err, i.log())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (i *instance) log() []byte {
	b, _ := os.ReadFile(filepath.Join(i.dir, "log"))
	return b
}

// kill ends the server without a warning.
func (i *instance) kill() {
	_ = i.cmd.Process.Kill()
	<-i.ended
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
	return a.seal(record.KindWorkspaceEvent, map[string]string{"text": text})
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
	a.add(a.seal(record.KindOpened, o))
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
