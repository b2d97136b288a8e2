package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// lockedBuffer is a buffer that can be read while it grows.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// shortDir returns a folder whose path is short enough for a socket in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// serve runs a daemon in this process and returns a client of it; stop ends it.
func serve(t *testing.T, dir string, env []string) (c *client.Client, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	log := &lockedBuffer{}
	p := command.Program{Args: []string{"daemon", "--drain", "0s"}, Env: env, Stderr: log, Getwd: func() (string, error) { return dir, nil }}
	code := make(chan int, 1)
	go func() { code <- Run(ctx, &p) }()
	stop = sync.OnceFunc(func() {
		cancel(command.SignalError{By: outcome.Terminated})
		<-code
	})
	t.Cleanup(stop)
	get := (&command.Program{Env: env}).Getenv
	for deadline := time.Now().Add(20 * time.Second); ; {
		c, err := client.Dial(t.Context(), &client.Options{Getenv: get, Name: "cli"})
		if err == nil {
			t.Cleanup(c.Close)
			return c, stop
		}
		select {
		case n := <-code:
			code <- n
			t.Fatalf("the daemon ended with %d: %s", n, log)
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("no daemon: %v; %s", err, log)
		}
	}
}

// newProgram returns a program in a folder, its environment and its output.
func newProgram(dir string, env []string, args ...string) (p *command.Program, out, errs *lockedBuffer) {
	out, errs = &lockedBuffer{}, &lockedBuffer{}
	return &command.Program{Args: args, Env: env, Stdout: out, Stderr: errs, Getwd: func() (string, error) { return dir, nil }}, out, errs
}

func environ(dir string, more ...string) []string {
	return append([]string{"HOLDFAST_HOME=" + filepath.Join(dir, "home"), "HOME=" + dir, "PATH=" + os.Getenv("PATH"), "USER=ann"}, more...)
}

var varyingText = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|01[0-9A-Z]{24}|"(duration_ms|duration_api_ms|seq)":\d+|[\d.]+ (ms|s|µs)\b`)

const manyThings = `
chunk: 4
price: {input: 3, output: 15}
steps:
  - text: I look.
    thinking: hm, hm
    tool_uses:
      - {tool: Bash, input: {command: "echo one; exit 3"}}
      - {tool: Read, input: {file_path: nothing.txt}}
  - tool_uses:
      - {tool: Write, input: {file_path: new.txt, content: "a\nb\n"}}
  - text: "it ended: \e[31m done"
  - text: and again
`

// A run in the daemon prints the same as a local run, byte for byte except for IDs and times.
func TestRemoteOutputMatchesLocal(t *testing.T) {
	for name, args := range map[string][]string{
		"text":        {"--permission-mode", "acceptEdits"},
		"quiet":       {"-q", "--permission-mode", "acceptEdits"},
		"denied":      {},
		"json":        {"--output-format", "json", "--permission-mode", "acceptEdits"},
		"stream":      {"--output-format", "stream-json", "--permission-mode", "acceptEdits"},
		"partial":     {"--output-format", "stream-json", "--include-partial-messages", "--permission-mode", "acceptEdits"},
		"hooks":       {"--permission-mode", "acceptEdits", "--settings", "../hooks.json"},
		"stream hook": {"--output-format", "stream-json", "--permission-mode", "acceptEdits", "--settings", "../hooks.json"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := shortDir(t)
			write(t, dir, "play.yaml", manyThings)
			greet := filepath.Join(".claude", "skills", "greet") // a tool that exists because of the user's files
			if err := os.MkdirAll(filepath.Join(dir, greet), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, dir, filepath.Join(greet, "SKILL.md"), "---\nname: greet\ndescription: greets\n---\nSay hello.\n")
			write(t, dir, "hooks.json", `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "echo '{\"systemMessage\": \"seen\"}'"}]}]}}`)
			here := runOutput(t, dir, append([]string{"--no-daemon"}, args...), false)
			if there := runOutput(t, dir, args, true); there != here {
				t.Errorf("here:\n%s\nthere:\n%s", here, there)
			}
		})
	}
}

// runOutput returns the output of a run in a fresh folder, with a daemon or without.
func runOutput(t *testing.T, dir string, args []string, daemon bool) string {
	t.Helper()
	work := filepath.Join(dir, "work")
	for _, old := range []string{work, filepath.Join(dir, "home")} {
		if err := os.RemoveAll(old); err != nil {
			t.Fatal(err)
		}
	}
	skillDir := filepath.Join(work, ".claude", "skills", "own") // is ignored, with a warning
	if err := os.MkdirAll(skillDir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, skillDir, "SKILL.md", "---\nname: own\ndescription: is not trusted\n---\nHi.\n")
	env := environ(dir, "HOLDFAST_MODEL=scripted/../play.yaml")
	if daemon {
		_, stop := serve(t, dir, env)
		defer stop()
	}
	p, out, errs := newProgram(work, env, append([]string{"run", "--session-id", "s", "go"}, args...)...)
	code := Run(t.Context(), p)
	text := out.String() + "\n--\n" + errs.String()
	text = joinPieces(varyingText.ReplaceAllString(text, "~"))
	if strings.Contains(text, "denied:") { // the model gets another wording
		text = regexp.MustCompile(`\d+ tokens|\$[\d.]+`).ReplaceAllString(text, "~")
	}
	return text + outcomeName(code)
}

// streamedPiece splits a line with a streamed piece: the text before it, the piece, and the rest.
var streamedPiece = regexp.MustCompile(`^(\{"type":"stream_event","event":\{"type":"content_block_delta".*?"(?:thinking|text|partial_json)":)("(?:[^"\\]|\\.)*")(\}.*)$`)

// joinPieces joins the pieces of a block into one line: a daemon masks what it streams, and delays beginnings of
// words for that.
func joinPieces(text string) string {
	var out []string
	head, tail, sum := "", "", ""
	flush := func() {
		if head != "" {
			out = append(out, head+strconv.Quote(sum)+tail)
		}
		head, sum = "", ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		m := streamedPiece.FindStringSubmatch(line)
		if m == nil {
			flush()
			out = append(out, line)
			continue
		}
		if m[1] != head {
			flush()
		}
		var piece string
		if err := json.Unmarshal([]byte(m[2]), &piece); err != nil {
			panic(err)
		}
		head, tail, sum = m[1], m[3], sum+piece
	}
	flush()
	return strings.Join(out, "\n")
}

func outcomeName(code int) string {
	for _, o := range outcome.All() {
		if o.Exit == code {
			return "\n" + o.Code
		}
	}
	return "\n?"
}

// A session is resumed in the daemon, forked there, and found by its name.
func TestRemoteResume(t *testing.T) {
	dir := shortDir(t)
	env := environ(dir, "HOLDFAST_MODEL=scripted/play.yaml")
	write(t, dir, "play.yaml", "steps: [{text: one}, {text: two}, {text: three}, {text: four}]")
	c, _ := serve(t, dir, env)
	for _, tt := range []struct {
		args []string
		code int
		want string // in either stream
	}{
		{[]string{"run", "--session-id", "s", "--name", "my work", "go"}, 0, "one"},
		{[]string{"run", "-c", "more"}, 0, "two"},
		{[]string{"run", "-r", "my work", "more"}, 0, "resuming session s, 4 items"},
		{[]string{"run", "-r", "s", "--fork-session", "more"}, 0, "forked s, continuing in "},
		{[]string{"run", "-r", "nowhere", "more"}, 9, "no such session"},
		{[]string{"run", "-v", "--max-turns", "3", "--session-id", "here", "more"}, 0, "one"},
		{[]string{"run", "--store", "sqlite:other.db", "more"}, 0, "one"},
	} {
		p, out, errs := newProgram(dir, env, tt.args...)
		if code := Run(t.Context(), p); code != tt.code || !strings.Contains(out.String()+errs.String(), tt.want) {
			t.Errorf("%v: exit code %d\n%s\n%s", tt.args, code, out, errs)
		}
	}
	page, err := c.Runs(t.Context(), client.ListOptions{})
	if err != nil || len(page.Items) != 3 { // s, its fork and "here"; not the one of the other store
		t.Errorf("%d runs: %v", len(page.Items), err)
	}
	s, err := c.Session(t.Context(), "s")
	if err != nil || s.Run != string(api.StatusCompleted) || s.Title != "my work" {
		t.Errorf("%+v: %v", s, err)
	}
}

// An interrupt stops the run in the daemon; the exit code says so.
func TestInterruptRemoteRun(t *testing.T) {
	dir := shortDir(t)
	env := environ(dir, "HOLDFAST_MODEL=scripted/play.yaml")
	write(t, dir, "play.yaml", hangingPlay)
	c, _ := serve(t, dir, env)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	p, out, errs := newProgram(dir, env, "run", "--session-id", "s", "--output-format", "stream-json", "go")
	code := make(chan int, 1)
	go func() { code <- Run(ctx, p) }()
	waitFor(t, func() bool { return strings.Contains(out.String(), `"subtype":"init"`) })
	cancel(command.SignalError{Signal: os.Interrupt, By: outcome.Interrupted})
	if got := <-code; got != outcome.Interrupted.Exit || !strings.Contains(out.String(), `"terminal_reason":"interrupted"`) {
		t.Errorf("exit code %d: %s %s", got, out, errs)
	}
	if run, err := c.Run(t.Context(), "s"); err != nil || run.Status != api.StatusCancelled {
		t.Errorf("%+v: %v", run, err)
	}
}

// Another client stops the run.
func TestStoppedElsewhere(t *testing.T) {
	dir := shortDir(t)
	env := environ(dir, "HOLDFAST_MODEL=scripted/play.yaml")
	write(t, dir, "play.yaml", hangingPlay)
	c, _ := serve(t, dir, env)
	p, _, errs := newProgram(dir, env, "run", "--session-id", "s", "go")
	code := make(chan int, 1)
	go func() { code <- Run(t.Context(), p) }()
	waitFor(t, func() bool { r, err := c.Run(t.Context(), "s"); return err == nil && r.Status == api.StatusRunning })
	if _, err := c.StopRun(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != outcome.Interrupted.Exit || !strings.Contains(errs.String(), "stopped by ") {
		t.Errorf("exit code %d: %s", got, errs)
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen")
		}
		time.Sleep(2 * time.Millisecond) // between two checks of another goroutine's progress
	}
}

// If the daemon ends during a run, the client reports it; the session can be resumed.
func TestDaemonEndsDuringRun(t *testing.T) {
	dir := shortDir(t)
	env := environ(dir, "HOLDFAST_MODEL=scripted/play.yaml")
	write(t, dir, "play.yaml", hangingPlay)
	c, stop := serve(t, dir, env)
	p, _, errs := newProgram(dir, env, "run", "--session-id", "s", "go")
	code := make(chan int, 1)
	go func() { code <- Run(t.Context(), p) }()
	waitFor(t, func() bool { r, err := c.Run(t.Context(), "s"); return err == nil && r.Status == api.StatusRunning })
	stop()
	if got := <-code; got == 0 || !strings.Contains(errs.String(), " is saved") || !strings.Contains(errs.String(), "--resume s") {
		t.Errorf("exit code %d: %s", got, errs)
	}
}

// A daemon of another version, and a server that is not a daemon, are reported and not used.
func TestIncompatibleDaemons(t *testing.T) {
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"another version": {func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(api.Info{Version: "9.0.0", Protocol: 2})
		}, "has version 9.0.0 with protocol 2"},
		"no access": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"code": "denied", "detail": "not you", "hint": "ask ann"}`))
		}, "not you"},
		"something else": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) }, "cannot decode"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := shortDir(t)
			run := filepath.Join(dir, "home", "run")
			if err := os.MkdirAll(run, 0o700); err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("unix", filepath.Join(run, "daemon.sock"))
			if err != nil {
				t.Fatal(err)
			}
			s := &http.Server{Handler: tt.answer, ReadHeaderTimeout: time.Minute}
			go func() { _ = s.Serve(l) }()
			defer s.Close()
			write(t, dir, "play.yaml", "steps: [{text: done}, {text: done}]")
			env := environ(dir, "HOLDFAST_MODEL=scripted/play.yaml")
			p, out, errs := newProgram(dir, env, "run", "go")
			if code := Run(t.Context(), p); code != 0 || !strings.Contains(errs.String(), tt.want) || !strings.Contains(out.String(), "done") {
				t.Errorf("exit code %d\n%s\n%s", code, out, errs)
			}
			p, _, errs = newProgram(dir, append(env, "HOLDFAST_NO_DAEMON=1"), "run", "go")
			if code := Run(t.Context(), p); code != 0 || strings.Contains(errs.String(), "daemon") {
				t.Errorf("exit code %d\n%s", code, errs)
			}
		})
	}
}

// BenchmarkNoDaemon measures the search for a daemon that does not exist.
func BenchmarkNoDaemon(b *testing.B) {
	get := func(name string) string { return map[string]string{"HOLDFAST_HOME": b.TempDir()}[name] }
	o := &client.Options{Getenv: get, Home: b.TempDir()}
	for b.Loop() {
		if _, err := client.Dial(b.Context(), o); !errors.Is(err, client.ErrNoDaemon) {
			b.Fatal(err)
		}
	}
}
