package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// waitingCommand is a script whose command works until the test opens the pipe "gate".
const waitingCommand = `
steps:
  - tool_uses:
      - {id: u1, tool: Bash, input: {command: "cat gate"}}
  - text: "it ended: {{last_result}}"
`

func gatedFolder(t *testing.T, play string) (dir string, env []string, open func()) {
	t.Helper()
	dir, env = scriptedFolder(t, play)
	gate := filepath.Join(dir, "gate")
	if err := unix.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, env, func() {
		if err := os.WriteFile(gate, []byte("opened"), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// leftForShell returns the terminal's modes and the number of bytes that a shell would read now.
func (c *terminal) leftForShell() (canonical, echo bool, input int) {
	c.t.Helper()
	fd := int(c.master.Fd())
	modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		c.t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		c.t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	defer slave.Close()
	if input, err = unix.IoctlGetInt(int(slave.Fd()), unix.TIOCINQ); err != nil {
		c.t.Fatal(err)
	}
	return modes.Lflag&unix.ICANON != 0, modes.Lflag&unix.ECHO != 0, input
}

func (c *terminal) checkRestored() {
	c.t.Helper()
	if canonical, echo, input := c.leftForShell(); !canonical || !echo || input > 0 {
		c.t.Errorf("left for the shell: canonical %v, echo %v, %d bytes", canonical, echo, input)
	}
}

func TestTypedWhileRunning(t *testing.T) {
	dir, env, open := gatedFolder(t, waitingCommand+strings.Repeat("  - text: one more\n", 100)) // a line can come after an answer
	c := startTerminal(t, env, dir, "run", "--permission-mode", "bypassPermissions", "go")
	c.expect(`● Bash`)
	for i := range 100 {
		c.press(fmt.Sprintf("line %d\r", i))
	}
	c.expect(`queued: line 99\r\n`)
	c.press("not done")
	c.expect(`> not done`)
	open()
	for i := range 100 {
		c.expect(fmt.Sprintf(`> line %d\r\n`, i))
	}
	c.expect(`not sent: not done`)
	if code := c.exit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, c.screen())
	}
	c.checkRestored()
	var out strings.Builder
	id := regexp.MustCompile(`session ([0-9a-f-]{36})`).FindStringSubmatch(c.screen())[1]
	p := &command.Program{Args: []string{"sessions", "show", id}, Env: env, Stdout: &out, Stderr: &out, Getwd: func() (string, error) { return dir, nil }}
	if Run(t.Context(), p); strings.Count(out.String(), "line ") != 100 {
		t.Errorf("the session has not the lines:\n%s", out.String())
	}
}

func TestTypedAndQuestion(t *testing.T) {
	dir, env, open := gatedFolder(t, `
steps:
  - tool_uses:
      - {id: u1, tool: Bash, input: {command: "cat gate"}}
  - tool_uses:
      - {id: u2, tool: Write, input: {file_path: made, content: x}}
  - text: "it ended: {{last_result}}"
`)
	c := startTerminal(t, env, dir, "run", "--allowed-tools", "Bash(cat gate)", "go")
	c.expect(`● Bash`)
	c.press("yes y")
	c.expect(`> yes y`)
	open()
	c.expect(`permission Write`)
	c.expect(`and stop: `)
	c.press("n")
	c.expect(`it ended: permission denied by the user`)
	c.expect(`not sent: yes y`)
	if code := c.exit(); code != 0 || made(dir) {
		t.Errorf("exit code %d, written: %v\n%s", code, made(dir), c.screen())
	}
	c.checkRestored()
}

func TestEscInterrupts(t *testing.T) {
	dir, env, _ := gatedFolder(t, waitingCommand)
	c := startTerminal(t, env, dir, "run", "--permission-mode", "bypassPermissions", "go")
	c.expect(`● Bash`)
	c.press("first\r")
	c.expect(`queued: first`)
	c.press("half\x1b")
	c.expect(`interrupted`)
	c.expect(`not sent: half`)
	if code := c.exit(); code != outcome.Interrupted.Exit {
		t.Errorf("exit code %d\n%s", code, c.screen())
	}
	if !strings.Contains(c.screen(), "> first") && !strings.Contains(c.screen(), "it: first") && !strings.Contains(c.screen(), "not sent: first") {
		t.Errorf("the queued line is lost:\n%s", c.screen())
	}
	c.checkRestored()
}

// What was typed before the program started was not typed for it: it is no input and answers nothing.
func TestTypeAheadIsNotSent(t *testing.T) {
	dir, env, open := gatedFolder(t, waitingCommand)
	c := startTerminalAfter(t, "git push\r\x1b[31m", env, dir, "run", "--permission-mode", "bypassPermissions", "go")
	c.expect(`● Bash`)
	c.expect(`> git push`)
	open()
	c.expect(`it ended: opened`)
	c.expect(`not sent: git push`)
	c.expect(`hint: send it: holdfast run --resume [0-9a-f-]{36} 'git push'`)
	if code := c.exit(); code != 0 || strings.Contains(c.screen(), "queued") {
		t.Errorf("exit code %d\n%s", code, c.screen())
	}
	c.checkRestored()
}

// A paste is one text with its newlines, and no part of it is lost if the run ends in its middle.
func TestPasteWhileRunning(t *testing.T) {
	dir, env, open := gatedFolder(t, waitingCommand+"  - text: \"got {{last_user}}\"\n  - text: more\n")
	c := startTerminal(t, env, dir, "run", "--permission-mode", "bypassPermissions", "go")
	c.expect(`● Bash`)
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("\tline %d", i))
	}
	text := strings.Join(lines, "\r")
	c.press("\x1b[200~" + text + "\x1b[201~")
	c.expect(`line 98⏎ *line 99`)
	c.press("\r")
	c.expect(`queued: line 0 \(and 99 more lines\)\r\n`)
	c.press("\x1b[200~never ends\r" + strings.Repeat("long ", 1000))
	open()
	c.expect(`> line 0 \(and 99 more lines\)\r\n`)
	c.expect(`(?s)not sent: never ends\r\n(long ){999}long`)
	if code := c.exit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, c.screen())
	}
	c.checkRestored()
	if shown := showSession(t, c, env, dir); !strings.Contains(shown, strings.TrimSpace(strings.ReplaceAll(text, "\r", "\n"))) {
		t.Errorf("the session has not the text:\n%s", shown)
	}
}

// showSession returns the session that a terminal shows, as `sessions show` prints it.
func showSession(t *testing.T, c *terminal, env []string, dir string) string {
	t.Helper()
	id := regexp.MustCompile(`session ([0-9a-f-]{36})`).FindStringSubmatch(c.screen())[1]
	var out strings.Builder
	p := &command.Program{Args: []string{"sessions", "show", id}, Env: env, Stdout: &out, Stderr: &out, Getwd: func() (string, error) { return dir, nil }}
	Run(t.Context(), p)
	return out.String()
}

// A text that a hook blocks comes back, and the next one is sent.
func TestHookBlocksTyped(t *testing.T) {
	dir, env, open := gatedFolder(t, waitingCommand+"  - text: more\n")
	hooks := filepath.Join(t.TempDir(), "hooks.json")
	if err := os.WriteFile(hooks, []byte(`{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "if grep -q forbidden; then echo not these words >&2; exit 2; fi"}]}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startTerminal(t, env, dir, "run", "--permission-mode", "bypassPermissions", "--settings", hooks, "go")
	c.expect(`● Bash`)
	c.press("a forbidden text\rthe next\r")
	c.expect(`not these words`)
	open()
	c.expect(`> the next\r\n`)
	c.expect(`not sent: a forbidden text`)
	if code := c.exit(); code != 0 || strings.Count(c.screen(), "not these words") != 1 {
		t.Errorf("exit code %d\n%s", code, c.screen())
	}
}

// A dumb terminal delivers whole lines, with its own echo.
func TestTypedInDumbTerminal(t *testing.T) {
	dir, env, open := gatedFolder(t, waitingCommand+"  - text: more\n")
	c := startTerminalAfter(t, "early\r", append(env, "TERM=dumb"), dir, "run", "--permission-mode", "bypassPermissions", "go")
	c.expect(`● Bash`)
	c.press("wrong\x15a line\r")
	c.expect(`queued: a line\r\n`)
	c.press("\x04half")
	open()
	c.expect(`> a line\r\n`)
	c.expect(`(?s)not sent: early\r\nhalf`)
	if code := c.exit(); code != 0 || strings.Contains(c.screen(), "\x1b") {
		t.Errorf("exit code %d\n%q", code, c.screen())
	}
	c.checkRestored()
}

// The terminal is restored, and the draft stays on the screen, when two signals end the process at once.
func TestTwoSignalsRestoreTerminal(t *testing.T) {
	dir, env, _ := gatedFolder(t, waitingCommand)
	c := startTerminalProcess(t, env, dir, "run", "--permission-mode", "bypassPermissions", "go")
	c.expect(`● Bash`)
	c.press("half")
	c.expect(`> half`)
	c.press("\x03\x03\x03")
	if code := c.exit(); code != outcome.Interrupted.Exit {
		t.Errorf("exit code %d\n%s", code, c.screen())
	}
	c.expect(`not sent: half|> half\r\nholdfast: ended at once`)
	if !strings.Contains(c.screen(), "\x1b[?2004l") {
		t.Errorf("pasted text still has marks: %q", c.screen())
	}
}
