package settings_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

func (p testHome) importAs(layer string, from ...string) *settings.Imported {
	p.t.Helper()
	done, err := settings.Import(&settings.ImportOptions{Options: p.options(), Layer: layer, Programs: from})
	if err != nil {
		p.t.Fatal(err)
	}
	return done
}

func (p testHome) read(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(p.path(name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

func keys[T any](list []T, key func(T) string) (out []string) {
	for _, v := range list {
		out = append(out, key(v))
	}
	return out
}

// What has an equal is written behind what is there, which stays as it is.
func TestImport(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", "{\n  \"permissions\": {\n    \"deny\": [\n      \"Bash(rm:*)\"\n    ],\n    \"defaultMode\": \"plan\"\n  },\n  \"secrets\": {\n    \"mask\": true\n  }\n}\n")
	p.write("user/.claude/settings.json", `{
		"permissions": {"deny": ["Bash(rm:*)", "Read(/private/**)"], "allow": ["Bash(ls:*)", "Bash(x"], "defaultMode": "acceptEdits", "additionalDirectories": ["notes"]},
		"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}, {"hooks": [{"type": "prompt", "prompt": "x"}]}]},
		"statusLine": {}
	}`)
	p.write("user/.codex/config.toml", "[mcp_servers.docs]\ncommand = \"docs\"\n")
	done := p.importAs(layernames.User)
	want := `{
  "permissions": {
    "deny": [
      "Bash(rm:*)",
      "Read(/` + p.path("user/.claude/private/**") + `)"
    ],
    "defaultMode": "plan",
    "allow": [
      "Bash(ls:*)"
    ],
    "additionalDirectories": [
      "` + p.path("user/.claude/notes") + `"
    ]
  },
  "secrets": {
    "mask": true
  },
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "true"
          }
        ]
      }
    ]
  },
  "mcpServers": {
    "docs": {
      "command": "docs"
    }
  }
}
`
	if got := p.read("home/settings.json"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if !done.Written || len(done.Read) != 2 || len(done.Imported) != 5 {
		t.Errorf("%+v", done)
	}
	if k := keys(done.Conflicts, func(e settings.Effective) string { return e.Key + " " + e.Value }); !slices.Equal(k, []string{"permissions.defaultMode acceptEdits"}) {
		t.Errorf("kept %q", k)
	}
	left := keys(done.Unsupported, func(f settings.UnsupportedSetting) string { return f.Key })
	if !slices.Equal(left, []string{"statusLine", "permissions.allow", "hooks.Stop"}) {
		t.Errorf("left %q", left)
	}
	if again := p.importAs(layernames.User); again.Written || len(again.Imported) != 0 {
		t.Errorf("again: %+v", again.Imported)
	}
	p.load()
}

// What a layer of ours may not say is left, and told.
func TestImportLayers(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.claude/settings.json", `{"permissions": {"allow": ["Bash(a)"]}}`)
	p.write("project/.claude/settings.local.json", `{"permissions": {"allow": ["Bash(b)"]}}`)
	p.write("project/.gemini/settings.json", `{"tools": {"exclude": ["web_fetch"]}}`)
	p.write("project/opencode.jsonc", "{ // ours\n \"permission\": {\"bash\": {\"git push *\": \"deny\"}}}")
	done := p.importAs(layernames.Project, "claude", "gemini", "opencode")
	if k := keys(done.Imported, func(e settings.Effective) string { return e.Value }); !slices.Equal(k, []string{"Bash(a)", "Bash(git push *)", "WebFetch"}) {
		t.Errorf("%q", k)
	}
	if info, err := os.Stat(p.path("project/.holdfast/settings.json")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v %v", info, err)
	}
	done = p.importAs(layernames.Local, "claude")
	if k := keys(done.Imported, func(e settings.Effective) string { return e.Value }); !slices.Equal(k, []string{"Bash(b)", "Bash(a)"}) {
		t.Errorf("%q", k)
	}
}

// A dry run, and a file that cannot be read, write nothing.
func TestImportWritesNothing(t *testing.T) {
	p := newTestHome(t)
	p.write("user/.claude/settings.json", `{"permissions": {"allow": ["Bash(a)"]}}`)
	done, err := settings.Import(&settings.ImportOptions{Options: p.options(), Layer: layernames.User, DryRun: true})
	if err != nil || len(done.Imported) != 1 || done.Written {
		t.Errorf("%v %+v", err, done)
	}
	p.write("user/.codex/config.toml", "a = ")
	_, err = settings.Import(&settings.ImportOptions{Options: p.options(), Layer: layernames.User})
	if !errors.Is(err, settings.ErrInvalid) || !strings.Contains(err.Error(), "config.toml:1:") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(p.path("home/settings.json")); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}

// Every setting in force is shown with its place; of a single value the strongest.
func TestEffective(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", "{\"permissions\": {\"defaultMode\": \"plan\", \"deny\": [\"Bash(a)\"]},\n\"prices\": {\"ollama/*\": {\"input\": 0, \"output\": 0}}, \"cleanupPeriodDays\": 3, \"compact\": {\"steps\": [\"redact\"]}}")
	p.write("user/.claude/settings.json", `{"permissions": {"defaultMode": "default", "deny": ["Bash(b)"]}, "claudeMdExcludes": ["**/x"], "theme": "dark"}`)
	p.write("project/.claude/settings.json", `{"permissions": {"allow": ["Bash(c)"], "ask": ["Bash(d)"]}, "autoCompactEnabled": false}`)
	o := p.options()
	o.Flags.Allow = []settings.Flag{{Name: "--allowed-tools", Text: "Bash(e)"}}
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	got := keys(s.Effective(), func(e settings.Effective) string {
		return e.Key + " " + e.Value + " " + e.Origin.Layer + " " + e.Program
	})
	want := []string{
		"claudeMdExcludes **/x user claude", "cleanupPeriodDays 3 user ", `compact.steps ["redact"] user `, "permissions.allow Bash(e) flag ", "permissions.ask Bash(d) project claude",
		"permissions.defaultMode plan user ", "permissions.deny Bash(a) user ", "permissions.deny Bash(b) user claude", "prices.ollama/*.input 0 user ", "prices.ollama/*.output 0 user ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if s.Effective()[1].Origin.Line != 2 {
		t.Errorf("%+v", s.Effective()[1])
	}
}
