package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// inspect runs the MCP inspector, an independent client, against a server.
func inspect(t *testing.T, env []string, args ...string) map[string]any {
	t.Helper()
	dir := os.Getenv("HOLDFAST_TEST_MCP")
	if dir == "" {
		testneed.Need(t, `no inspector of MCP: eval "$(scripts/services env mcp)" makes this run`)
	}
	cli := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	c := exec.CommandContext(t.Context(), filepath.Join(dir, "bin", "node"), append([]string{cli, "--cli"}, args...)...)
	c.Env = append(env, "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	out, err := c.Output()
	const toolFailed = 5 // its exit code when the tool reports an error
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() != toolFailed {
		t.Fatalf("the inspector: %v\n%s%s", err, out, e.Stderr)
	}
	var doc map[string]any
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return doc
}

// TestInspector has the inspector list and call the tools, over stdio and over HTTP: an allowed call runs in a
// session of its own, and a call that needs approval is denied.
func TestInspector(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts node several times")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(root, "work")
	if err := os.MkdirAll(filepath.Join(work, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "a.txt"), []byte("the text of a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + root, "HOLDFAST_HOME=" + filepath.Join(root, ".holdfast"), "TMPDIR=" + root}
	self, err := exec.LookPath("holdfast")
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), self, args...)
		c.Env, c.Dir = append(env, "PATH="+os.Getenv("PATH")), work
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	stdio := []string{self, "mcp", "serve", "--cwd", work}
	over := func(target []string) func(args ...string) map[string]any {
		return func(args ...string) map[string]any {
			t.Helper()
			return inspect(t, env, append(target, args...)...)
		}
	}
	check := func(ask func(args ...string) map[string]any) {
		t.Helper()
		var names []string
		tools, _ := ask("--method", "tools/list")["tools"].([]any)
		for _, x := range tools {
			names = append(names, x.(map[string]any)["name"].(string))
		}
		for _, want := range []string{"Read", "Write", "Edit", "Bash", "Glob", "Grep", "SessionList", "SessionSearch", "SessionShow"} {
			if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+want+" ") {
				t.Errorf("there is no %s among %v", want, names)
			}
		}
		if len(names) != 9 {
			t.Errorf("the tools are %v", names)
		}
		read := ask("--method", "tools/call", "--tool-name", "Read", "--tool-arg", "file_path=a.txt")
		if text := toolText(t, read); !strings.Contains(text, "the text of a") || read["isError"] == true {
			t.Errorf("Read: %v", read)
		}
	}
	check(over(stdio))

	serve := exec.CommandContext(t.Context(), self, "mcp", "serve", "--cwd", work, "--http", "127.0.0.1:0")
	serve.Env = append(env, "PATH="+os.Getenv("PATH"))
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	stderr, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Process.Signal(os.Interrupt)
		_ = serve.Wait()
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	url := regexp.MustCompile(`http://\S+`).FindString(line)
	if err != nil || url == "" {
		t.Fatalf("%q, %v", line, err)
	}
	token := strings.Fields(run("daemon", "token", "create", "--scope", "run", "inspector"))[0]
	check(over([]string{url, "--transport", "http", "--header", "Authorization: Bearer " + token}))
	write := over([]string{url, "--transport", "http", "--header", "Authorization: Bearer " + token})(
		"--method", "tools/call", "--tool-name", "Bash", "--tool-arg", "command=touch made")
	if text := toolText(t, write); write["isError"] != true || !strings.Contains(text, "no one can answer") {
		t.Errorf("Bash: %v", write)
	}
	if _, err := os.Stat(filepath.Join(work, "made")); err == nil {
		t.Error("a command ran that was not allowed")
	}
	sessions := run("sessions", "list")
	if n := strings.Count(sessions, "MCP: "); n != 2 {
		t.Errorf("%d sessions of clients:\n%s", n, sessions)
	}
	if out := run("audit", "verify"); !strings.Contains(out, "ok") && out == "" {
		t.Errorf("the log: %s", out)
	}
}

// toolText returns the text result of a call.
func toolText(t *testing.T, doc map[string]any) string {
	t.Helper()
	var b strings.Builder
	list, _ := doc["content"].([]any)
	for _, c := range list {
		text, _ := c.(map[string]any)["text"].(string)
		b.WriteString(text)
	}
	return b.String()
}
