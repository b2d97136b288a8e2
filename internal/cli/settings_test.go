package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Without the administrator's consent no flag loosens the managed settings.
func TestManagedSettings(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "managed.json", `{"permissions": {"deny": ["Bash(touch:*)"], "disableBypassPermissionsMode": "disable"}}`)
	write(t, dir, "play.yaml", "steps: [{tool_uses: [{tool: Bash, input: {command: touch made}}]}, {text: done}]")
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"policy", "explain", "--settings", `{"permissions": {"allow": ["Bash"]}}`, "--", "touch", "x"}, 3, "managed.json:1:"},
		{[]string{"policy", "show", "--permission-mode", "bypassPermissions"}, 2, "mode bypassPermissions is disabled by"},
		{[]string{"run", "-m", "scripted/play.yaml", "--permission-mode", "bypassPermissions", "go"}, 2, "mode bypassPermissions is disabled by"},
		{[]string{"run", "-m", "scripted/play.yaml", "--permission-mode", "auto", "--allowed-tools", "Bash", "go"}, 3, "denies it"},
	} {
		p, out, errs := program(t, dir, tt.args...)
		p.Managed = filepath.Join(dir, "managed.json")
		if code := Run(t.Context(), p); code != tt.code || !strings.Contains(out.String()+errs.String(), tt.want) {
			t.Errorf("%v: code %d, want %d with %q\n%s%s", tt.args, code, tt.code, tt.want, out, errs)
		}
		if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
			t.Fatal("it ran")
		}
	}
	write(t, dir, "managed.json", "{")
	p, _, errs := program(t, dir, "run", "-m", "scripted/play.yaml", "go")
	p.Managed = filepath.Join(dir, "managed.json")
	if code := Run(t.Context(), p); code != 2 || !strings.Contains(errs.String(), "managed.json:1:1: not JSON") {
		t.Errorf("code %d: %s", code, errs)
	}
}
