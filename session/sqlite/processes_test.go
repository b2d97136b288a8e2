package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// The test binary starts itself as a writer when this is set: the words are the file,
// the session and the epoch of its lease.
const writerEnv = "HOLDFAST_TEST_SQLITE_WRITER"

func TestMain(m *testing.M) {
	words := strings.Fields(os.Getenv(writerEnv))
	if len(words) == 0 {
		sessiontest.Main(m, dial)
	}
	if err := appendForEver(words); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// start runs a writer and returns its output, line by line.
func start(t *testing.T, words ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), writerEnv+"="+strings.Join(words, " "))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

// appendForEver appends for ever and prints each seq when it is acknowledged.
func appendForEver(args []string) error {
	s, err := sqlite.Open(args[0], nil)
	if err != nil {
		return err
	}
	a := &author{store: s, id: args[1]}
	a.epoch, _ = strconv.ParseInt(args[2], 10, 64)
	if m, err := s.List(ctx, session.Query{ID: a.id}); err == nil && len(m.Sessions) == 1 {
		a.head, a.last = m.Sessions[0].Head, m.Sessions[0].HeadDigest
	}
	for {
		if err := s.Append(ctx, a.id, a.batch(a.seal(session.KindItem, bigItem))); err != nil {
			return err
		}
		fmt.Println(a.head)
	}
}

func TestKilledWriterLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	s := open(t, path)
	a := create(t, s, "a")
	s.Close()
	for round := range 5 {
		cmd, lines := start(t, path, "a", strconv.FormatInt(a.epoch, 10))
		acked := int64(0)
		read := func() bool {
			if !lines.Scan() {
				return false
			}
			acked, _ = strconv.ParseInt(lines.Text(), 10, 64)
			return true
		}
		for range 20 + 30*round {
			if !read() {
				t.Fatal("the writer ended by itself")
			}
		}
		cmd.Process.Kill()
		for read() { // what it had printed by then
		}
		s := open(t, path)
		got := seqs(t, s, "a", session.Range{})
		if int64(len(got)) < acked {
			t.Fatalf("%d records are there, %d were acknowledged", len(got), acked)
		}
		if m := meta(t, s, "a"); m.Head != int64(len(got)) || m.MessageCount != len(got)-1 {
			t.Errorf("meta says head %d and %d messages, the log has %d records", m.Head, m.MessageCount, len(got))
		}
		if ok := raw(t, path, "PRAGMA integrity_check"); ok != "ok" {
			t.Errorf("integrity check: %s", ok)
		}
		s.Close()
	}
}

func dial(_ context.Context, at string) (session.Store, error) { return sqlite.Open(at, nil) }

func TestProcessesRace(t *testing.T) {
	sessiontest.RunProcesses(t, filepath.Join(t.TempDir(), "new", "sessions.db"), dial)
}
