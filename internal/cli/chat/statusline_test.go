package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/markdown"
)

// withSettings writes the user's settings of a new home.
func withSettings(t *testing.T, text string) (home, dir, script string) {
	t.Helper()
	home, dir, script = t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "play.yaml")
	for file, text := range map[string]string{filepath.Join(home, ".holdfast", "settings.json"): text, script: twoAnswers} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home, dir, script
}

// The command gets the state with the names of Claude Code, and its lines replace the status line.
func TestStatusCommand(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "input")
	home, dir, script := withSettings(t, `{"statusLine": {"type": "command", "padding": 1, "command": "cat > `+kept+`; printf 'mine \\033[31mred\\033[m \\033]2;title\\007\\nsecond'"}}`)
	x := talkIn(t, home, dir, script, nil)
	x.until("second")
	x.says("hi")
	x.until("1 model call")
	s := x.until(` mine red \x1b]2;title\x07`)
	if strings.Contains(s, "no sandbox") {
		t.Errorf("both are shown:\n%s", s)
	}
	var in struct {
		Session string `json:"session_id"`
		Model   struct {
			ID   string `json:"id"`
			Name string `json:"display_name"`
		} `json:"model"`
		Workspace struct {
			Current string `json:"current_dir"`
		} `json:"workspace"`
		Context map[string]any `json:"context_window"`
		Own     struct {
			Mode string `json:"permission_mode"`
		} `json:"holdfast"`
	}
	b, err := os.ReadFile(kept)
	if err == nil {
		err = json.Unmarshal(b, &in)
	}
	if err != nil || in.Session != x.u.s.ID() || in.Workspace.Current != dir || in.Own.Mode != "default" || !strings.HasPrefix(in.Model.ID, "scripted/") || in.Context["used_percentage"] != nil {
		t.Errorf("%v %s", err, b)
	}
}

// A command that fails is reported once, and the built-in line stays.
func TestStatusCommandFails(t *testing.T) {
	home, dir, script := withSettings(t, `{"statusLine": {"type": "command", "command": "echo broken >&2; exit 7"}}`)
	x := talkIn(t, home, dir, script, nil)
	x.until("exit code 7: broken")
	x.says("hi")
	s := x.until("1 model call")
	if strings.Count(s, "exit code 7") != 1 || !strings.Contains(s, "default · ") {
		t.Errorf("%s", s)
	}
}

// The plain form prints the lines of the command with /status.
func TestStatusCommandPlain(t *testing.T) {
	home, dir, script := withSettings(t, `{"statusLine": {"type": "command", "command": "echo mine of $COLUMNS"}}`)
	x := talkIn(t, home, dir, script, func(s *Start) { s.Screen.Plain = true })
	x.says("/status")
	x.until("mine of 80")
}

// The reference names every field of the input.
func TestStatusReference(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reference/status-line.md")
	if err != nil {
		t.Fatal(err)
	}
	var check func(path string, of reflect.Type)
	check = func(path string, of reflect.Type) {
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Type.Kind() == reflect.Struct {
				check(path+name+".", f.Type)
			} else if !strings.Contains(string(b), "`"+path+name+"`") {
				t.Errorf("%s%s is missing", path, name)
			}
		}
	}
	check("", reflect.TypeFor[statusInput]())
}

func TestColored(t *testing.T) {
	for _, tt := range []struct{ in, out, plain string }{
		{"plain", "plain", "plain"},
		{"\x1b[1;31mred\x1b[0m.", "\x1b[1;31mred\x1b[0m.\x1b[m", "red."},
		{"\x1b[38:2::1:2:3mx", "\x1b[38:2::1:2:3mx\x1b[m", "x"},
		{"\x1b[2Jx\x1b[10;10Hy", `\x1b[2Jx\x1b[10;10Hy`, `\x1b[2Jx\x1b[10;10Hy`},
		{"\x1b]8;;http://x\x1b\\y", `\x1b]8;;http://x\x1b\y`, `\x1b]8;;http://x\x1b\y`},
		{"\x1b[", `\x1b[`, `\x1b[`}, {"\x1b[31", `\x1b[31`, `\x1b[31`}, {"\x1b[>4m", `\x1b[>4m`, `\x1b[>4m`}, {"\x1b[?25m", `\x1b[?25m`, `\x1b[?25m`},
		{"\x1b[" + strings.Repeat("1;", 40) + "m", `\x1b[` + strings.Repeat("1;", 40) + "m", `\x1b[` + strings.Repeat("1;", 40) + "m"},
		{"a\tb\u009b31mc", `a b\u009b31mc`, `a b\u009b31mc`},
	} {
		if got := colored(tt.in, markdown.ANSI16); got != tt.out {
			t.Errorf("%q: %q, want %q", tt.in, got, tt.out)
		}
		if got := colored(tt.in, markdown.Plain); got != tt.plain {
			t.Errorf("%q without colors: %q, want %q", tt.in, got, tt.plain)
		}
	}
}
