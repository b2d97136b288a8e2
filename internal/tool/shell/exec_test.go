package shell_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/tool/shell"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

func TestExec(t *testing.T) {
	everywhere(t, func(t *testing.T, open opener) {
		b := open(t, &shell.Options{Exec: true, Override: true})
		exec := b.tools[1]
		for name, text := range map[string]string{"say": "#!/bin/sh\necho \"$0:$#:$1\"\npwd\nexit 3\n", "plain": "text"} {
			if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, wrong := range []error{
			os.Chmod(filepath.Join(b.dir, "plain"), 0o600), os.Symlink("say", filepath.Join(b.dir, "link")), os.Mkdir(filepath.Join(b.dir, "folder"), 0o700),
		} {
			if wrong != nil {
				t.Fatal(wrong)
			}
		}
		at := func(name string) string { return filepath.Join(b.dir, name) }
		for _, c := range []struct {
			name, input, resource, named, line, out string
			code                                    int
		}{
			{"by its path", `{"program":"./say","args":["a b; $x","*"]}`, at("say"), "", at("say") + ` 'a b; $x' '*'`, at("say") + ":2:a b; $x\n" + b.dir, 3},
			{"through a link", `{"program":"./link"}`, at("say"), at("link"), at("link"), at("say") + ":0:\n", 3},
			{"through a folder and back", `{"program":"folder/../say"}`, at("say"), "", at("say"), at("say") + ":0:\n", 3},
			{"without arguments", `{"program":"/bin/sh","args":["-c","echo $((1+1))"]}`, "", "", "", "2\n", 0},
			{"by its name", `{"program":"sh","args":["-c","exit 0"]}`, "", "", "", "(no output)", 0},
			{"timeout", `{"program":"sleep","args":["60"],"timeout":50}`, "", "", "", "Command timed out after 50ms.", 143},
		} {
			t.Run(c.name, func(t *testing.T) {
				call := &tool.Call{ID: "c1", Tool: "Exec", Input: json.RawMessage(c.input)}
				list, err := exec.Requests(call)
				if err != nil || len(list) != 1 || list[0].Operation != policy.OpExec || list[0].Tool != "Exec" || list[0].Cwd != b.dir {
					t.Fatalf("%+v, %v", list, err)
				}
				if r := list[0]; c.resource != "" && (r.Resource != c.resource || r.NamedPath != c.named || r.Line != c.line || r.Display != c.line) {
					t.Errorf("%+v", r)
				}
				r, err := exec.Run(t.Context(), call)
				if err != nil || !strings.HasPrefix(textOf(r), c.out) || r.ExitCode == nil || *r.ExitCode != c.code {
					t.Errorf("%v: %q, %v", err, textOf(r), r.ExitCode)
				}
			})
		}
		for input, want := range map[string]string{
			`{"program":""}`:                          "must not be empty",
			`{"program":"a\u0000b"}`:                  "NUL",
			`{"program":"sh","args":["\u0000"]}`:      "NUL",
			`{"program":"no-such-program"}`:           "not found in PATH",
			`{"program":"./missing"}`:                 "no such file",
			`{"program":"./plain"}`:                   "not an executable file",
			`{"program":"./folder"}`:                  "not an executable file",
			`{"program":"./say","timeout":-1}`:        "timeout must not be negative",
			`{"program":"./say","args":"x"}`:          "args",
			`{"program":"./say","command":"echo hi"}`: "command",
		} {
			if _, err := exec.Requests(&tool.Call{Tool: "Exec", Input: json.RawMessage(input)}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", input, err, want)
			}
		}
		list, err := exec.Requests(&tool.Call{Tool: "Exec", Input: json.RawMessage(`{"program":"./say","override":true}`)})
		if err != nil || !list[0].Override {
			t.Errorf("%+v, %v", list, err)
		}
	})
}
