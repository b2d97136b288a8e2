//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/tool"
)

func TestStdioServer(t *testing.T) {
	s := commandServer(t, "env", "environ")
	s.Env["KEY"] = "${SECRET:-none} ${OTHER}"
	c, _ := open(t, &Options{Environ: []string{"PATH=/usr/bin:/bin", "HOME=/h", "OTHER=o", "API_KEY=" + "k"}}, s)
	got := text(call(t, lookup(t, c, "mcp__env__environ"), "{}"))
	want := asServer + "=environ\nHOME=/h\nKEY=none o\nPATH=/usr/bin:/bin\nPWD=" + c.o.Dir + "\ncwd " + c.o.Dir
	if got != want {
		t.Errorf("the server sees\n%s\nwant\n%s", got, want)
	}
}

func TestStdioServersThatFail(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts programs")
	}
	hang := commandServer(t, "hang", "hang")
	hang.StartTimeout = 300 * time.Millisecond
	c, n := open(t, nil, commandServer(t, "exit", "exit"), commandServer(t, "huge", "huge"), commandServer(t, "noise", "noise"), hang,
		Server{Name: "absent", Command: "no-such-program"}, commandServer(t, "garbage", "garbage"))
	if got := names(c.Tools(t.Context())); got != "mcp__garbage__die mcp__garbage__echo" {
		t.Errorf("got %q", got)
	}
	for name, want := range map[string]string{
		"exit": "exit status 3", "huge": "larger than 16 MiB", "noise": "invalid messages", "hang": "no answer within 300ms", "absent": "not found in PATH",
	} {
		st := statusOf(t, c, name)
		if st.State != Failed || !strings.Contains(st.Error, want) || !strings.Contains(n.String(), want) {
			t.Errorf("%s: %s %q, want %q", name, st.State, st.Error, want)
		}
	}
	if st := statusOf(t, c, "exit"); !strings.Contains(st.Error, "cannot find [31mthe database") || strings.ContainsRune(st.Error, 0x1b) {
		t.Errorf("its last words: %q", st.Error)
	}
	if st := statusOf(t, c, "garbage"); !strings.Contains(st.Stderr, "welcome to the server") {
		t.Errorf("the noise: %q", st.Stderr)
	}
	start := time.Now()
	if err := c.Close(); err != nil || time.Since(start) > 10*time.Second {
		t.Errorf("closed after %s: %v", time.Since(start), err)
	}
}

func statusOf(t testing.TB, c *Client, name string) Status {
	t.Helper()
	for _, st := range c.Status() {
		if st.Name == name {
			return st
		}
	}
	t.Fatalf("no server %s", name)
	return Status{}
}

// A server that dies fails its call, and the next use starts it again.
func TestServerDies(t *testing.T) {
	c, n := open(t, nil, commandServer(t, "a", "plain"))
	die, echo := lookup(t, c, "mcp__a__die"), lookup(t, c, "mcp__a__echo")
	r := call(t, die, "{}")
	if got := text(r); !r.IsError || !strings.Contains(got, "may have had an effect") || !strings.Contains(got, "exit status 7") || !strings.Contains(got, "out of luck") {
		t.Errorf("got %q", got)
	}
	if got := text(call(t, echo, `{"Text":"x"}`)); got != "x" {
		t.Errorf("at once: %q", got)
	}
	if st := statusOf(t, c, "a"); st.Restarts != 1 || st.State != Connected {
		t.Errorf("status %+v", st)
	}
	call(t, die, "{}")
	if got := text(call(t, echo, `{"Text":"x"}`)); !strings.Contains(got, "next attempt in") {
		t.Errorf("after the second time: %q", got)
	}
	if got := names(c.Tools(t.Context())); got != "mcp__a__die mcp__a__echo" {
		t.Errorf("tools %q", got)
	}
	for range maxFailures {
		c.links[0].mu.Lock()
		c.links[0].again = time.Time{}
		c.links[0].mu.Unlock()
		call(t, die, "{}")
	}
	if got := text(call(t, echo, `{"Text":"x"}`)); !strings.Contains(got, "not retried after 5 failures") {
		t.Errorf("in the end: %q", got)
	}
	if got := names(c.Tools(t.Context())); got != "" {
		t.Errorf("tools %q", got)
	}
	if !strings.Contains(n.String(), "no further attempts are made") {
		t.Errorf("told %q", n)
	}
	if err := c.Connect(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}

// What a server has started ends with it.
func TestProcessesEndWithServer(t *testing.T) {
	dir := t.TempDir()
	s := Server{Name: "sh", Command: "/bin/sh", Args: []string{"-c", "sleep 1000 & echo $! > " + filepath.Join(dir, "pid") + "; exec sleep 1000"}, StartTimeout: time.Minute}
	c, _ := open(t, nil, s)
	c.Start()
	var pid int
	until(t, "the server starts", func() bool {
		b, err := os.ReadFile(filepath.Join(dir, "pid"))
		return err == nil && strings.HasSuffix(string(b), "\n") && json.Unmarshal(b, &pid) == nil
	})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	until(t, "its child ends", func() bool { return syscall.Kill(pid, 0) != nil || zombie(pid) })
}

func zombie(pid int) bool {
	b, err := os.ReadFile("/proc/" + strings.TrimSpace(string(mustJSON(pid))) + "/stat")
	return err == nil && strings.Contains(string(b), ") Z ")
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// A call to a server that does not read what it is sent ends all the same.
func TestServerDoesNotRead(t *testing.T) {
	deaf := deafServer("deaf")
	deaf.CallTimeout = 100 * time.Millisecond
	c, _ := open(t, nil, deaf)
	to := lookup(t, c, "mcp__deaf__t")
	start := time.Now()
	r, err := to.Run(context.Background(), &tool.Call{Input: json.RawMessage(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)})
	if err != nil || !r.IsError || time.Since(start) > 10*time.Second {
		t.Errorf("after %s: %q, %v", time.Since(start), text(r), err)
	}
}
