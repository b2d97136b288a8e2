package object_test

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
	"github.com/holdfast-dev/holdfast/session/object"
)

// The test binary starts itself as another process when this is set: the words are the
// store's URL, the process's name and how many appends it must win.
const racerEnv = "HOLDFAST_TEST_OBJECT_RACER"

func TestMain(m *testing.M) {
	words := strings.Fields(os.Getenv(racerEnv))
	if len(words) == 0 {
		os.Exit(m.Run())
	}
	if err := racer(words[0], words[1], words[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// racer waits for the start, opens the store, which may not exist, and tries to append
// under each seq; it prints the ones that it won.
func racer(url, name, wins string) error {
	n, err := strconv.Atoi(wins)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	s, err := object.Open(ctx, url, &object.Options{FoldSlots: 4})
	if err != nil {
		return err
	}
	defer s.Close()
	a := &author{id: "shared"}
	if err := s.Append(ctx, a.id, a.batch(a.opened(nil))); err != nil && !errors.Is(err, session.ErrExists) {
		return err
	}
	for won := 0; won < n; {
		p, err := s.List(ctx, session.Query{ID: a.id})
		if err != nil {
			return err
		}
		a.head, a.last = p.Sessions[0].Head, p.Sessions[0].HeadDigest
		b := a.batch(a.next(session.KindMetaChanged, session.MetaPatch{Title: &name}))
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
	const processes, each = 3, 30
	url := newURL(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var (
		cmds []*exec.Cmd
		outs []*bufio.Scanner
		ins  []io.Writer
	)
	for i := range processes {
		cmd := exec.CommandContext(t.Context(), exe)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s process-%d %d", racerEnv, url, i, each))
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
		lines := bufio.NewScanner(out)
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
	records := chain(t, open(t, url, nil), "shared", 1)
	for _, r := range records[1:] {
		if want := fmt.Sprintf("process-%d", winner[r.Seq]); !strings.Contains(string(r.Payload), want) {
			t.Errorf("record %d is %s, was won by %s", r.Seq, r.Payload, want)
		}
	}
	if len(records) != processes*each+1 {
		t.Errorf("%d records, want %d", len(records), processes*each+1)
	}
}
