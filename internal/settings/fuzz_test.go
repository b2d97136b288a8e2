package settings

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/layernames"
)

// FuzzSettings: whatever a file holds, decoding does not panic, gives the same
// twice, finds each rule where it stands, and refuses what is not plain JSON.
func FuzzSettings(f *testing.F) {
	for _, s := range []string{
		"", "{}", "null", "[]", "{", `{"permissions": {}}`, `{"permissions": {"deny": ["Bash(rm:*)", "Read(//etc/**)"]}}`,
		`{"permissions": {"allow": ["Tool(a:b)"], "ask": [], "deny": ["mcp__x__*"], "defaultMode": "plan"}}`,
		`{"permissions": {"forbidden": ["**/.env*"], "onAsk": "wait", "askTimeout": "10m", "additionalDirectories": ["../x", "~/y"]}}`,
		`{"sandbox": {"deniedCommands": ["rm"], "allowedCommands": null}}`, `{"$schema": "x", "hooks": {}}`,
		`{"permissions": {"disableBypassPermissionsMode": "disable"}}`, "{\"a\": 1 // x\n}", "{\"\xff\": 1}", `{"a": "\ud800"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		src := source{layer: layernames.User, file: "f", dir: "/w", user: "/u", data: data}
		s, again := decode(src), decode(src)
		a, err := json.Marshal([]any{s.rules, s.mode, s.folders, s.forbidden, s.onAsk, s.problems})
		if err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal([]any{again.rules, again.mode, again.folders, again.forbidden, again.onAsk, again.problems})
		if !bytes.Equal(a, b) {
			t.Errorf("%s\nthen %s", a, b)
		}
		if !json.Valid(data) && len(s.problems) == 0 {
			t.Error("what is no JSON was taken")
		}
		for _, p := range s.problems {
			if !p.Fatal || p.Line < 1 || p.Col < 1 || p.Detail == "" {
				t.Errorf("a problem without a place: %+v", p)
			}
		}
		lines := bytes.SplitAfter(data, []byte("\n"))
		for _, r := range s.rules {
			if r.Line < 1 || r.Line > len(lines) || r.Col < 1 || r.Col > len(lines[r.Line-1]) || lines[r.Line-1][r.Col-1] != '"' {
				t.Errorf("rule %+v does not stand there", r)
			}
			if r.Text == "" {
				t.Error("an empty rule")
			}
		}
	})
}
