package sqlite_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// The test binary starts itself as another process when this is set: the words
// are the role and its arguments.
const roleEnv = "HOLDFAST_TEST_SQLITE_ROLE"

func TestMain(m *testing.M) {
	words := strings.Fields(os.Getenv(roleEnv))
	if len(words) == 0 {
		os.Exit(m.Run())
	}
	if err := map[string]func(args []string) error{"append": appendRole, "race": raceRole}[words[0]](words[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// start runs a role and returns its output, line by line.
func start(t *testing.T, role ...string) (*exec.Cmd, *bufio.Scanner, io.WriteCloser) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleEnv+"="+strings.Join(role, " "))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
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
	return cmd, bufio.NewScanner(out), in
}

// appendRole appends for ever and prints each seq when it is acknowledged.
func appendRole(args []string) error {
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
		cmd, lines, _ := start(t, "append", path, "a", strconv.FormatInt(a.epoch, 10))
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

// raceRole waits for the start, opens the file, which may not exist, and tries
// to append under each seq; it prints the ones that it won.
func raceRole(args []string) error {
	n, _ := strconv.Atoi(args[2])
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	s, err := sqlite.Open(args[0], nil)
	if err != nil {
		return err
	}
	defer s.Close()
	a := &author{store: s, id: "shared"}
	err = s.Append(ctx, a.id, a.batch(a.seal(session.KindOpened, session.Opened{Format: 1, SessionID: a.id, Title: args[1]})))
	if err != nil && !errors.Is(err, session.ErrExists) {
		return err
	}
	for won := 0; won < n; {
		p, err := s.List(ctx, session.Query{ID: a.id})
		if err != nil {
			return err
		}
		a.head, a.last = p.Sessions[0].Head, p.Sessions[0].HeadDigest
		title := args[1]
		b := a.batch(a.seal(session.KindMetaChanged, session.MetaPatch{Title: &title}))
		switch err := s.Append(ctx, a.id, b); {
		case err == nil:
			won++
			fmt.Println(a.head)
		case !errors.Is(err, session.ErrConflict):
			return err
		}
	}
	return nil
}

func TestProcessesRace(t *testing.T) {
	const processes, each = 3, 40
	path := filepath.Join(t.TempDir(), "new", "sessions.db")
	var outs []*bufio.Scanner
	var cmds []*exec.Cmd
	var ins []io.Writer
	for i := range processes {
		cmd, lines, in := start(t, "race", path, fmt.Sprintf("process-%d", i), strconv.Itoa(each))
		if !lines.Scan() {
			t.Fatal("no start")
		}
		cmds, outs, ins = append(cmds, cmd), append(outs, lines), append(ins, in)
	}
	for _, in := range ins {
		io.WriteString(in, "go\n")
	}
	winner := map[int64]int{}
	for i, lines := range outs {
		for lines.Scan() {
			seq, _ := strconv.ParseInt(lines.Text(), 10, 64)
			if other, ok := winner[seq]; ok {
				t.Errorf("seq %d was won by %d and %d", seq, other, i)
			}
			winner[seq] = i
		}
		if err := cmds[i].Wait(); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, path)
	n := int64(1)
	var last session.Record
	for r, err := range s.Read(ctx, "shared", session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Seq > 1 {
			if err := r.CheckAfter(&last); err != nil {
				t.Error(err)
			}
			if want := fmt.Sprintf("process-%d", winner[r.Seq]); !strings.Contains(string(r.Payload), want) {
				t.Errorf("record %d is %s, was won by %s", r.Seq, r.Payload, want)
			}
			n++
		}
		last = r
	}
	if n != processes*each+1 {
		t.Errorf("%d records, want %d", n, processes*each+1)
	}
}
