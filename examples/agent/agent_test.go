//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The program is killed while a command runs, and finishes when it is started again. The interrupted command
// is not repeated, and the model gets a notification.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "agent")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	script := "steps:\n  - tool_uses: [{tool: Bash, input: {command: \"echo begun >> ran; sleep 60\"}}]\n" +
		"  - expect: {result: outcome unknown}\n    tool_uses: [{tool: Bash, input: {command: \"echo it >> ran\"}}]\n  - text: all done\n"
	if err := os.WriteFile(filepath.Join(dir, "play.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	program := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), bin, "job", "work")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOLDFAST_HOME="+filepath.Join(dir, "home"), "HOLDFAST_MODEL=scripted/play.yaml")
		return cmd
	}
	ran := func() string {
		b, _ := os.ReadFile(filepath.Join(dir, "ran"))
		return strings.Join(strings.Fields(string(b)), " ")
	}
	first := program()
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ran() != "begun"; time.Sleep(10 * time.Millisecond) { // another process: its file is the only sign
		if time.Now().After(end) {
			t.Fatal("the command did not run")
		}
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	for range 2 { // the second time it has finished already
		out, err := program().CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), "all done <nil>\n") || ran() != "begun it" {
			t.Errorf("%v: %s, ran %q", err, out, ran())
		}
	}
}
