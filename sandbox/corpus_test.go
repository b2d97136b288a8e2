package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
	"github.com/holdfast-dev/holdfast/policy"
)

// corpusHome is the home folder of the cases ("HOME=/home/u").
const corpusHome = "/home/u"

func TestCorpus(t *testing.T) {
	handled := map[string]func(*testing.T, corpus.Case){
		"sandbox_settings":      checkSettingsCase,
		"sandbox_path":          checkPathCase,
		"sandbox_normalize":     checkNormalizeCase,
		"sandbox_basename":      checkBasenameCase,
		"sandbox_extract_paths": checkExtractCase,
		"sandbox_command":       checkCommandCase,
		"sandbox_error":         checkErrorCase,
		"sandbox_bypass":        checkBypassCase,
		"sandbox_benign":        checkCommandCase,
		"sandbox_network":       checkNetworkCase,
		"sandbox_file_tools":    checkFileToolCase,
		"auto_allow_bash":       checkAutoAllowCase,
	}
	var areas []string
	for area := range handled {
		areas = append(areas, area)
	}
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", areas...), handled, map[string]string{
		"sandbox_bypass-405": "it is about hooks and sub-agents, not about the text of a command: the agent's tests have it",
	})
}

// sandboxEnv contains the folders of a case that its placeholders stand for.
type sandboxEnv struct{ root, outside string }

func newEnv(t *testing.T) sandboxEnv {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := sandboxEnv{filepath.Join(base, "root"), filepath.Join(base, "outside")}
	for _, dir := range []string{p.root, p.outside} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// fill replaces placeholders by the real folders.
func (p sandboxEnv) fill(s string) string {
	return strings.NewReplacer("<root>", p.root, "<outside>", p.outside, "<cwd>", p.root).Replace(s)
}

// restrictions are the fields of a case's settings that package sandbox supports. The case handles the others
// (hooks, a mode, required files).
func (p sandboxEnv) restrictions(t *testing.T, raw json.RawMessage) map[string]json.RawMessage {
	t.Helper()
	out := map[string]json.RawMessage{}
	if len(raw) == 0 {
		return out
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(p.fill(string(raw))), &all); err != nil {
		t.Fatal(err)
	}
	if inner, ok := all["sandbox"]; ok {
		return p.restrictions(t, inner)
	}
	d := &decoder{setBy: map[string]string{}}
	for name := range d.settings(&Settings{}) {
		if v, ok := all[name]; ok {
			out[name] = v
		}
	}
	return out
}

// checker compiles a case's settings, or fails the test.
func (p sandboxEnv) checker(t *testing.T, raw json.RawMessage) *Checker {
	t.Helper()
	c, err := p.compile(t, raw)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// compile compiles a case's settings.
func (p sandboxEnv) compile(t *testing.T, raw json.RawMessage) (*Checker, error) {
	t.Helper()
	b, err := json.Marshal(p.restrictions(t, raw))
	if err != nil {
		t.Fatal(err)
	}
	s, err := decode(b)
	if err != nil {
		return nil, err
	}
	return NewChecker(s, &Options{Home: corpusHome, Dir: "/project"})
}

// checkCase compares the result of a case's settings with the expected one. Rejected settings allow nothing.
func (p sandboxEnv) checkCase(t *testing.T, c corpus.Case, check func(*Checker) error) {
	t.Helper()
	checker, err := p.compile(t, c.Settings())
	if err == nil {
		err = check(checker)
	}
	if (err == nil) != wantAllowed(t, c) {
		t.Errorf("%s under %s: got %v", c.Input(), c.Settings(), err)
	}
}

type corpusInput struct {
	Command string
	CWD     string
	Path    string
	Op      string
	File    string
	Target  string
	Tool    string
	Apply   int
	What    string
	Type    string
	A, B    json.RawMessage
	Race    string
	Name    string

	// Fields for tools, their guards and the agent: a checker does not use them.
	Old, New, Content, Pattern, Fs string
	OutputMode                     string `json:"output_mode"`
	Sequence                       []string
	Children                       string `json:"child_calls"`
	Unsandboxed                    bool   `json:"dangerously_disable_sandbox"`
	CanUseTool, PermissionMode     string
	Via                            []string
}

func (p sandboxEnv) input(t *testing.T, c corpus.Case) corpusInput {
	t.Helper()
	var in corpusInput
	c.Decode(t, json.RawMessage(p.fill(string(c.Input()))), &in)
	if in.CWD == "" {
		in.CWD = "/project"
	}
	return in
}

func wantAllowed(t *testing.T, c corpus.Case) bool {
	t.Helper()
	var want string
	c.Decode(t, c.Expect(), &want)
	switch want {
	case "allow", "run":
		return true
	case "deny", "block", "reject", "refuse", "error":
		return false
	}
	t.Fatalf("expectation %q is not understood", want)
	return false
}

func checkSettingsCase(t *testing.T, c corpus.Case) {
	in := newEnv(t).input(t, c)
	var expect map[string]any
	c.Decode(t, c.Expect(), &expect)
	raw := c.Settings()
	switch {
	case expect["equal"] != nil:
		read := func(raw json.RawMessage) *Settings {
			s, err := decode([]byte(`{"` + settingOf(raw) + `":` + string(raw) + `}`))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		if got := reflect.DeepEqual(read(in.A), read(in.B)); got != expect["equal"] {
			t.Errorf("equal: %v", got)
		}
		return
	case expect["present"] != nil:
		// The restrictions of the settings must reach the tools, as limits of their guards.
		var p policy.Policy = newEnv(t).checker(t, raw)
		if v := p.Evaluate(policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "rm x", Cwd: "/project"}); v.Effect != policy.Deny {
			t.Errorf("got %+v", v)
		}
		return
	case in.Type == "network":
		raw = json.RawMessage(`{"network":{}}`)
	}
	s, err := decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	got := plain(t, s)
	if in.Type == "network" {
		got = plain(t, s.Network)
	}
	for k, want := range expect {
		have, set := got[k]
		if !set {
			have = false // an omitted flag
			if want == nil {
				have = nil
			}
			if l, ok := want.([]any); ok && len(l) == 0 {
				have = want
			}
		}
		if !reflect.DeepEqual(have, want) {
			t.Errorf("%s: got %v, want %v", k, have, want)
		}
	}
}

// settingOf returns the setting to which a bare value belongs.
func settingOf(raw json.RawMessage) string {
	if strings.Contains(string(raw), `"command"`) {
		return "ripgrep"
	}
	return "network"
}

func plain(t *testing.T, v any) map[string]any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func checkPathCase(t *testing.T, c corpus.Case) {
	p := newEnv(t)
	made := p.makeFiles(t, c.Settings()) || p.makeFiles(t, c.Input())
	in := p.input(t, c)
	if made && in.CWD == "/project" {
		in.CWD = p.root
	}
	in.Path = strings.ReplaceAll(in.Path, "$HOME", corpusHome) // "input shown symbolically"
	p.checkCase(t, c, func(k *Checker) error { return k.CheckPath(in.Path, in.CWD, policy.Operation("fs."+in.Op)) })
}

// makeFiles creates the files of a case: {"fs": {"real/": "dir", "link": "-> real"}}.
func (p sandboxEnv) makeFiles(t *testing.T, raw json.RawMessage) bool {
	t.Helper()
	var s struct{ FS json.RawMessage }
	if len(raw) > 0 {
		if err := json.Unmarshal([]byte(p.fill(string(raw))), &s); err != nil {
			t.Fatal(err)
		}
	}
	var files map[string]string
	if len(s.FS) > 0 && json.Unmarshal(s.FS, &files) != nil {
		t.Logf("files only described: %s", s.FS)
	}
	for name, what := range files {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.root, name)
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch to, link := strings.CutPrefix(what, "-> "); {
		case link:
			err = os.Symlink(to, name)
		case what == "dir":
			err = os.MkdirAll(name, 0o755)
		default:
			err = os.WriteFile(name, []byte(what), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return len(files) > 0
}

func checkNormalizeCase(t *testing.T, c corpus.Case) {
	p := newEnv(t)
	made := p.makeFiles(t, c.Settings())
	in := p.input(t, c)
	if in.Path == "<any>" {
		if string(c.Expect()) != `"same as once"` {
			t.Fatalf("what is %s?", c.Expect())
		}
		for _, path := range []string{"/a/../b", "x//y/", "~/x", ".", "", "/"} {
			once, err := realpath.Normalize(path, p.root, corpusHome)
			if err != nil {
				t.Fatal(err)
			}
			for range in.Apply {
				again, err := realpath.Normalize(once, p.root, corpusHome)
				if err != nil || again != once {
					t.Errorf("%q became %q, then %q (%v)", path, once, again, err)
				}
			}
		}
		return
	}
	var want string
	c.Decode(t, c.Expect(), &want)
	want = p.fill(want)
	if made && !filepath.IsAbs(want) {
		want = filepath.Join(p.root, want)
	}
	got, err := realpath.Normalize(in.Path, p.root, corpusHome)
	if err != nil || got != want {
		t.Errorf("%q: got %q, %v, want %q", in.Path, got, err, want)
	}
}

// The expected basename of a command is the program that its first command runs.
func checkBasenameCase(t *testing.T, c corpus.Case) {
	in := newEnv(t).input(t, c)
	var want, got string
	c.Decode(t, c.Expect(), &want)
	if r := parseCase(in); len(r.Commands) > 0 {
		got = r.Commands[0].Name
	}
	if got != want {
		t.Errorf("%q: got %q, want %q", in.Command, got, want)
	}
}

func parseCase(in corpusInput) *shellparse.Reading {
	return shellparse.Parse(in.Command, &shellparse.Options{Dir: in.CWD, Home: corpusHome})
}

// The expected paths of a command are its arguments that look like paths.
func checkExtractCase(t *testing.T, c corpus.Case) {
	in := newEnv(t).input(t, c)
	want, got := []string{}, []string{}
	c.Decode(t, c.Expect(), &want)
	for _, cmd := range parseCase(in).Commands {
		for _, p := range cmd.Paths {
			if p.Source != shellparse.FromGuess && p.Access != shellparse.Exec && (strings.Contains(p.Arg, "/") || strings.HasPrefix(p.Arg, "~")) {
				// The expected words are as written; the parser's are as a shell passes them on.
				arg := p.Arg
				if rest, ok := strings.CutPrefix(arg, corpusHome+"/"); ok {
					arg = "~/" + rest
				}
				if strings.HasPrefix(arg, "-") {
					arg = p.Path // in the value of a flag
				}
				got = append(got, arg)
			}
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q: got %q, want %q", in.Command, got, want)
	}
}

func checkCommandCase(t *testing.T, c corpus.Case) {
	p := newEnv(t)
	in := p.input(t, c)
	p.checkCase(t, c, func(k *Checker) error { return k.CheckCommand(in.Command, in.CWD) })
}

func checkErrorCase(t *testing.T, c corpus.Case) {
	p := newEnv(t)
	in := p.input(t, c)
	var expect struct {
		Error, Tool, Reason, Content string
		IsError                      *bool `json:"is_error"`
		Log                          *struct {
			Level, Event string
			Data         map[string]string
		}
	}
	c.Decode(t, c.Expect(), &expect)
	var log strings.Builder
	checker := p.checker(t, c.Settings())
	checker.log = jsonLog(&log)
	var err error
	if in.Command != "" {
		err = checker.CheckCommand(in.Command, in.CWD)
	} else {
		err = checker.CheckPath(in.Path, in.CWD, policy.Operation("fs."+in.Op))
	}
	d := denial(t, err)
	if err == nil {
		t.Fatal("allowed")
	}
	if expect.Tool != "" && d.Tool != expect.Tool || expect.Reason != "" && d.Reason != expect.Reason {
		t.Errorf("got %+v", d)
	}
	if expect.Content != "" && "Error: "+err.Error() != expect.Content {
		t.Errorf("as a result it is %q, want %q", "Error: "+err.Error(), expect.Content)
	}
	if l := expect.Log; l != nil {
		var got map[string]string
		if err := json.Unmarshal([]byte(log.String()), &got); err != nil {
			t.Fatal(err)
		}
		if got["level"] != strings.ToUpper(l.Level) || got["msg"] != l.Event || got["reason"] == "" {
			t.Errorf("logged %v", got)
		}
		for k, v := range l.Data {
			if got[k] != v {
				t.Errorf("logged %s %q, want %q", k, got[k], v)
			}
		}
	}
}

func checkBypassCase(t *testing.T, c corpus.Case) {
	p := newEnv(t)
	in := p.input(t, c)
	checker := p.checker(t, c.Settings())
	err := checker.CheckCommand(in.Command, in.CWD)
	var want string
	c.Decode(t, c.Expect(), &want)
	switch {
	case want == "isolate":
		t.Logf("not decidable from the text; the checker says %v, the kernel sandbox must hold it", err)
	case (err == nil) != wantAllowed(t, c):
		t.Errorf("[%s] %q under %s in %s: got %v", c.Group, in.Command, c.Settings(), in.CWD, err)
	}
	// The input that a model writes for its call does not change the settings.
	v := checker.Evaluate(policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: in.Command, Cwd: in.CWD, Input: c.Input()})
	if (v.Effect == policy.Deny) != (err != nil) {
		t.Errorf("as a policy it says %+v", v)
	}
}
