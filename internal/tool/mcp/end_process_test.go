//go:build unix

package mcp

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Servers that are ended for a while are killed, with all that they started, when
// EndProcesses returns: those that have answered and those that are still starting. Their
// tools stay, and the next call starts them again.
func TestEndProcesses(t *testing.T) {
	dir := t.TempDir()
	noted := func(name string) string { return filepath.Join(dir, name) }
	pid := func(name string) (n int) {
		until(t, name+" starts", func() bool {
			b, err := os.ReadFile(noted(name))
			return err == nil && strings.HasSuffix(string(b), "\n") && json.Unmarshal(b, &n) == nil
		})
		return n
	}
	good := commandServer(t, "a", "plain")
	good.Args = []string{"-c", "sleep 1000 & echo $! > " + noted("child") + "; exec " + good.Command}
	good.Command = "/bin/sh"
	mute := Server{Name: "sh", Command: "/bin/sh", Args: []string{"-c", "echo $$ > " + noted("mute") + "; exec sleep 1000"}, StartTimeout: time.Minute}
	c, n := open(t, &Options{Wait: time.Millisecond}, good, mute)
	c.Start()
	pids := []int{pid("child"), pid("mute")}
	until(t, "a answers", func() bool { return statusOf(t, c, "a").State == Connected })
	c.EndProcesses(errors.New("the lease is lost"))
	// EndProcesses waits for the servers. What they started has got SIGKILL with them, and runs no
	// more of its own code, but the kernel may take a moment until it is gone; it is the child of
	// nobody who could wait for it. So its end cannot be asserted at this very moment.
	for _, pid := range pids {
		until(t, "a killed process ends", func() bool { return syscall.Kill(pid, 0) != nil || zombie(pid) })
	}
	for _, name := range []string{"a", "sh"} {
		if st := statusOf(t, c, name); st.State != Pending {
			t.Errorf("%s: %+v", name, st)
		}
	}
	if n.String() != "" {
		t.Errorf("the person was told %s", n)
	}
	if got := names(c.Tools(t.Context())); got != "mcp__a__die mcp__a__echo" {
		t.Errorf("tools %q", got)
	}
	if got := text(call(t, lookup(t, c, "mcp__a__echo"), `{"Text":"x"}`)); got != "x" {
		t.Errorf("after that: %q", got)
	}
}
