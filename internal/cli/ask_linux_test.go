package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

// scriptedFolder returns a folder with a script for the model, and the environment of a program in it.
func scriptedFolder(t *testing.T, play string) (dir string, env []string) {
	t.Helper()
	dir = t.TempDir()
	file := filepath.Join(t.TempDir(), "play.yaml")
	if err := os.WriteFile(file, []byte(play), 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	return dir, []string{
		"HOME=" + home, "HOLDFAST_HOME=" + filepath.Join(home, "hf"), "HOLDFAST_MODEL=scripted/" + file,
		"NO_COLOR=1", "TERM=xterm", "USER=ann", "PATH=" + os.Getenv("PATH"),
	}
}

const oneCommand = `
steps:
  - tool_uses:
      - {id: u1, tool: Bash, input: {command: "touch made"}}
  - text: "it ended: {{last_result}}"
`

const twice = `
steps:
  - tool_uses:
      - {id: u1, tool: Bash, input: {command: "touch made; echo one"}}
  - tool_uses:
      - {id: u2, tool: Bash, input: {command: "touch made; echo one"}}
  - text: "it ended: {{last_result}}"
`

func made(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "made"))
	return err == nil
}

func TestAnswersInTerminal(t *testing.T) {
	for name, tt := range map[string]struct {
		keys []string // each is pressed when the key line is shown
		code int
		made bool
		want string // on the screen, after the keys
	}{
		"yes once":               {[]string{"y"}, 0, true, `it ended`},
		"no":                     {[]string{"n"}, 0, false, `it ended: permission denied by the user`},
		"no and why":             {[]string{"m", "not this way\r"}, 0, false, `it ended: permission denied: not this way`},
		"stop":                   {[]string{"s"}, 3, false, `interrupted`},
		"enter is no answer":     {[]string{"\r", "n"}, 0, false, `it ended: permission denied`},
		"other keys are neither": {[]string{"x", "\x1b[A", "yes please", "Y", "y"}, 0, true, `it ended`},
	} {
		t.Run(name, func(t *testing.T) {
			dir, env := scriptedFolder(t, oneCommand)
			c := startTerminal(t, env, dir, "run", "go")
			c.expect(`exact    touch made`)
			for _, k := range tt.keys {
				c.expect(`: $`)
				c.press(k)
			}
			c.expect(tt.want)
			if code := c.exit(); code != tt.code || made(dir) != tt.made {
				t.Errorf("exit code %d, the command ran: %v; want %d, %v\n%s", code, made(dir), tt.code, tt.made, c.screen())
			}
		})
	}
}

func TestAnswersForTheRun(t *testing.T) {
	const question, scope, rule = `and stop: $`, `back: $`, `rule: $`
	for name, tt := range map[string]struct {
		dialog []string // what the screen shows, what is typed, …
		asked  int
		made   bool
	}{
		"once asks again":         {[]string{question, "y", question, "y"}, 2, true},
		"always":                  {[]string{question, "a", scope, "1"}, 1, true},
		"never":                   {[]string{question, "d", scope, "1"}, 1, false},
		"back, then no":           {[]string{question, "a", scope, "b", question, "n", question, "n"}, 2, false},
		"a rule of the person's":  {[]string{question, "a", scope, "e", rule, "Bash(touch made)\r"}, 1, true},
		"a rule that is no rule":  {[]string{question, "a", scope, "e", rule, "Bash(touch\r", scope, "b", question, "n", question, "n"}, 2, false},
		"a rule for another tool": {[]string{question, "a", scope, "e", rule, "Read(//etc/**)\r", scope, "b", question, "n", question, "n"}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir, env := scriptedFolder(t, twice)
			c := startTerminal(t, env, dir, "run", "go")
			for i := 0; i < len(tt.dialog); i += 2 {
				c.expect(tt.dialog[i])
				c.press(tt.dialog[i+1])
			}
			c.expect(`it ended`)
			code := c.exit()
			if asked := strings.Count(c.screen(), "permission Bash"); code != 0 || asked != tt.asked || made(dir) != tt.made {
				t.Errorf("exit code %d, asked %d times, ran %v; want 0, %d, %v\n%s", code, asked, made(dir), tt.asked, tt.made, c.screen())
			}
		})
	}
}

func TestRequestShowsWholeCall(t *testing.T) {
	dir, env := scriptedFolder(t, `
steps:
  - tool_uses:
      - {id: u1, tool: Read, input: {file_path: a.txt}}
  - tool_uses:
      - {id: u2, tool: Edit, input: {file_path: a.txt, old_string: two, new_string: "zwei\u202e"}}
  - tool_uses:
      - {id: u3, tool: Bash, input: {command: "printf \e[31m \u202e > new.txt\ntouch made"}}
  - text: it ended
`)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startTerminal(t, env, dir, "run", "go")
	for _, want := range []string{
		`permission Edit`, `write a file \(fs.write\)`, `exact    \S+/a.txt`, `2 - two`, `2 \+ zwei\\u202e`, `why .*default`, `and stop: `,
	} {
		c.expect(want)
	}
	c.press("n")
	for _, want := range []string{
		`permission Bash`, `run a command \(command.execute\)`, `exact    printf \\x1b\[31m \\u202e > new.txt`, `touch made`,
		`in       ` + dir, `sandbox  kernel: files`, `and stop: `,
	} {
		c.expect(want)
	}
	if err := c.master.Close(); err != nil { // the terminal is gone
		t.Fatal(err)
	}
	if code := c.exit(); code != 3 || made(dir) {
		t.Errorf("exit code %d, ran %v: the end of input is no yes\n%s", code, made(dir), c.screen())
	}
}

func TestTypeAheadIgnored(t *testing.T) {
	dir, env := scriptedFolder(t, oneCommand)
	c := startTerminalAfter(t, "yyyy\r", env, dir, "run", "go")
	c.expect(`and stop: `)
	c.press("n")
	c.expect(`it ended: permission denied by the user`)
	if c.exit() != 0 || made(dir) {
		t.Errorf("a key that was pressed before the question answered it\n%s", c.screen())
	}
}

func TestAnswerFromAnotherProgram(t *testing.T) {
	dir, env := scriptedFolder(t, oneCommand)
	c := startTerminal(t, env, dir, "run", "go")
	c.expect(`and stop: `)
	var out, errs strings.Builder
	program := func(args ...string) int {
		out.Reset()
		errs.Reset()
		p := &command.Program{Args: args, Env: env, Stdout: &out, Stderr: &errs, Getwd: func() (string, error) { return dir, nil }}
		return Run(t.Context(), p)
	}
	if code := program("approvals", "list"); code != 0 || !strings.Contains(out.String(), "touch made") {
		t.Fatalf("approvals list: %d\n%s%s", code, out.String(), errs.String())
	}
	id, _, _ := strings.Cut(strings.Split(out.String(), "\n")[1], " ")
	if code := program("approvals", "allow", id, "--by", "bob"); code != 0 {
		t.Fatalf("approvals allow: %d\n%s", code, errs.String())
	}
	c.expect(`answered: allow by bob \(cli\)`)
	c.expect(`it ended`)
	if c.exit() != 0 || !made(dir) {
		t.Errorf("the answer did not reach the run\n%s", c.screen())
	}
	if code := program("approvals", "deny", id); code != 4 || !strings.Contains(errs.String(), "allow by bob") {
		t.Errorf("a second answer: %d, want 4\n%s", code, errs.String())
	}
	if code := program("approvals", "allow", id, "--by", "carol"); code != 0 {
		t.Errorf("the same answer again: %d, want 0\n%s", code, errs.String())
	}
}

// Text typed before the confirmation was shown deletes nothing.
func TestDeleteConfirms(t *testing.T) {
	dir, env := scriptedFolder(t, "steps: [{text: it ended}]")
	run := func(args ...string) int {
		p := &command.Program{Args: args, Env: env, Getwd: func() (string, error) { return dir, nil }}
		return Run(t.Context(), p)
	}
	if code := run("run", "--session-id", "old", "go"); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	c := startTerminalAfter(t, "y\r", env, dir, "sessions", "delete", "old")
	c.expect(`delete it permanently\? \[y\]es · \[n\]o: $`)
	c.press("n\r")
	c.expect(`nothing was deleted`)
	if code := c.exit(); code != 2 || run("sessions", "show", "old") != 0 {
		t.Errorf("exit code %d\n%s", code, c.screen())
	}
	c = startTerminal(t, env, dir, "sessions", "delete", "old")
	c.expect(`delete it permanently\? \[y\]es · \[n\]o: $`)
	c.press("y\r")
	if code := c.exit(); code != 0 || run("sessions", "show", "old") != 9 {
		t.Errorf("exit code %d\n%s", code, c.screen())
	}
}
