//go:build linux && (amd64 || arm64)

package spawn_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/holdfast-dev/holdfast/bench/spawn"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// This test program is also the serving process, if an argument says so.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == spawn.RefuseFlag || os.Args[1] == "-serve") {
		err := error(nil)
		if os.Args[1] == spawn.RefuseFlag {
			err = spawn.Refuse()
		}
		if err == nil {
			err = spawn.Serve(os.Stdin, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// client starts a serving process.
func client(t *testing.T, flag string) *spawn.Client {
	t.Helper()
	if err := kernel.Namespaces(); err != nil {
		testneed.Need(t, "no namespaces can be made here (%v): run this outside of a container", err)
	}
	cmd := exec.Command("/proc/self/exe", flag)
	cmd.Stderr = os.Stderr
	if flag == spawn.RefuseFlag {
		cmd.SysProcAttr = spawn.Refused()
	}
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
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return spawn.NewClient(in, io.Reader(out))
}

func TestWays(t *testing.T) {
	for flag, ways := range map[string][]spawn.Way{
		"-serve": {
			spawn.Fork, spawn.OSExec, spawn.NoSockets, spawn.NoNetwork, spawn.Reporting, spawn.Proxy, spawn.Open, spawn.OpenProxy,
		},
		spawn.RefuseFlag: {spawn.Fork, spawn.Weaker},
	} {
		c, dir := client(t, flag), t.TempDir()
		for _, way := range ways {
			for workers := range 3 {
				a, err := c.Block(&spawn.Ask{Way: way, Argv: []string{"/bin/true"}, Dir: dir, Times: 3, Workers: workers})
				if err != nil {
					t.Fatalf("%s %s: %v", flag, way, err)
				}
				if len(a.Took) != 3 || a.Took[0] <= 0 || a.Took[2] <= 0 || a.Wall < a.Took[0] {
					t.Errorf("%s %s: %+v", flag, way, a)
				}
			}
			if _, err := c.Block(&spawn.Ask{Way: way, Argv: []string{"/bin/false"}, Dir: dir, Times: 1}); err == nil {
				t.Errorf("%s %s: a program that fails was measured", flag, way)
			}
		}
	}
}

// A request that cannot be measured returns an error, and the next block is answered.
func TestRefusals(t *testing.T) {
	c, dir := client(t, "-serve"), t.TempDir()
	for name, a := range map[string]spawn.Ask{
		"weaker where namespaces can be made": {Way: spawn.Weaker, Argv: []string{"/bin/true"}, Times: 1},
		"unknown way":                         {Way: "flying", Argv: []string{"/bin/true"}, Times: 1},
		"no program":                          {Way: spawn.Fork, Times: 1},
		"no times":                            {Way: spawn.Fork, Argv: []string{"/bin/true"}},
		"no such program":                     {Way: spawn.Fork, Argv: []string{"/nowhere"}, Times: 1},
	} {
		a.Dir = dir
		if _, err := c.Block(&a); err == nil {
			t.Errorf("%s: it was measured", name)
		}
	}
	if _, err := c.Block(&spawn.Ask{Way: spawn.Fork, Argv: []string{"/bin/true"}, Dir: dir, Times: 1}); err != nil {
		t.Error(err)
	}
}
