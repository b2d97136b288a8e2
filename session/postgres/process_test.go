package postgres_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/postgres"
)

// The test binary runs itself as another program that uses the same schema when this
// names it.
const childEnv = "HOLDFAST_POSTGRES_CHILD"

// childWins is how many appends a child must win.
const childWins = 60

func TestMain(m *testing.M) {
	at := os.Getenv(childEnv)
	if at == "" {
		os.Exit(m.Run())
	}
	if err := race(at); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// race renames the session against whoever else does, and prints the digest of each
// record that was acknowledged.
func race(at string) error {
	s, err := postgres.Open(ctx, at, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	a := &author{store: s, id: "s"}
	for won := 0; won < childWins; {
		if err := a.resume(); err != nil {
			return err
		}
		title := fmt.Sprintf("by %d", os.Getpid())
		r := a.seal(record.KindMetaChanged, session.MetaPatch{Title: &title})
		switch err := a.append(r); {
		case err == nil:
			won++
			fmt.Println(r.Digest)
		case !errors.Is(err, session.ErrConflict):
			return err
		}
	}
	return nil
}

// Two programs and the holder of the lease append to one session at once, and a third
// takes it over in between: each seq has one winner, and who lost the lease is fenced.
func TestTwoProcesses(t *testing.T) {
	at := target(t)
	s := open(t, at)
	a := create(t, s, "s")
	var outs []*strings.Builder
	var children []*exec.Cmd
	for range 2 {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		c, out := exec.Command(self), &strings.Builder{}
		c.Env = append(os.Environ(), childEnv+"="+at)
		c.Stdout, c.Stderr = out, os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		children, outs = append(children, c), append(outs, out)
	}
	mine := map[session.Digest]bool{}
	thief := *a
	for won := 0; won < 60; {
		if err := a.resume(); err != nil {
			t.Fatal(err)
		}
		r := a.item("of the holder")
		switch err := a.append(r); {
		case err == nil:
			mine[r.Digest] = true
			if won++; won == 30 {
				if err := thief.take(); err != nil {
					t.Fatal(err)
				}
			}
		case errors.Is(err, session.ErrFenced):
			if won < 30 {
				t.Fatal(err)
			}
			a.epoch = thief.epoch
		case !errors.Is(err, session.ErrConflict):
			t.Fatal(err)
		}
	}
	for i, c := range children {
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(strings.NewReader(outs[i].String())); lines.Scan(); {
			var d session.Digest
			if err := d.UnmarshalText(lines.Bytes()); err != nil {
				t.Fatal(err)
			}
			mine[d] = true
		}
	}
	if n := count(t, s, "s"); n != 1+60+2*childWins || len(mine) != int(n-1) {
		t.Errorf("%d records, %d acknowledged, want %d", n, len(mine), 60+2*childWins)
	}
	for r, err := range s.Read(ctx, "s", session.Range{After: 1}) {
		if err != nil || !mine[r.Digest] {
			t.Errorf("record %d was not acknowledged (%v)", r.Seq, err)
		}
	}
}
