//go:build unix

package examples_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/client"
)

// TestOutput builds the programs and compares their output. None of them needs a key.
func TestOutput(t *testing.T) {
	bin := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", bin, "./approver", "./daemon-client", "./deploy", "./events", "./hooks", "./quickstart", "./tool", "../cmd/holdfast")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	tests := []struct {
		name, script, stdin, want string
		args                      []string
	}{
		{name: "tool", want: `price of lamp
approve Order {"item":"lamp","quantity":2}
I look up the price.
I order it.
ordered 2 × lamp
`},
		{name: "approver", stdin: "n\n", want: `allowed by the program: Write
Bash wants command.execute: git push origin main
allow? (y/n) I write the file.
I send it to the server.
The file is written. It is not pushed.
denied: Bash by person
`},
		{name: "events", want: `turn started
delta "I look for G"
delta "o files."
tool started: Glob {"pattern":"**/*.go"}
tool finished: Glob error: false
delta "There is one"
delta " file."
result: completed I look for Go files.
There is one file.
read to the last record: true
`},
		{name: "hooks", want: `blocked: production
Deploy returned: deployed to staging
Staging is deployed.
`},
		{
			name: "quickstart", script: "steps:\n  - tool_uses: [{tool: Stock, input: {item: lamp}}]\n  - text: \"We have {{last_result}}.\"\n",
			want: "We have 12 pieces of lamp. <nil>\n",
		},
		{
			name: "deploy", script: "steps:\n  - tool_uses: [{tool: Deploy, input: {service: api}}]\n  - text: \"Done: {{last_result}}\"\n",
			stdin: "n\n", want: "Deploy {\"service\":\"api\"}\nallow? [y/n] Done: permission denied: not today <nil>\n",
		},
		{name: "daemon-client", stdin: "y\n", args: []string{"write notes.md"}, want: `allow Write $DIR/notes.md? (y/n) started Write
The file is written.
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "ex") // the path of the daemon's socket must be short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			if dir, err = filepath.EvalSymlinks(dir); err != nil {
				t.Fatal(err)
			}
			home := filepath.Join(dir, "home")
			env := append(os.Environ(), "HOLDFAST_HOME="+home, "HOLDFAST_MODEL=scripted/"+filepath.Join(dir, "script.yaml"), "HOLDFAST_DAEMON_URL=")
			if tt.script != "" {
				if err := os.WriteFile(filepath.Join(dir, "script.yaml"), []byte(tt.script), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if tt.name == "daemon-client" {
				startDaemon(t, filepath.Join(bin, "holdfast"), dir, home, env)
			}
			cmd := exec.CommandContext(t.Context(), filepath.Join(bin, tt.name), tt.args...)
			cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = dir, env, strings.NewReader(tt.stdin), os.Stderr
			out, err := cmd.Output()
			if got := strings.ReplaceAll(string(out), dir, "$DIR"); err != nil || got != tt.want {
				t.Errorf("%v, got\n%s\nwant\n%s", err, got, tt.want)
			}
		})
	}
}

// startDaemon starts a daemon for home, whose runs use a scripted model, and stops it when the test ends.
func startDaemon(t *testing.T, holdfast, dir, home string, env []string) {
	t.Helper()
	script := "steps:\n  - tool_uses: [{tool: Write, input: {file_path: notes.md, content: hello}}]\n  - text: The file is written.\n"
	if err := os.WriteFile(filepath.Join(dir, "script.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), holdfast, "daemon")
	cmd.Dir, cmd.Env, cmd.Stderr = dir, env, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait() // t.Context has ended, so the daemon is interrupted
	})
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) { // the daemon is another process
		c, err := client.Dial(context.Background(), &client.Options{Home: home})
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
