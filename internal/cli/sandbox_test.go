package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/jsonlines"
)

// sandboxProgram returns a program that has a home and nothing else.
func sandboxProgram(t testing.TB, args ...string) (*command.Program, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	var out, errs bytes.Buffer
	dir := t.TempDir()
	return &command.Program{
		Args: append([]string{"sandbox"}, args...), Env: []string{"HOME=/home/u", "HOLDFAST_HOME=" + dir},
		Stdout: &out, Stderr: &errs, Getwd: func() (string, error) { return dir, nil },
	}, &out, &errs
}

// An answer is written before the next line is read: a caller can ask one at a time.
func TestSandboxBatchStreams(t *testing.T) {
	p, _, errs := sandboxProgram(t, "check", "--settings", `{"deniedCommands":["rm"]}`, "--batch", "-")
	in, ask := io.Pipe()
	answers, out := io.Pipe()
	p.Stdin, p.Stdout = in, out
	done := make(chan int)
	go func() {
		code := Run(context.Background(), p)
		out.Close()
		done <- code
	}()
	r := bufio.NewReader(answers)
	for i, tt := range []struct{ command, want string }{
		{"ls", `{"id":0,"decision":"allow"}`},
		{"rm x", `{"id":1,"decision":"deny","reason":"command 'rm' is denied by sandbox policy","setting":"deniedCommands","rule":"rm"}`},
		{"git rm x", `{"id":2,"decision":"allow"}`},
	} {
		if _, err := fmt.Fprintf(ask, "{\"id\":%d,\"command\":%q}\n", i, tt.command); err != nil {
			t.Fatal(err)
		}
		if got, err := r.ReadString('\n'); err != nil || strings.TrimSpace(got) != tt.want {
			t.Fatalf("got %s (%v)", got, err)
		}
	}
	ask.Close()
	if code := <-done; code != 0 {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// Settings of one line do not affect other lines, also if there are more than the cache holds.
func TestSandboxBatchSettings(t *testing.T) {
	p, out, errs := sandboxProgram(t, "check", "--batch", "-")
	var in strings.Builder
	for i := range 2*1024 + 1 {
		fmt.Fprintf(&in, `{"settings":{"deniedCommands":["p%d"]},"command":"p%d"}`+"\n", i, i)
		fmt.Fprintf(&in, `{"settings":{"deniedCommands":["p%d"]},"command":"p%d"}`+"\n", i, i+1)
	}
	p.Stdin = strings.NewReader(in.String())
	if code := Run(context.Background(), p); code != 0 {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if want := map[bool]string{true: `{"decision":"deny"`, false: `{"decision":"allow"}`}[i%2 == 0]; !strings.HasPrefix(line, want) {
			t.Fatalf("line %d: %s", i, line)
		}
	}
}

// A long line is denied, and the next one is answered.
func TestSandboxBatchLongLine(t *testing.T) {
	p, out, _ := sandboxProgram(t, "check", "--settings", `{"deniedCommands":["rm"]}`, "--batch", "-")
	p.Stdin = strings.NewReader(`{"command":"` + strings.Repeat("x", jsonlines.MaxLine) + "\"}\n{\"command\":\"ls\"}\n")
	if code := Run(context.Background(), p); code != 2 {
		t.Errorf("exit code %d", code)
	}
	if want := "{\"decision\":\"deny\",\"reason\":\"line 1: the line is longer than 4 MiB\"}\n{\"decision\":\"allow\"}\n"; out.String() != want {
		t.Errorf("got %s", out)
	}
}

func TestSandboxHome(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
	}{
		{[]string{"--read", "~/.ssh/id"}, 3},
		{[]string{"--read", "/home/u/.ssh/id"}, 3},
		{[]string{"--read", "~/x"}, 0},
		{[]string{"cat ~/.ssh/id"}, 3},
		{[]string{"cat $HOME/.ssh/id"}, 3},
		{[]string{"--", "cat", "~/.ssh/id"}, 0}, // a word is not expanded again
	} {
		p, out, errs := sandboxProgram(t, append([]string{"check", "--settings", `{"deniedPaths":["~/.ssh"]}`}, tt.args...)...)
		if code := Run(context.Background(), p); code != tt.code {
			t.Errorf("%q: exit code %d, %s%s", tt.args, code, out, errs)
		}
	}
}

// What a command says does not steer the terminal.
func TestSandboxOutputIsInert(t *testing.T) {
	for _, args := range [][]string{
		{"check", "--settings", `{"deniedCommands":["rm"]}`, "\"\x1b[2J$X\""},
		{"check", "--json", "--settings", `{"deniedCommands":["rm"]}`, "\"\x1b[2J$X\""},
		{"explain", "cat '\x1b[2J' $X > \u202e"},
		{"explain", "--json", "cat '\x1b[2J' $X > \u202e"},
	} {
		p, out, errs := sandboxProgram(t, args...)
		Run(context.Background(), p)
		if s := out.String() + errs.String(); strings.ContainsAny(s, "\x1b\u202e") || s == "" {
			t.Errorf("%q: %q", args, s)
		}
	}
}

func BenchmarkSandboxBatch(b *testing.B) {
	var in strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&in, `{"id":%d,"cwd":"/project","command":"git commit -m 'rm file%d'"}`+"\n", i, i)
	}
	for b.Loop() {
		p, out, _ := sandboxProgram(b, "check", "--settings", `{"deniedCommands":["rm","sudo","curl"]}`, "--batch", "-")
		p.Stdin = strings.NewReader(in.String())
		if code := Run(context.Background(), p); code != 0 || out.Len() == 0 {
			b.Fatal(code)
		}
	}
	b.ReportMetric(float64(1000*b.N)/b.Elapsed().Seconds(), "commands/s")
}
