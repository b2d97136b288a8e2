package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

const refusedTwice = `
steps:
  - tool_uses:
      - {id: u1, tool: Bash, input: {command: "sh tool.sh one"}}
  - tool_uses:
      - {id: u2, tool: Bash, input: {command: "sh tool.sh two"}}
  - text: "it ended: {{last_result}}"
`

// What the sandbox refuses is put to the user as a request. The answer applies as long as the user chose.
func TestAnswerSandboxRefusal(t *testing.T) {
	outside, ok := testneed.OutsideTmp()
	if !ok {
		t.Skip("no folder of this user outside of /tmp: set HOME to one")
	}
	const question = `and stop: $`
	for name, tt := range map[string]struct {
		keys    []string
		written string
		kept    bool     // the settings name the folder
		again   []string // keys in a second run
	}{
		"this command":     {[]string{"y", "y"}, "one two", false, []string{"n", "n"}},
		"this project":     {[]string{"p"}, "one two", true, nil},
		"this session":     {[]string{"a"}, "one two", false, []string{"n", "n"}},
		"no":               {[]string{"n", "n"}, "", false, []string{"n", "n"}},
		"no, this session": {[]string{"d"}, "", false, []string{"n", "n"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, env := scriptedFolder(t, refusedTwice)
			home, err := os.MkdirTemp(outside, "holdfast-home-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(home) })
			tool := filepath.Join(home, ".tool")
			env = append(env, "HOME="+home)
			script := "mkdir -p " + tool + " && echo $1 >>" + tool + "/log"
			if err := os.WriteFile(filepath.Join(dir, "tool.sh"), []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			run := func(keys []string, args ...string) string {
				c := startTerminal(t, env, dir, append([]string{"run", "--permission-mode", "auto"}, args...)...)
				for _, k := range keys {
					c.expect(question)
					c.press(k)
				}
				c.expect(`it ended`)
				if code := c.exit(); code != 0 {
					t.Errorf("exit code %d\n%s", code, c.screen())
				}
				return c.screen()
			}
			screen := run(tt.keys, "go")
			if n := strings.Count(screen, "run this again"); n != len(tt.keys) || !strings.Contains(screen, "refused  write to "+tool) {
				t.Errorf("asked %d times, want %d\n%s", n, len(tt.keys), screen)
			}
			log, _ := os.ReadFile(filepath.Join(tool, "log"))
			if got := strings.Join(strings.Fields(string(log)), " "); got != tt.written {
				t.Errorf("written: %q, want %q\n%s", got, tt.written, screen)
			}
			kept, _ := os.ReadFile(filepath.Join(dir, ".holdfast", "settings.local.json"))
			if strings.Contains(string(kept), `"~/.tool"`) != tt.kept {
				t.Errorf("settings: %s\n%s", kept, screen)
			}
			if screen = run(tt.again, "go"); strings.Count(screen, "run this again") != len(tt.again) {
				t.Errorf("then asked another number of times than %d\n%s", len(tt.again), screen)
			}
		})
	}
}
