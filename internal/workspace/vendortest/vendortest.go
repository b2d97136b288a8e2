// Package vendortest tests drivers, with recorded conversations and with real programs.
//
//	testdata/allow.wire ──Replay─► Process ◄──protocol── driver ──► RecordingSink
//	real program ────────Start───► Process ◄──protocol── driver ──► RecordingSink
//
//	n := vendortest.NewRecordingSink(t)
//	end, err := codex.Driver{}.Run(t.Context(), turn, vendortest.Replay(t, "testdata/allow.wire"), n)
//	n.Expect("began …", "use call_1 Bash {…}", "permit call_1", "result call_1 …")
//
// In a wire file, lines that begin with "< " are the output of the program, and lines that begin
// with "> " are its input. The next line that the driver sends must have the same method as the
// input line, or be the same response. The package is for tests only.
package vendortest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/transcript"
)

// RecordingSink is a sink that records its calls, one line each, and checks the rules of [vendor.Sink].
type RecordingSink struct {
	t testing.TB
	// Decide makes the decision about each tool use; nil allows all of them.
	Decide func(ctx context.Context, p vendor.Permission) (vendor.Answer, error)

	mu      sync.Mutex
	lines   []string
	uses    map[string]bool // value: whether there is a result
	running map[string]bool
	asked   []vendor.Permission
}

// NewRecordingSink returns an empty sink.
func NewRecordingSink(t testing.TB) *RecordingSink {
	return &RecordingSink{t: t, uses: map[string]bool{}, running: map[string]bool{}}
}

// Asked returns the permission requests so far.
func (n *RecordingSink) Asked() []vendor.Permission {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.asked)
}

// Lines returns the recorded lines.
func (n *RecordingSink) Lines() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

// Expect fails the test if the recorded lines are different, ignoring deltas.
func (n *RecordingSink) Expect(lines ...string) {
	n.t.Helper()
	got := slices.DeleteFunc(n.Lines(), func(l string) bool { return strings.HasPrefix(l, "delta ") })
	if !slices.Equal(got, lines) {
		n.t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(lines, "\n"))
	}
}

func (n *RecordingSink) note(format string, args ...any) {
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

// SessionStarted implements [vendor.Sink].
func (n *RecordingSink) SessionStarted(session string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.note("began %s", session)
	return nil
}

// Delta implements [vendor.Sink].
func (n *RecordingSink) Delta(d vendor.Delta) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.note("delta %s%s", d.Text, d.Thinking)
	return nil
}

// Running implements [vendor.Sink].
func (n *RecordingSink) Running(use string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.uses[use]; known || n.running[use] {
		n.t.Errorf("the use %s is reported as running after its item", use)
	}
	n.running[use] = true
	n.note("running %s", use)
	return nil
}

// Notice implements [vendor.Sink].
func (n *RecordingSink) Notice(text string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.note("notice %s", cut(text))
	return nil
}

// Item implements [vendor.Sink].
func (n *RecordingSink) Item(it transcript.Item) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, err := it.Encode(); err != nil {
		n.t.Errorf("invalid item: %v", err)
	}
	if len(it.Parts) == 0 {
		n.t.Error("an item without parts")
	}
	for _, p := range it.Parts {
		switch p := p.(type) {
		case transcript.Text:
			n.note("%s: %s", it.Role, cut(p.Text))
		case transcript.Thinking:
			n.note("%s thinks: %s", it.Role, cut(p.Text))
		case transcript.ToolUse:
			if _, known := n.uses[p.ID]; known {
				n.t.Errorf("duplicate use %s", p.ID)
			}
			n.uses[p.ID] = false
			n.note("use %s %s %s", p.ID, p.Name, cut(string(p.Input)))
		case transcript.ToolResult:
			if ended, known := n.uses[p.UseID]; ended || !known {
				n.t.Errorf("unexpected result of the use %s (known %v, ended %v)", p.UseID, known, ended)
			}
			n.uses[p.UseID] = true
			word := "result"
			if p.IsError {
				word = "failure"
			}
			n.note("%s %s %s", word, p.UseID, cut(p.Text()))
		default:
			n.note("%s: a %T", it.Role, p)
		}
	}
	return nil
}

// Permit implements [vendor.Sink].
func (n *RecordingSink) Permit(ctx context.Context, p vendor.Permission) (vendor.Answer, error) {
	n.mu.Lock()
	n.asked = append(n.asked, p)
	if _, known := n.uses[p.Use]; known && n.running[p.Use] {
		n.t.Errorf("permission requested for the use %s, which runs without asking", p.Use)
	}
	line := "permit " + p.Use
	if _, known := n.uses[p.Use]; !known {
		line += fmt.Sprintf(" of %q: %s %s", p.Parent, p.Tool, cut(string(p.Input)))
	}
	n.note("%s", line)
	decide := n.Decide
	n.mu.Unlock()
	if decide == nil {
		return vendor.Answer{Allow: true}, nil
	}
	return decide(ctx, p)
}

func cut(s string) string {
	s = strings.ReplaceAll(s, "\n", "⏎")
	if r := []rune(s); len(r) > 300 {
		return string(r[:300]) + "…"
	}
	return s
}

// Process is a process for a driver.
type Process struct {
	in  io.WriteCloser
	out io.Reader
	err *tail
	end func()
}

// End waits for a while until a real program whose input was closed has ended. It then kills the
// program with its children.
func (p *Process) End() { p.end() }

// Stdin implements [vendor.Process].
func (p *Process) Stdin() io.WriteCloser { return p.in }

// Stdout implements [vendor.Process].
func (p *Process) Stdout() io.Reader { return p.out }

// Stderr implements [vendor.Process].
func (p *Process) Stderr() string { return p.err.String() }

// Replay returns a process that replays the output of a wire file and checks its input. After the last line its
// output ends.
func Replay(t testing.TB, file string) *Process {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return ReplayText(t, string(b))
}

// ReplayText is [Replay] of a text.
func ReplayText(t testing.TB, wire string) *Process {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		play(t, wire, inR, outW)
		_ = outW.Close()
		_, _ = io.Copy(io.Discard, inR)
	}()
	t.Cleanup(func() {
		_, _ = inW.Close(), outR.Close()
		<-done
	})
	return &Process{in: inW, out: outR, err: &tail{}}
}

// Output returns a process that writes a text and ignores its input.
func Output(text string) *Process {
	return &Process{in: discard{}, out: strings.NewReader(text), err: &tail{}}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
}

func play(t testing.TB, wire string, in io.Reader, out io.Writer) {
	input := bufio.NewReader(in)
	ids := map[string]json.RawMessage{} // the id in the recording and the current id
	for line := range strings.Lines(wire) {
		line = strings.TrimSuffix(line, "\n")
		text, ok := strings.CutPrefix(line, "< ")
		if ok {
			if _, err := fmt.Fprintln(out, renumber(text, ids)); err != nil {
				return // the driver stopped reading
			}
			continue
		}
		want, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue // a comment
		}
		got, err := input.ReadBytes('\n')
		if err != nil {
			return // the driver is done
		}
		compare(t, want, got, ids)
	}
}

func compare(t testing.TB, want string, got []byte, ids map[string]json.RawMessage) {
	var w, g message
	if err := json.Unmarshal(got, &g); err != nil {
		t.Errorf("the driver sent an invalid message: %s", got)
	}
	_ = json.Unmarshal([]byte(want), &w)
	if w.Method != g.Method {
		t.Errorf("the driver sent %s, the recording has %s", cut(string(got)), cut(want))
		return
	}
	if w.Method != "" {
		ids[string(w.ID)] = g.ID
		return
	}
	if !bytes.Equal(w.ID, g.ID) || !same(w.Result, g.Result) {
		t.Errorf("the driver answered %s, the recording has %s", cut(string(got)), cut(want))
	}
}

func same(a, b json.RawMessage) bool {
	var x, y any
	_, _ = json.Unmarshal(a, &x), json.Unmarshal(b, &y)
	left, _ := json.Marshal(x)
	right, _ := json.Marshal(y)
	return bytes.Equal(left, right)
}

// renumber replaces the id of a response by the id of the driver's call.
func renumber(line string, ids map[string]json.RawMessage) string {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(line), &m) != nil || m["method"] != nil || m["id"] == nil {
		return line
	}
	now := ids[string(m["id"])]
	if now == nil {
		return line
	}
	m["id"] = now
	b, err := json.Marshal(m)
	if err != nil {
		return line
	}
	return string(b)
}

// tail keeps the last 8 KiB that were written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if over := len(t.b) - 8<<10; over > 0 {
		t.b = t.b[over:]
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

// exitTimeout is how long a program may take to exit by itself.
const exitTimeout = 10 * time.Second

// Start starts a real program and kills it with its children when the test ends.
func Start(t testing.TB, dir string, env []string, args ...string) *Process {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...) // the program outlives the test's context, so that it can exit by itself
	cmd.Dir, cmd.Env = dir, env
	cmd.WaitDelay = time.Second // children that it leaves behind may hold its output open
	setProcessGroup(cmd)
	p := &Process{err: &tail{}}
	cmd.Stderr = p.err
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.end = sync.OnceFunc(func() {
		patience := time.AfterFunc(exitTimeout, func() { kill(cmd) })
		defer patience.Stop()
		_ = cmd.Wait()
		kill(cmd) // its orphaned children
	})
	t.Cleanup(func() {
		p.end()
		if t.Failed() && p.Stderr() != "" {
			t.Logf("%s wrote: %s", args[0], p.Stderr())
		}
	})
	return p
}
