package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hookedFolder is a scriptedFolder that contains a hook, with a character that a terminal would hide.
func hookedFolder(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir, env = scriptedFolder(t, oneCommand)
	settingsDir := filepath.Join(dir, ".holdfast")
	if err := os.Mkdir(settingsDir, 0o700); err != nil {
		t.Fatal(err)
	}
	const text = `{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true\r# \u202eall good\nexit 2", "sandbox": "write"}]}]}}`
	if err := os.WriteFile(filepath.Join(settingsDir, "settings.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, env
}

// Before it asks for trust, the program shows everything that would run; only "yes" trusts it.
func TestHooksTrustConfirms(t *testing.T) {
	for _, tt := range []struct {
		keys string
		code int
		want string
	}{
		{"n\r", 2, "nothing was trusted"},
		{"\r", 2, "nothing was trusted"},
		{"yes please\r", 2, "nothing was trusted"},
		{"\x04", 2, "nothing was trusted"},
		{"y\r", 0, "1 hook of .*: trusted in their current form"},
		{" YES\r", 0, "1 hook of .*: trusted in their current form"},
	} {
		dir, env := hookedFolder(t)
		c := startTerminal(t, env, dir, "hooks", "trust")
		c.expect(`PreToolUse Bash  untrusted`)
		c.expect(`true\\x0d# \\u202eall good\r\n +exit 2`)
		c.expect(`sandbox write`)
		c.expect(`trust these hooks in their current form\? \[y\]es · \[n\]o: `)
		c.press(tt.keys)
		c.expect(tt.want)
		if code := c.exit(); code != tt.code {
			t.Errorf("%q: exit code %d\n%s", tt.keys, code, c.screen())
		}
		list := startTerminal(t, env, dir, "hooks", "list")
		want := "untrusted"
		if tt.code == 0 {
			want = "trusted  "
		}
		list.expect(`(?m)^` + want + ` PreToolUse Bash`)
		if list.exit() != 0 || strings.Contains(list.screen(), "\u202e") {
			t.Errorf("%q: %s", tt.keys, list.screen())
		}
	}
}
