package sessiontest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// A test binary with this environment variable is one of the processes of [RunProcesses]. Its value
// is the process's name and, after a space, the location of the store.
const racerEnv = "HOLDFAST_TEST_RACER"

// The number of processes that race, and how often each of them must win.
const racers, wins = 3, 40

// Main runs the tests, or one of the processes of [RunProcesses]. A package that calls RunProcesses
// calls Main in its TestMain. Main ends the program. The function dial opens the store at a
// location, which is a path or a URL.
func Main(m *testing.M, dial func(ctx context.Context, at string) (session.Store, error)) {
	name, at, ok := strings.Cut(os.Getenv(racerEnv), " ")
	if !ok {
		os.Exit(m.Run())
	}
	if err := racer(context.Background(), dial, name, at); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// RunProcesses lets several processes open the store at a location at the same time, even if it
// does not exist yet, create the same session, and append to it. Each process appends at the head
// that it sees. It checks that exactly one process creates the session, that exactly one process
// appends the record of each seq, that there are no other records, and that the chain and the meta
// are correct. The processes are the test binary itself, see [Main].
func RunProcesses(t *testing.T, at string, dial func(ctx context.Context, at string) (session.Store, error)) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all [racers]*process
	for i := range all {
		all[i] = startRacer(t, exe, fmt.Sprintf("process-%d", i), at)
	}
	for _, p := range all {
		if _, err := io.WriteString(p.in, "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	winner := map[int64]string{}
	for _, p := range all {
		for p.lines.Scan() {
			seq, err := strconv.ParseInt(p.lines.Text(), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if other, ok := winner[seq]; ok {
				t.Errorf("seq %d was won by %s and by %s", seq, other, p.name)
			}
			winner[seq] = p.name
		}
		if err := p.cmd.Wait(); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
	}
	s, err := dial(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := s.(io.Closer); ok {
		defer c.Close()
	}
	checkRaced(t, s, winner)
}

// checkRaced compares the log with the seqs that each process reported as appended.
func checkRaced(t *testing.T, s session.Store, winner map[int64]string) {
	t.Helper()
	var last session.Record
	for r, err := range s.Read(t.Context(), raced, session.Range{}) {
		if err == nil {
			err = r.CheckAfter(&last)
		}
		if err != nil {
			t.Fatalf("record %d: %v", r.Seq, err)
		}
		if !strings.Contains(string(r.Payload), `"title":"`+winner[r.Seq]+`"`) {
			t.Errorf("record %d is %s, was won by %q", r.Seq, r.Payload, winner[r.Seq])
		}
		last = r
	}
	if last.Seq != int64(len(winner)) || len(winner) != 1+racers*wins {
		t.Errorf("the log ends at %d, %d were acknowledged, want %d", last.Seq, len(winner), 1+racers*wins)
	}
	p, err := s.List(t.Context(), session.Query{ID: raced})
	if err != nil || len(p.Sessions) != 1 {
		t.Fatalf("list: %v, %d sessions", err, len(p.Sessions))
	}
	if m := p.Sessions[0]; m.Head != last.Seq || m.HeadDigest != last.Digest || m.Title != winner[last.Seq] {
		t.Errorf("the meta %+v is not of a log that ends at %d", m, last.Seq)
	}
}

// raced is the id of the session that all the processes create.
const raced = "shared"

// process is one of the processes. It prints that it is ready, waits for a line, and prints the
// seqs of the records that it appended.
type process struct {
	name  string
	cmd   *exec.Cmd
	in    io.Writer
	lines *bufio.Scanner
}

func startRacer(t *testing.T, exe, name, at string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), racerEnv+"="+name+" "+at)
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
		if cmd.ProcessState == nil { // the test failed earlier
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	p := &process{name: name, cmd: cmd, in: in, lines: bufio.NewScanner(out)}
	if !p.lines.Scan() {
		t.Fatalf("%s did not start", name)
	}
	return p
}

// racer is the main function of one of the processes.
func racer(ctx context.Context, dial func(ctx context.Context, at string) (session.Store, error), name, at string) error {
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	s, err := dial(ctx, at)
	if err != nil {
		return err
	}
	if c, ok := s.(io.Closer); ok {
		defer c.Close()
	}
	w := &writer{id: raced, now: time.Now().UTC().Truncate(time.Millisecond)}
	opened := w.payload(record.KindOpened, session.Opened{Format: record.FormatVersion, SessionID: raced, Created: w.now, Title: name})
	switch err := s.Append(ctx, raced, batch(0, opened)); {
	case err == nil:
		fmt.Println(opened.Seq)
	case !errors.Is(err, session.ErrExists):
		return err
	}
	for won := 0; won < wins; {
		p, err := s.List(ctx, session.Query{ID: raced})
		if err != nil {
			return err
		}
		if len(p.Sessions) != 1 {
			return errors.New("the session is not in the list")
		}
		w.seq, w.prev, w.all = p.Sessions[0].Head, p.Sessions[0].HeadDigest, nil
		r := w.payload(record.KindMetaChanged, session.MetaPatch{Title: &name})
		switch err := s.Append(ctx, raced, batch(0, r)); {
		case err == nil:
			won++
			fmt.Println(r.Seq)
		case !errors.Is(err, session.ErrConflict):
			return err
		}
	}
	return nil
}
