package mysql_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/mysql"
)

// engine is a server of one test's own, which may be killed.
type engine struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
}

func newEngine(t *testing.T) *engine {
	t.Helper()
	server(t) // whoever has none has no programs either
	for _, program := range []string{"mariadbd", "mariadb-install-db"} {
		if _, err := exec.LookPath(program); err != nil {
			testneed.Need(t, "no %s on the PATH: scripts/services env mysql installs it", program)
		}
	}
	dir, err := os.MkdirTemp("", "holdfast-mysql-")
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{t: t, dir: dir}
	t.Cleanup(func() {
		e.kill()
		os.RemoveAll(dir)
	})
	e.chown(dir)
	sql := filepath.Join(dir, "init.sql")
	text := "CREATE DATABASE IF NOT EXISTS holdfast_crash;\nCREATE USER IF NOT EXISTS 'crash'@'%';\nGRANT ALL ON holdfast_crash.* TO 'crash'@'%';\n"
	if err := os.WriteFile(sql, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--skip-test-db", "--auth-root-authentication-method=normal"}, e.userOption()...)
	if out, err := exec.Command("mariadb-install-db", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return e
}

// userOption is the option that makes a server leave root's rights.
func (e *engine) userOption() []string {
	if os.Getuid() == 0 {
		return []string{"--user=mysql"}
	}
	return nil
}

func (e *engine) chown(dir string) {
	if os.Getuid() != 0 {
		return
	}
	u, err := user.Lookup("mysql")
	if err != nil {
		e.t.Fatal(err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		e.t.Fatal(err)
	}
}

// start starts the server and waits until it answers.
func (e *engine) start() {
	e.t.Helper()
	args := []string{
		"--no-defaults", "--datadir=" + filepath.Join(e.dir, "data"), "--socket=" + filepath.Join(e.dir, "socket"),
		"--pid-file=" + filepath.Join(e.dir, "pid"), "--skip-networking",
		"--init-file=" + filepath.Join(e.dir, "init.sql"), "--skip-log-bin", "--skip-name-resolve", "--innodb-buffer-pool-size=32M",
	}
	e.cmd = exec.Command("mariadbd", append(args, e.userOption()...)...)
	if err := e.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	db := rawOf(e.t, e.url())
	for end := time.Now().Add(30 * time.Second); ; {
		err := db.PingContext(e.t.Context())
		if err == nil {
			return
		}
		if time.Now().After(end) {
			e.t.Fatalf("the server does not answer: %v", err)
		}
		time.Sleep(20 * time.Millisecond) // between two looks
	}
}

func (e *engine) kill() {
	if e.cmd != nil {
		_ = e.cmd.Process.Kill()
		_ = e.cmd.Wait()
		e.cmd = nil
	}
}

func (e *engine) url() string {
	q := url.Values{"socket": {filepath.Join(e.dir, "socket")}}
	u := url.URL{Scheme: "mysql", User: url.User("crash"), Path: "/holdfast_crash", RawQuery: q.Encode()}
	return u.String()
}

// TestServerKilled kills the server while sessions are written. Everything acknowledged is
// stored, and no batch is torn. HOLDFAST_KILLS is the number of kills.
func TestServerKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server a dozen times: go test without -short")
	}
	rounds := 10
	if n, err := strconv.Atoi(os.Getenv("HOLDFAST_KILLS")); err == nil {
		rounds = n
	}
	e := newEngine(t)
	e.start()
	total := int64(0)
	for round := range rounds {
		s, err := mysql.Open(t.Context(), e.url(), nil)
		if err != nil {
			t.Fatal(err)
		}
		acked, err := appendUntil(t, s, round, e.kill)
		s.Close()
		e.start()
		if err == nil {
			t.Fatal("no append failed")
		}
		again := open(t, e.url(), nil)
		for id, head := range acked {
			if got := whole(t, again, id); got < head {
				t.Fatalf("round %d: session %s ends at %d, %d were acknowledged", round, id, got, head)
			}
			total += head
		}
		again.Close()
	}
	t.Logf("%d kills, %d records acknowledged, none lost", rounds, total)
}

// appendUntil appends to some sessions at once, calls kill in the middle of it and
// returns how far each was acknowledged, and the first error.
func appendUntil(t *testing.T, s session.Store, round int, kill func()) (map[string]int64, error) {
	var (
		mu    sync.Mutex
		first error
		all   sync.WaitGroup
		count atomic.Int64
		once  sync.Once
	)
	acked := map[string]int64{}
	var logs []*session.Log
	for w := range 4 {
		logs = append(logs, create(t, s, fmt.Sprintf("round-%d-%d", round, w)))
	}
	for _, l := range logs { // the server may be killed as soon as one appends
		id := l.ID()
		all.Go(func() {
			defer l.Close()
			for {
				_, err := l.Append(t.Context(), note(int(l.Head())))
				mu.Lock()
				acked[id] = max(acked[id], l.Head())
				if err != nil && first == nil {
					first = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
				if count.Add(1) == int64(40+13*round) {
					go once.Do(kill)
				}
			}
		})
	}
	all.Wait()
	once.Do(func() {}) // kill has returned
	return acked, first
}
