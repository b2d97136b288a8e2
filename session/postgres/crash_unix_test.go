//go:build unix

package postgres_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/postgres"
)

// crashEnv says how often the server is killed; each round takes about a second.
const crashEnv = "HOLDFAST_POSTGRES_CRASHES"

// cluster is a server of the test's own.
type cluster struct {
	bin, dir string
	url      string
	cred     *syscall.Credential
	cmd      *exec.Cmd
	log      *os.File
	ended    chan struct{} // closed when the server has ended; nil when none runs
}

// startCluster makes an empty server and starts it.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{bin: os.Getenv("HOLDFAST_POSTGRES_BIN")}
	if c.bin == "" {
		testneed.Need(t, `HOLDFAST_POSTGRES_BIN is not set: eval "$(scripts/services start postgres)" makes this run`)
	}
	dir, err := os.MkdirTemp("", "holdfast-crash-")
	if err != nil {
		t.Fatal(err)
	}
	c.dir = dir
	t.Cleanup(func() { os.RemoveAll(dir) })
	if os.Geteuid() == 0 { // the server refuses root
		u, err := user.Lookup("postgres")
		if err != nil {
			testneed.Need(t, "there is no user postgres to run the server as: %v", err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		c.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	init := c.command("initdb", "-D", filepath.Join(dir, "data"), "-U", "holdfast", "-A", "trust", "-E", "UTF8", "--locale=C")
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	c.url = "postgres://holdfast@/postgres?host=" + url.QueryEscape(dir)
	if c.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.ended != nil {
			c.kill(t)
		}
		c.log.Close()
	})
	c.start(t)
	return c
}

func (c *cluster) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, program), args...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.cred, Setpgid: true}
	return cmd
}

// start starts the server and waits until it answers. It does not come up while a process
// of the one before is still about to end: then it is started again.
func (c *cluster) start(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		if c.ended == nil {
			c.launch(t)
		}
		s, err := postgres.Open(ctx, c.url, nil)
		if err == nil {
			s.Close()
			return
		}
		if time.Now().After(end) {
			log, _ := os.ReadFile(c.log.Name())
			t.Fatalf("the server does not answer: %v\n%s", err, log)
		}
		select {
		case <-c.ended:
			c.ended = nil
		case <-time.After(20 * time.Millisecond): // until the next look whether it answers
		}
	}
}

func (c *cluster) launch(t *testing.T) {
	t.Helper()
	c.cmd = c.command("postgres", "-D", filepath.Join(c.dir, "data"), "-p", "5432",
		"-c", "listen_addresses=", "-c", "unix_socket_directories="+c.dir, "-c", "shared_buffers=16MB")
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	c.ended = ended
	go func(cmd *exec.Cmd) {
		_ = cmd.Wait()
		close(ended)
	}(c.cmd)
}

// kill kills all of the server's processes at once, as a crash of the machine would end
// them, and leaves what it had written.
func (c *cluster) kill(t *testing.T) {
	t.Helper()
	pid := c.cmd.Process.Pid
	children, _ := exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for word := range strings.FieldsSeq(string(children)) {
		if n, err := strconv.Atoi(word); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
	<-c.ended
	c.ended = nil
}

// The server is killed repeatedly while several sessions are appended to: everything
// acknowledged is stored, and everything else can be appended again. The stores stay open
// throughout.
func TestKilledServerLosesNothing(t *testing.T) {
	c := startCluster(t)
	rounds := 20
	if v := os.Getenv(crashEnv); v != "" {
		rounds, _ = strconv.Atoi(v)
	} else if testing.Short() {
		rounds = 3
	}
	s, err := postgres.Open(ctx, c.url, &postgres.Options{Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const writers = 4
	authors := make([]*author, writers)
	for i := range authors {
		authors[i] = create(t, s, fmt.Sprintf("s%d", i))
	}
	total := int64(0)
	for round := range rounds {
		enough, stop := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		var mu sync.Mutex
		acked, errs := 0, make([]error, writers)
		for i, a := range authors {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					n := 1 + int(a.head)%3
					records := make([]session.Record, n)
					for j := range records {
						records[j] = a.item(strings.Repeat("x", 1500))
					}
					if errs[i] = a.append(records...); errs[i] != nil {
						return
					}
					mu.Lock()
					if acked++; acked == 20+17*(round%7) {
						close(enough)
					}
					mu.Unlock()
				}
			})
		}
		<-enough
		c.kill(t)
		c.start(t)
		close(stop)
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		total = 0
		for _, a := range authors {
			n := count(t, s, a.id)
			if n != a.head {
				t.Fatalf("round %d: %s has %d records, %d were acknowledged", round, a.id, n, a.head)
			}
			total += n
		}
	}
	last := authors[0].epoch
	for _, a := range authors {
		if err := a.take(); err != nil {
			t.Fatal(err)
		}
		if a.epoch <= last {
			t.Errorf("epoch %d after %d", a.epoch, last)
		}
		last = a.epoch
	}
	t.Logf("%d kills, %d records acknowledged, none lost", rounds, total)
}

// A server that cannot be reached is an error after the store's patience.
func TestPatience(t *testing.T) {
	c := startCluster(t)
	s, err := postgres.Open(ctx, c.url, &postgres.Options{Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := create(t, s, "s")
	c.kill(t)
	err = a.append(a.item("x"))
	if e, ok := errors.AsType[*session.Error](err); !ok || e.Hint == "" {
		t.Errorf("%v", err)
	}
}

// A server is looked at behind each new connection: its settings may change under an open
// store.
func TestDurabilityLost(t *testing.T) {
	c := startCluster(t)
	s := open(t, c.url)
	script(t, c.url, "ALTER SYSTEM SET fsync = off")
	script(t, c.url, "SELECT pg_reload_conf()")
	for value(t, c.url, "SELECT current_setting('fsync')") != "off" {
		time.Sleep(time.Millisecond) // the server tells nobody when it has read them
	}
	script(t, c.url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast'")
	if _, err := s.List(ctx, session.Query{}); !errors.Is(err, session.ErrUnsupported) {
		t.Errorf("an open store: %v", err)
	}
	if _, err := postgres.Open(ctx, c.url, nil); !errors.Is(err, session.ErrUnsupported) || session.Hint(err) == "" {
		t.Errorf("opening: %v", err)
	}
	open(t, with(t, c.url, "durability", "relaxed"))
}
