package plugin_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/holdfast-dev/holdfast/internal/plugin"
)

// write writes the files of an archive into a folder with the name kit.
func write(t *testing.T, archive string) string {
	t.Helper()
	plain, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(plain, "kit")
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// describe returns what a plugin has, on one line.
func describe(p *plugin.Plugin) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s;", p.Name, p.Version)
	folders := func(name string, list []plugin.Folder) {
		for _, f := range list {
			fmt.Fprintf(&b, " %s %s[%s]", name, strings.TrimPrefix(f.Dir, p.Root), f.Only)
		}
	}
	folders("commands", p.Commands)
	folders("skills", p.Skills)
	folders("agents", p.Agents)
	blocks := func(name string, list []plugin.Block) {
		for _, l := range list {
			fmt.Fprintf(&b, " %s %s %s", name, strings.TrimPrefix(l.File, p.Root), l.Text[l.Value.At:l.Value.End])
		}
	}
	blocks("hooks", p.Hooks)
	blocks("servers", p.Servers)
	for _, u := range p.Unsupported {
		b.WriteString(" -" + u.Part)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	for _, tt := range []struct{ name, files, want string }{
		{"default paths, without a manifest", "-- commands/a.md --\n-- agents/a.md --\n-- skills/s/SKILL.md --\n-- hooks/hooks.json --\n{\"description\": \"x\", \"hooks\": {}}\n-- .mcp.json --\n{\"mcpServers\": {}}\n",
			"kit ; commands /commands[] skills /skills[] agents /agents[] hooks /hooks/hooks.json {} servers /.mcp.json {}"},
		{"a manifest", "-- .claude-plugin/plugin.json --\n{\"name\": \"other\", \"version\": \"1.2\", \"author\": {\"name\": \"x\"}}\n", "other 1.2;"},
		{"other paths replace those of commands and agents, and add to those of skills",
			"-- .claude-plugin/plugin.json --\n{\"commands\": [\"./more/one.md\", \"./deep\"], \"agents\": \"./who/b.md\", \"skills\": [\"./more/s\", \"./lib\"]}\n-- commands/a.md --\n-- agents/a.md --\n-- skills/s/SKILL.md --\n-- more/one.md --\n-- more/s/SKILL.md --\n-- deep/x.md --\n-- lib/t/SKILL.md --\n-- who/b.md --\n",
			"kit ; commands /more[one.md] commands /deep[] skills /more[s] skills /lib[] skills /skills[] agents /who[b.md]"},
		{"hooks and servers in the manifest and in other files",
			"-- .claude-plugin/plugin.json --\n{\"hooks\": [{\"Stop\": []}, \"./hooks/hooks.json\", \"./more.json\"], \"mcpServers\": {\"db\": {}}}\n-- hooks/hooks.json --\n{\"hooks\": {}}\n-- more.json --\n{\"hooks\": {\"PreToolUse\": []}, \"odd\": 1}\n-- .mcp.json --\n{\"x\": {}}\n",
			`kit ; hooks /.claude-plugin/plugin.json {"Stop": []} hooks /hooks/hooks.json {} hooks /more.json {"PreToolUse": []} servers /.claude-plugin/plugin.json {"db": {}} servers /.mcp.json {"x": {}} -odd in more.json`},
		{"what is not used",
			"-- .claude-plugin/plugin.json --\n{\"themes\": \"./x\", \"odd\": 1, \"commands\": {\"a\": {}}, \"userConfig\": {}}\n-- themes/a.json --\n-- .lsp.json --\n-- SKILL.md --\n-- settings.json --\n-- output-styles/a.md --\n-- bin/x --\n-- .mcp.json --\n{\"x\": {\"env\": {\"A\": \"${CLAUDE_PLUGIN_DATA}\"}}}\n",
			`kit ; servers /.mcp.json {"x": {"env": {"A": "${CLAUDE_PLUGIN_DATA}"}}} -CLAUDE_PLUGIN_DATA -SKILL.md -bin -commands as an object -lspServers -odd -outputStyles -settings -themes -userConfig`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := plugin.Read(write(t, tt.files))
			if err != nil {
				t.Fatal(err)
			}
			if got := describe(p); got != tt.want {
				t.Errorf("%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	manifest := func(text string) string { return "-- .claude-plugin/plugin.json --\n" + text + "\n" }
	for _, tt := range []struct{ name, files, want string }{
		{"no plugin", "-- README.md --\n", "/kit:0:0: not a plugin: it has no .claude-plugin/plugin.json and no commands, agents, skills, hooks or MCP servers"},
		{"not JSON", manifest(`{"name": }`), `/kit/.claude-plugin/plugin.json:1:10: not JSON`},
		{"not an object", manifest(`[]`), "/kit/.claude-plugin/plugin.json:0:0: it is a list, want an object"},
		{"a name that is no text", manifest(`{"name": 5}`), "/kit/.claude-plugin/plugin.json:1:10: name is a number, want a text"},
		{"a bad name", manifest("{\n \"name\": \"my kit\"}"), `/kit/.claude-plugin/plugin.json:2:10: "my kit" cannot be the name of a plugin`},
		{"a path outside", manifest(`{"commands": "../x"}`), `/kit/.claude-plugin/plugin.json:1:14: commands: "../x" is not a path in the plugin's folder`},
		{"a missing path", manifest(`{"skills": ["./x"]}`), `/kit/.claude-plugin/plugin.json:1:13: skills: ./x does not exist in the plugin's folder`},
		{"a path that is no text", manifest(`{"agents": 1}`), `/kit/.claude-plugin/plugin.json:1:12: agents is a number, want a path`},
		{"hooks without hooks", "-- hooks/hooks.json --\n{\"PreToolUse\": []}\n", "/kit/hooks/hooks.json:0:0: hooks is missing"},
		{"hooks that are a list", "-- hooks/hooks.json --\n{\"hooks\": []}\n", "/kit/hooks/hooks.json:0:0: hooks is a list, want an object"},
		{"an empty file of servers", "-- .mcp.json --\n", "/kit/.mcp.json:1:1: not JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := write(t, tt.files)
			_, err := plugin.Read(dir)
			e, ok := errors.AsType[*plugin.Error](err)
			if !ok {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%s:%d:%d: %s", strings.TrimPrefix(e.File, filepath.Dir(dir)), e.Line, e.Column, e.Detail); !strings.HasPrefix(got, tt.want) {
				t.Errorf("%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// A link that leads out of the folder, a file in place of the folder, and a folder that everyone may
// write are refused.
func TestReadRefusesFolders(t *testing.T) {
	refused := func(dir, want string) {
		t.Helper()
		if _, err := plugin.Read(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	dir := write(t, "-- commands/a.md --\n")
	refused(filepath.Join(dir, "nothing"), "the plugin's folder cannot be read: no such file or directory")
	refused(filepath.Join(dir, "commands/a.md"), "a plugin is a folder")
	if err := os.Symlink("../../elsewhere", filepath.Join(dir, "skills")); err != nil {
		t.Fatal(err)
	}
	refused(dir, "skills: cannot be read")
	if err := os.Remove(filepath.Join(dir, "skills")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	refused(dir, "world-writable")
}
