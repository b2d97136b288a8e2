package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
)

// The tests of this file run the test binary again as another process that
// uses the same store.
const (
	childEnv  = "HOLDFAST_FILE_CHILD" // what the child does
	dirEnv    = "HOLDFAST_FILE_DIR"
	killAtEnv = "HOLDFAST_FILE_KILL_AT" // the child kills itself at this operation
	trialsEnv = "HOLDFAST_KILL_TRIALS"
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run())
	case "write":
		err = childWrites(os.Getenv(dirEnv))
	case "race":
		err = childRaces(os.Getenv(dirEnv))
	case "erase":
		err = childErases(os.Getenv(dirEnv))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(t *testing.T, what, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), childEnv+"="+what, dirEnv+"="+dir)
	c.Stderr = os.Stderr
	return c
}

// head opens a session for writing and returns an author who goes on there.
func head(ctx context.Context, s *Store) (*author, error) {
	p, err := s.List(ctx, session.Query{ID: "s"})
	if err != nil || len(p.Sessions) != 1 {
		return nil, errors.Join(err, errors.New("no session"))
	}
	return &author{id: "s", seq: p.Sessions[0].Head, prev: p.Sessions[0].HeadDigest}, nil
}

// dieAt kills this process at its nth operation on the disk; a write is left
// half done, and the process dies at what it does next.
func dieAt(nth int) func(op, name string) (int, error) {
	seen, dying := 0, false
	return func(op, name string) (int, error) {
		if seen++; nth == 0 || seen < nth {
			return 0, nil
		}
		if op == "write" && !dying && strings.HasSuffix(name, logName) {
			dying = true
			return nth * 997 % 25_000, errors.New("about to die")
		}
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
}

// childWrites appends for ever and prints each acknowledged head.
func childWrites(dir string) error {
	ctx := context.Background()
	nth, _ := strconv.Atoi(os.Getenv(killAtEnv))
	s, err := open(dir, nil, diskOps{fault: dieAt(nth)})
	if err != nil {
		return err
	}
	rec, err := s.Recover(ctx, "s")
	if err != nil {
		return err
	}
	if rec != nil {
		fmt.Println("cut", rec.CutBytes)
	}
	l, err := s.Acquire(ctx, "s", session.Lease{}, func(session.Lease) bool { return true })
	if err != nil {
		return err
	}
	a, err := head(ctx, s)
	if err != nil {
		return err
	}
	for i := a.seq; ; i++ {
		n := 1 + int(i%3)
		if err := s.Append(ctx, "s", batchOf(l.Epoch, a.items(n, 20_000*n)...)); err != nil {
			return err
		}
		a.all = a.all[:0]
		fmt.Println(a.seq)
	}
}

// TestKill repeatedly kills a writer, half of the times at a random time, half at each
// operation on the disk in turn. What it acknowledged is stored, and the next writer
// continues. HOLDFAST_KILL_TRIALS is the number of kills.
func TestKill(t *testing.T) {
	trials := 30
	if v := os.Getenv(trialsEnv); v != "" {
		trials, _ = strconv.Atoi(v)
	} else if testing.Short() {
		trials = 5
	}
	dir := fastDir(t)
	s := openStore(t, dir)
	if err := s.Append(t.Context(), "s", batchOf(0, (&author{id: "s"}).opened(nil))); err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	cut := 0
	var last session.Record
	for trial := range trials {
		c := child(t, "write", dir)
		stop := rnd.IntN(12)
		if trial%2 == 1 {
			c.Env = append(c.Env, fmt.Sprintf("%s=%d", killAtEnv, 1+trial/2))
			stop = 1 << 30
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		var acked int64
		for i := 0; i <= stop && lines.Scan(); i++ {
			if strings.HasPrefix(lines.Text(), "cut") {
				cut++
				continue
			}
			acked, _ = strconv.ParseInt(lines.Text(), 10, 64)
		}
		_ = c.Process.Kill()
		for lines.Scan() { // what it had said before it died counts
			if n, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
				acked = n
			}
		}
		_ = c.Wait()
		for r, err := range s.Read(t.Context(), "s", session.Range{After: last.Seq}) {
			if err != nil {
				t.Fatal(err)
			}
			if last.Seq > 0 {
				err = r.CheckAfter(&last)
			}
			if err != nil {
				t.Fatal(err)
			}
			last = r
		}
		if last.Seq < acked {
			t.Fatalf("acknowledged up to %d, %d are there", acked, last.Seq)
		}
	}
	t.Logf("%d kills, %d torn tails cut", trials, cut)
}

// childRaces renames the session 40 times against whoever else does.
func childRaces(dir string) error {
	ctx := context.Background()
	s, err := Open(dir, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	for won := 0; won < 40; {
		a, err := head(ctx, s)
		if err != nil {
			return err
		}
		r := a.rename(fmt.Sprintf("by %d", os.Getpid()))
		err = s.Append(ctx, "s", batchOf(0, r))
		switch {
		case err == nil:
			won++
			fmt.Println(r.Digest)
		case !errors.Is(err, session.ErrConflict):
			return err
		}
	}
	return nil
}

// TestTwoProcesses lets two processes and this one append to one session at
// once: each seq has one winner, and the chain holds.
func TestTwoProcesses(t *testing.T) {
	dir := fastDir(t)
	s := openStore(t, dir)
	a, l := begin(t, s, "s")
	var outs []*strings.Builder
	var children []*exec.Cmd
	for range 2 {
		c, out := child(t, "race", dir), &strings.Builder{}
		c.Stdout = out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		children, outs = append(children, c), append(outs, out)
	}
	var mine []session.Record
	for len(mine) < 40 {
		a, err := head(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		r := a.item("of the holder")
		if err := s.Append(t.Context(), "s", batchOf(l.Epoch, r)); err == nil {
			mine = append(mine, r)
		} else if !errors.Is(err, session.ErrConflict) {
			t.Fatal(err)
		}
	}
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	there := map[string]bool{}
	last := a.all[0]
	for r, err := range s.Read(t.Context(), "s", session.Range{After: 1}) {
		if err == nil {
			err = r.CheckAfter(&last)
		}
		if err != nil {
			t.Fatal(err)
		}
		there[r.Digest.String()], last = true, r
	}
	if last.Seq != 121 {
		t.Fatalf("%d records, want 121", last.Seq)
	}
	for _, r := range mine {
		if !there[r.Digest.String()] {
			t.Errorf("record %d of this process is missing", r.Seq)
		}
	}
	for _, out := range outs {
		for digest := range strings.FieldsSeq(out.String()) {
			if !there[digest] {
				t.Errorf("an acknowledged record of a child is missing: %s", digest)
			}
		}
	}
}
