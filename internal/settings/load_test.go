package settings_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/policy"
)

// testHome is a home, a project and a managed folder, all empty.
type testHome struct {
	t    *testing.T
	root string
}

func newTestHome(t *testing.T) testHome {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home", "user", "project/.git", "project/sub", "etc"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return testHome{t, root}
}

func (p testHome) path(name string) string { return filepath.Join(p.root, name) }

// write puts a file down, with its folders.
func (p testHome) write(name, text string) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.path(name)), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.path(name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p testHome) options() *settings.Options {
	return &settings.Options{
		Home: p.path("home"), User: p.path("user"), Cwd: p.path("project"), Managed: p.path("etc/settings.json"),
	}
}

func (p testHome) load() *settings.Settings {
	p.t.Helper()
	s, err := settings.Load(p.options())
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// trust trusts the project as it is now.
func (p testHome) trust() {
	p.t.Helper()
	trust, err := settings.OpenTrust(p.path("home"))
	if err != nil {
		p.t.Fatal(err)
	}
	if ok, err := trust.Add(p.load(), time.Unix(0, 0)); err != nil || !ok {
		p.t.Fatalf("trust: %v %v", ok, err)
	}
}

// What cannot be used is refused with its place and what to do.
func TestBadFiles(t *testing.T) {
	deep := strings.Repeat("[", 70) + strings.Repeat("]", 70)
	for _, tt := range []struct {
		name, text string
		line, col  int
		what, hint string
	}{
		{"empty", "", 1, 1, "the file is empty", "write {}"},
		{"blank", " \n\t", 1, 1, "the file is empty", "write {}"},
		{"text", "nothing", 1, 2, "not JSON", ""},
		{"torn", `{"permissions": {`, 1, 17, "not JSON", ""},
		{"line comment", "{\n  // rules\n}", 2, 3, "a comment", "comments are not allowed"},
		{"hash comment", "{\n  # rules\n}", 2, 3, "a comment", "comments are not allowed"},
		{"trailing comma", "{\"permissions\": {\"deny\": [\"Bash\",]}}", 1, 34, "not JSON", "comma"},
		{"byte order mark", "\ufeff{}", 1, 1, "not JSON", "byte order mark"},
		{"two documents", "{}\n{}", 2, 1, "not JSON", ""},
		{"not UTF-8", "{\n\"permissions\": {\"deny\": [\"B\xff\"]}}", 2, 28, "not UTF-8", "UTF-8"},
		{"half a character", `{"permissions": {"deny": ["B\ud800"]}}`, 1, 27, "half of a surrogate pair", ""},
		{"deep", `{"permissions": ` + deep + "}", 1, 80, "nested deeper than 64", ""},
		{"a list", "[]", 1, 1, "the file is a list, want an object", ""},
		{"null", "null", 1, 1, "the file is null, want an object", ""},
		{"key twice", "{\n \"permissions\": {},\n \"permissions\": {}\n}", 3, 2, `duplicate key "permissions"`, "keep one"},
		{"inner key twice", "{\"permissions\": {\"deny\": [], \"ask\": [],\n\"deny\": []}}", 2, 1, `duplicate key "deny"`, "keep one"},
		{"escaped key twice", `{"permissions": {"deny": [], "d\u0065ny": []}}`, 1, 30, `duplicate key "deny"`, "keep one"},

		{"unknown key", "{\n  \"permission\": {}\n}", 2, 3, `unknown key "permission"`, "did you mean permissions?"},
		{"case of a key", `{"Permissions": {}}`, 1, 2, `unknown key "Permissions"`, "write it as permissions"},
		{"model", `{"model": "x"}`, 1, 11, `model: invalid model name "x"`, "PROVIDER/MODEL"},
		{"small model", `{"smallModel": "/x"}`, 1, 16, `smallModel: invalid model name "/x"`, "PROVIDER/MODEL"},
		{"env", `{"env": {"A B": "x"}}`, 1, 10, `"A B" is not the name of a variable`, ""},
		{"env as list", `{"env": {"A": []}}`, 1, 15, "env.A is a list, want a text", ""},
		{"env that would have no effect", `{"env": {"ANTHROPIC_BASE_URL": "https://x.example"}}`, 1, 10, "env.ANTHROPIC_BASE_URL cannot be set by settings", "providers.anthropic.baseURL"},
		{"env that changes how commands are read", `{"env": {"BASH_ENV": "x"}}`, 1, 10, "env.BASH_ENV cannot be set by settings", "let the command set it"},
		{"env of the sandbox", `{"env": {"https_proxy": "x"}}`, 1, 10, "env.https_proxy cannot be set by settings", "sandbox.network"},
		{"style", `{"outputStyle": "../x"}`, 1, 17, `"../x" is not the name of a style`, ""},
		{"key helper", `{"apiKeyHelper": "x"}`, 1, 2, `unknown key "apiKeyHelper"`, "command:PROGRAM"},
		{"misplaced", `{"deny": ["Bash"]}`, 1, 2, `unknown key "deny"`, "move it into permissions"},
		{"unknown permission", `{"permissions": {"denied": []}}`, 1, 18, `unknown key "permissions.denied"`, "the settings are"},
		{"claude's", `{"permissions": {"disableAutoMode": "disable"}}`, 1, 18, `unknown key "permissions.disableAutoMode"`, "remove it"},

		{"permissions as list", `{"permissions": []}`, 1, 17, "permissions is a list, want an object", ""},
		{"rules as text", `{"permissions": {"deny": "Bash"}}`, 1, 26, "permissions.deny is a text, want a list", ""},
		{"rules as null", `{"permissions": {"deny": null}}`, 1, 26, "permissions.deny is null, want a list", ""},
		{"rule as number", `{"permissions": {"deny": ["Bash", 1]}}`, 1, 35, "permissions.deny[1] is a number, want a text", ""},
		{"empty rule", `{"permissions": {"ask": [""]}}`, 1, 26, "permissions.ask[0] is empty", "remove it"},
		{"blank rule", `{"permissions": {"allow": ["Read", " "]}}`, 1, 36, "permissions.allow[1] is empty", "remove it"},
		{"mode as number", `{"permissions": {"defaultMode": 1}}`, 1, 33, "permissions.defaultMode is a number, want a text", ""},
		{"unknown mode", `{"permissions": {"defaultMode": "yolo"}}`, 1, 33, `unknown permission mode "yolo"`, "write one of default, plan"},
		{"case of a mode", `{"permissions": {"defaultMode": "Plan"}}`, 1, 33, `unknown permission mode "Plan"`, "write one of"},
		{"onAsk", `{"permissions": {"onAsk": "allow"}}`, 1, 27, `permissions.onAsk: unknown value "allow"`, "deny, wait or fail"},
		{"askTimeout", `{"permissions": {"askTimeout": "soon"}}`, 1, 32, `"soon" is not a time`, `"10m"`},
		{"no time", `{"permissions": {"askTimeout": "0s"}}`, 1, 32, `"0s" is not a time`, `"10m"`},
		{"askToOverride as text", `{"permissions": {"askToOverride": "yes"}}`, 1, 35, "is a text, want true or false", ""},
		{"time as number", `{"permissions": {"askTimeout": 10}}`, 1, 32, "is a number, want a text", ""},
		{"bypass", `{"permissions": {"disableBypassPermissionsMode": "enable"}}`, 1, 50, `unknown value "enable"`, `"disable"`},
		{"bypass as bool", `{"permissions": {"disableBypassPermissionsMode": true}}`, 1, 50, "is true or false, want a text", ""},
		{"glob", `{"permissions": {"forbidden": ["ok/**", "a[b"]}}`, 1, 41, `permissions.forbidden[1]: "a[b" is not a usable glob`, "write a glob"},
		{"empty folder", `{"permissions": {"additionalDirectories": [""]}}`, 1, 44, "permissions.additionalDirectories[0] is empty", ""},
		{"folder with NUL", `{"permissions": {"additionalDirectories": ["a\u0000"]}}`, 1, 44, "contains a NUL", ""},
		{"sandbox as bool", `{"sandbox": true}`, 1, 13, "sandbox is true or false, want an object", ""},
		{"sandbox typo", "{\"sandbox\": {\n \"deniedPath\": []}}", 2, 2, "sandbox.deniedPath: ", ""},
		{"sandbox type", `{"sandbox": {"deniedPaths": "x"}}`, 1, 29, "sandbox.deniedPaths: ", "["},
		{"sandbox entry", `{"sandbox": {"deniedPaths": ["/a", ""]}}`, 1, 36, "sandbox.deniedPaths[1]: ", ""},
		{"sandbox null", `{"sandbox": {"deniedCommands": null}}`, 1, 32, "want a list, not null", ""},
		{"sandbox of the kernel", "{\"sandbox\": {\n\"network\": {\"allowedDomains\": [],\n\"allowUnixSockets\": [\"/x\"]}}}", 3, 22, "a list of sockets works only on macOS", "write true"},
		{"searching", `{"sandbox": {"ripgrep": {"command": "rg"}}}`, 1, 25, "search is built in", "remove it"},
		{"malformed rule", "{\"permissions\": {\"deny\": [\n\"Bash(\"]}}", 2, 1, `deny rule "Bash("`, ""},
		{"malformed allow rule", `{"permissions": {"allow": ["Read(a", "Bash"]}}`, 1, 28, `allow rule "Read(a"`, ""},
		{"empty parentheses", `{"permissions": {"ask": ["Bash()"]}}`, 1, 26, `ask rule "Bash()"`, ""},
		{"schema as number", `{"$schema": 1}`, 1, 13, "$schema is a number, want a text", ""},
		{"restricted without rules", `{"permissions": {"defaultMode": "restricted"}}`, 1, 33, "nothing is allowed", "--allowed-tools"},
		{"restricted with a rule that never matches", `{"permissions": {"defaultMode": "restricted", "allow": ["*"]}}`, 1, 33, "nothing is allowed", "--allowed-tools"},
		{"somebody's home", `{"permissions": {"additionalDirectories": ["~root/x"]}}`, 1, 44, "the home of another user is not known", "whole path"},
		{"invisible letter", "{\"permissions\": {\"deny\": [\"Bash(rm\u200b:*)\"]}}", 1, 27, "invisible character", "without that character"},
		{"bypass disabled", `{"permissions": {"disableBypassPermissionsMode": "disable", "defaultMode": "bypassPermissions"}}`, 1, 76, "mode bypassPermissions is disabled", "another mode"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newTestHome(t)
			for _, name := range []string{"home/settings.json", "project/.holdfast/settings.json", "etc/settings.json"} {
				if strings.HasPrefix(tt.what, "mode bypass") && strings.HasPrefix(name, "project/") {
					continue // an untrusted folder cannot choose it anyhow
				}
				p.write(name, tt.text)
				s, err := settings.Load(p.options())
				checkRefused(t, err, p.path(name), tt.line, tt.col, tt.what, tt.hint)
				if s != nil && err == nil {
					t.Error("settings were returned")
				}
				os.Remove(p.path(name))
			}
		})
	}
}

func checkRefused(t *testing.T, err error, file string, line, col int, what, hint string) {
	t.Helper()
	e, ok := errors.AsType[*settings.Error](err)
	if !ok || !errors.Is(err, settings.ErrInvalid) {
		t.Fatalf("%s: %v, want an *Error", file, err)
	}
	got := e.Problems[0]
	if got.File != file || got.Line != line || got.Col != col || !got.Fatal {
		t.Errorf("%s, want %s:%d:%d", got, file, line, col)
	}
	if !strings.Contains(got.Detail, what) || !strings.Contains(got.Hint, hint) {
		t.Errorf("%q, hint %q; want %q, %q", got.Detail, got.Hint, what, hint)
	}
	if !strings.HasPrefix(err.Error(), got.String()) || e.Hint() != got.Hint {
		t.Errorf("error %q, hint %q", err, e.Hint())
	}
}

// All that is wrong is told, not only the first.
func TestAllProblems(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"permissions": {"deny": [1, ""], "onAsk": "x"}, "environment": {}}`)
	_, problems, err := settings.Examine(p.options())
	if err != nil || len(problems) != 4 {
		t.Fatalf("%v, %v", problems, err)
	}
	_, err = settings.Load(p.options())
	if err == nil || !strings.HasSuffix(err.Error(), "(and 3 more, see: holdfast policy lint)") {
		t.Error(err)
	}
}

// A file that is there and cannot be read is never taken for none.
func TestUnreadable(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(p testHome, file string) error
		what string
	}{
		{"folder", func(_ testHome, file string) error { return os.Mkdir(file, 0o700) }, "it is a folder"},
		{"link to nowhere", func(_ testHome, file string) error { return os.Symlink("nowhere", file) }, "no such file"},
		{"link to itself", func(_ testHome, file string) error { return os.Symlink(filepath.Base(file), file) }, "symbolic links"},
		{"device", func(_ testHome, file string) error { return os.Symlink("/dev/zero", file) }, "not a regular file"},
		{"large", func(_ testHome, file string) error { return os.WriteFile(file, make([]byte, 1<<20+1), 0o600) }, "larger than 1024 KiB"},
	} {
		for _, file := range []string{"home/settings.json", "project/.holdfast/settings.json", "project/.holdfast/settings.local.json", "etc/settings.json"} {
			p := newTestHome(t)
			os.MkdirAll(filepath.Dir(p.path(file)), 0o700)
			if err := tt.make(p, p.path(file)); err != nil {
				t.Fatal(err)
			}
			_, err := settings.Load(p.options())
			e, ok := errors.AsType[*settings.Error](err)
			if !ok || e.Problems[0].File != p.path(file) || !strings.Contains(err.Error(), tt.what) || e.Hint() == "" {
				t.Errorf("%s, %s: %v", tt.name, file, err)
			}
		}
	}
}

func TestNotPermitted(t *testing.T) {
	testneed.User(t)
	p := newTestHome(t)
	p.write("home/settings.json", "{}")
	os.Chmod(p.path("home/settings.json"), 0)
	_, err := settings.Load(p.options())
	if e, ok := errors.AsType[*settings.Error](err); !ok || !errors.Is(err, fs.ErrPermission) || !strings.HasPrefix(e.Hint(), "make it readable: chmod") {
		t.Error(err)
	}
}

func TestWorldWritable(t *testing.T) {
	for _, file := range []string{"home/settings.json", "etc/settings.json", "etc/settings.d/a.json"} {
		p := newTestHome(t)
		p.write(file, "{}")
		os.Chmod(p.path(file), 0o606)
		_, err := settings.Load(p.options())
		if e, ok := errors.AsType[*settings.Error](err); !ok || !strings.HasPrefix(e.Hint(), "chmod o-w /") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestWorldWritableFolder(t *testing.T) {
	for folder, file := range map[string]string{"home": "home/settings.json", "etc": "etc/settings.json", "etc/settings.d": "etc/settings.d/a.json"} {
		p := newTestHome(t)
		p.write(file, "{}")
		os.Chmod(p.path(folder), 0o707)
		_, err := settings.Load(p.options())
		if e, ok := errors.AsType[*settings.Error](err); !ok || e.Hint() != "chmod o-w "+p.path(folder) {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

func TestFlagFiles(t *testing.T) {
	p := newTestHome(t)
	p.write("project/a.json", `{"permissions": {"defaultMode": "plan", "deny": ["Read(/x)"]}}`)
	o := p.options()
	o.Files = []string{"a.json", ` {"permissions": {"defaultMode": "auto"}}`}
	s, err := settings.Load(o)
	if err != nil || s.Mode.Value != policy.ModeAuto || s.Mode.Origin.File != "--settings 2" {
		t.Fatalf("%+v %v", s, err)
	}
	if r := s.Rules[0]; r.Layer != layernames.Flag || r.Dir != p.path("project") || r.File != p.path("project/a.json") {
		t.Errorf("%+v", r)
	}
	for _, tt := range []struct{ file, what string }{
		{"none.json", "cannot be read: no such file"},
		{".", "it is a folder"},
		{"", "it is a folder"},
		{`{"envs": {}}`, `--settings:1:2: unknown key "envs"`},
		{"{", "--settings:1:1: not JSON"},
	} {
		o.Files = []string{tt.file}
		if _, err := settings.Load(o); err == nil || !strings.Contains(err.Error(), tt.what) {
			t.Errorf("%q: %v", tt.file, err)
		}
	}
	o.Cwd = "relative"
	if _, err := settings.Load(o); !errors.Is(err, settings.ErrInvalid) {
		t.Error(err)
	}
	o.Cwd = p.path("nowhere")
	if _, err := settings.Load(o); !errors.Is(err, settings.ErrInvalid) {
		t.Error(err)
	}
}

// Lists are joined, of single values the strongest layer's counts.
func TestLayers(t *testing.T) {
	p := newTestHome(t)
	p.write("etc/settings.json", `{"permissions": {"deny": ["Bash(m:*)"], "askTimeout": "1m"}}`)
	p.write("etc/settings.d/20.json", `{"permissions": {"deny": ["Bash(d20:*)"], "askTimeout": "3m"}}`)
	p.write("etc/settings.d/10.json", `{"permissions": {"deny": ["Bash(d10:*)"], "askTimeout": "2m"}}`)
	p.write("etc/settings.d/README", `not read`)
	p.write("etc/settings.d/.hidden.json", `not read`)
	p.write("project/.holdfast/settings.local.json", `{"permissions": {"allow": ["Bash(l:*)"], "onAsk": "wait"}}`)
	p.write("project/.holdfast/settings.json", `{"permissions": {"ask": ["Read(/p)"], "onAsk": "fail", "defaultMode": "acceptEdits", "additionalDirectories": ["../etc"]}}`)
	p.write("home/settings.json", `{"permissions": {"allow": ["Read(/u)"], "defaultMode": "plan", "forbidden": ["**/.env"], "additionalDirectories": ["~/x", "y"]}}`)
	p.trust()
	o := p.options()
	o.Cwd = p.path("project/sub")
	o.Files = []string{`{"permissions": {"deny": ["Bash(f:*)"]}}`}
	o.Flags.Deny = []settings.Flag{{Name: "--disallowed-tools", Text: "Write"}}
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range s.Rules {
		got = append(got, r.Layer+" "+string(r.Effect)+" "+r.Text)
	}
	want := []string{
		"managed deny Bash(d20:*)", "managed deny Bash(d10:*)", "managed deny Bash(m:*)", "flag deny Write", "flag deny Bash(f:*)",
		"local allow Bash(l:*)", "project ask Read(/p)", "user allow Read(/u)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rules\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if s.Mode.Value != policy.ModeAcceptEdits || s.Mode.Origin.Layer != layernames.Project || s.Mode.Origin.Line != 1 {
		t.Errorf("mode %+v", s.Mode)
	}
	if s.OnAsk.Value != settings.UnattendedWait || s.AskTimeout.Value != 3*time.Minute {
		t.Errorf("%+v %+v", s.OnAsk, s.AskTimeout)
	}
	var folders []string
	for _, f := range s.Folders {
		folders = append(folders, f.Value)
	}
	if want := []string{p.path("etc"), p.path("user/x"), p.path("home/y")}; !slices.Equal(folders, want) {
		t.Errorf("folders %v, want %v", folders, want)
	}
	if len(s.Forbidden) != 1 || s.Forbidden[0].Value != "**/.env" || s.Forbidden[0].Origin.Layer != layernames.User {
		t.Errorf("%+v", s.Forbidden)
	}
	if r := s.Rules[6]; r.Dir != p.path("project") {
		t.Errorf("a path of the project is relative to %s", r.Dir)
	}
	if r := s.Rules[7]; r.Dir != p.path("home") {
		t.Errorf("a path of the user is relative to %s", r.Dir)
	}
	if len(s.Layers) != 7 {
		t.Errorf("%+v", s.Layers)
	}
	if what, _ := s.Notice(); what != "" {
		t.Error(what)
	}
}

// --permission-mode and its like are stronger than files, but not than the administrator.
func TestFlags(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"permissions": {"defaultMode": "plan", "onAsk": "fail", "askTimeout": "1m"}}`)
	o := p.options()
	o.Files = []string{`{"permissions": {"defaultMode": "auto"}}`}
	o.Flags = settings.Flags{
		Allow: []settings.Flag{{Name: "--allowed-tools", Text: "Read"}}, Mode: policy.ModeDontAsk, OnAsk: settings.UnattendedWait,
		AskTimeout: time.Hour, Folders: []string{"sub"},
	}
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	if s.Mode.Value != policy.ModeDontAsk || settings.OriginText(s.Mode.Origin) != "--permission-mode" {
		t.Errorf("%+v", s.Mode)
	}
	if s.OnAsk.Value != settings.UnattendedWait || s.AskTimeout.Value != time.Hour || s.Folders[0].Value != p.path("project/sub") {
		t.Errorf("%+v", s)
	}
	if s.Rules[0].File != "--allowed-tools" || s.Rules[0].Layer != layernames.Flag {
		t.Errorf("%+v", s.Rules)
	}
	p.write("etc/settings.json", `{"permissions": {"disableBypassPermissionsMode": "disable", "defaultMode": "default"}}`)
	if s, err = settings.Load(o); err != nil || s.Mode.Value != policy.ModeDefault {
		t.Errorf("%+v %v", s, err)
	}
	p.write("etc/settings.json", `{"permissions": {"disableBypassPermissionsMode": "disable"}}`)
	o.Flags.Mode = policy.ModeBypass
	if _, err = settings.Load(o); err == nil || !strings.Contains(err.Error(), "--permission-mode: ") || !strings.Contains(err.Error(), "disabled by "+p.path("etc/settings.json")+":1:50") {
		t.Error(err)
	}
	o.Flags.Mode = policy.ModeRestricted
	if _, err = settings.Load(o); err != nil {
		t.Error(err)
	}
	o.Flags.Allow = nil
	if _, err = settings.Load(o); err == nil || !strings.Contains(err.Error(), "has no allow rules") {
		t.Error(err)
	}
}

// Alone means just what is named.
func TestFlagsOnly(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"permissions": {"deny": ["Bash"]}}`)
	p.write("etc/settings.json", `not even read`)
	o := p.options()
	o.FlagsOnly, o.Files = true, []string{`{"permissions": {"ask": ["Read"]}}`}
	s, err := settings.Load(o)
	if err != nil || len(s.Rules) != 1 || s.Rules[0].Text != "Read" {
		t.Errorf("%+v %v", s, err)
	}
}
