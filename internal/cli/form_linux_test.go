package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// startFormRun starts a run in a terminal whose server sends a form.
func startFormRun(t *testing.T, tool string) *terminal {
	t.Helper()
	dir, env := scriptedFolder(t, `
steps:
  - tool_uses: [{id: u1, tool: mcp__asker__`+tool+`, input: {}}]
  - text: "it ended: {{last_result}}"
`)
	asker, err := exec.LookPath("asker")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-L", asker, filepath.Join(dir, "asker")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := filepath.Join(dir, "servers.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers": {"asker": {"command": "./asker"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return startTerminal(t, env, dir, "run", "--session-id", "s", "--allowed-tools", "mcp__asker", "--mcp-config", file, "go")
}

func TestFormInTerminal(t *testing.T) {
	const keys, seat, days, send = `and stop: $`, `seat, Your seat: .*: $`, `days .*: $`, `send · .*: $`
	for name, tt := range map[string]struct {
		tool   string
		dialog []string // what the screen shows, what is typed, …
		want   string
	}{
		"filled in": {"reserve", []string{
			`the MCP server asker asks`, "", keys, "x", keys, "f", days, "\r", days, "we\r", days, "1, Tuesday\r", `meal .*: $`, "2\r", `note .*: $`, "\r", `on .*: $`, "tomorrow\r",
			`on .*: $`, "2026-01-31\r", `quiet .*: $`, "n\r", `rows .*: $`, "\r", seat, "A1\r", seat, "1A\r", `days  mo, tu`, "", send, "y",
		}, `it ended: the answer is: accept \{"days":\["mo","tu"\],"meal":"bread","on":"2026-01-31","quiet":false,"rows":2,"seat":"1A"\}`},
		"change answers":     {"book", []string{keys, "f", `seat .*: $`, "2B\r", send, "b", `seat .*: $`, "3C\r", send, "y"}, `accept \{"seat":"3C"\}`},
		"as it is":           {"book", []string{`y accept the proposed values`, "y"}, `accept \{"seat":"1A"\}`},
		"no":                 {"reserve", []string{keys, "n"}, `decline null`},
		"no, after a look":   {"book", []string{keys, "f", `seat .*: $`, "2B\r", send, "n"}, `decline null`},
		"y is no key there":  {"reserve", []string{keys, "y", `press one of the keys above`, "", keys, "n"}, `decline null`},
		"a secret, unlogged": {"login", []string{keys, "y", `password .*SECRET.*: $`, "sw" + "ordfish\r", `user .*: $`, "ann\r"}, `accept \{"password":"swordfish","user":"ann"\}`},
	} {
		t.Run(name, func(t *testing.T) {
			c := startFormRun(t, tt.tool)
			for i := 0; i < len(tt.dialog); i += 2 {
				c.expect(tt.dialog[i])
				if tt.dialog[i+1] != "" {
					c.press(tt.dialog[i+1])
				}
			}
			c.expect(tt.want)
			if code := c.exit(); code != 0 {
				t.Errorf("exit code %d\n%s", code, c.screen())
			}
		})
	}
}
