package redis_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/redis"
)

// The test binary starts itself as another process when this is set: the URL and the
// name of the process.
const roleEnv = "HOLDFAST_TEST_REDIS_ROLE"

func TestMain(m *testing.M) {
	words := strings.Fields(os.Getenv(roleEnv))
	if len(words) == 0 {
		os.Exit(m.Run())
	}
	if err := race(words[0], words[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const each = 60

// race waits for the start and appends under each seq that it can get, which it prints.
func race(url, name string) error {
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	s, err := redis.Open(ctx, url, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	a := &author{store: s, id: "shared"}
	err = s.Append(ctx, a.id, a.batch(a.seal(session.KindOpened, session.Opened{Format: 1, SessionID: a.id, Title: name, Created: begin})))
	if err != nil && !errors.Is(err, session.ErrExists) {
		return err
	}
	for won := 0; won < each; {
		p, err := s.List(ctx, session.Query{ID: a.id})
		if err != nil {
			return err
		}
		a.head, a.last = p.Sessions[0].Head, p.Sessions[0].HeadDigest
		switch err := s.Append(ctx, a.id, a.batch(a.seal(session.KindMetaChanged, session.MetaPatch{Title: &name}))); {
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
	const processes = 3
	url := place(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var cmds [processes]*exec.Cmd
	var outs [processes]*bufio.Scanner
	var ins [processes]io.Writer
	for i := range cmds {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s process-%d", roleEnv, url, i))
		cmd.Stderr = os.Stderr
		ins[i], err = cmd.StdinPipe()
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
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		cmds[i], outs[i] = cmd, bufio.NewScanner(out)
		if !outs[i].Scan() {
			t.Fatal("no start")
		}
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
	s := open(t, url)
	if head := check(t, s, "shared"); head != processes*each+1 {
		t.Errorf("head %d, want %d", head, processes*each+1)
	}
	for r, err := range s.Read(ctx, "shared", session.Range{After: 1}) {
		if want := fmt.Sprintf("process-%d", winner[r.Seq]); err != nil || !strings.Contains(string(r.Payload), want) {
			t.Errorf("record %d is %s (%v), was won by %s", r.Seq, r.Payload, err, want)
		}
	}
}
