package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// decode decodes settings from JSON.
func decode(b []byte) (*Settings, error) {
	s := &Settings{}
	return s, s.Decode(b)
}

// checker compiles settings in JSON.
func checker(t testing.TB, settings string, o *Options) *Checker {
	t.Helper()
	s, err := decode([]byte(settings))
	if err != nil {
		t.Fatalf("%s: %v", settings, err)
	}
	c, err := NewChecker(s, o)
	if err != nil {
		t.Fatalf("%s: %v", settings, err)
	}
	return c
}

// denial returns the denial in an error, or an empty one for nil.
func denial(t testing.TB, err error) Denial {
	t.Helper()
	if err == nil {
		return Denial{}
	}
	d, ok := errors.AsType[*Denial](err)
	if !ok {
		t.Fatalf("an error that is no denial: %v", err)
	}
	return *d
}

func TestCheckPath(t *testing.T) {
	for _, tt := range []struct {
		settings, path, cwd string
		op                  policy.Operation
		setting, rule       string // "" allows
	}{
		{`{"deniedPaths":["/s"]}`, "/s", "", policy.OpRead, "deniedPaths", "/s"},
		{`{"deniedPaths":["/s/"]}`, "/s", "", policy.OpRead, "deniedPaths", "/s/"},
		{`{"deniedPaths":["/s"]}`, "/s/x", "", policy.OpWrite, "deniedPaths", "/s"},
		{`{"deniedPaths":["/s"]}`, "/s-x", "", policy.OpRead, "", ""},
		{`{"deniedPaths":["/s"]}`, "/", "", policy.OpRead, "", ""},
		{`{"deniedPaths":["/s/t"]}`, "/s", "", policy.OpWrite, "", ""},
		{`{"deniedPaths":["/s"]}`, "s/x", "/", policy.OpRead, "deniedPaths", "/s"},
		{`{"deniedPaths":["/s"]}`, "../s/x", "/p", policy.OpRead, "deniedPaths", "/s"},
		{`{"deniedPaths":["/s"]}`, "/p/no/../../s", "", policy.OpRead, "deniedPaths", "/s"},
		{`{"deniedPaths":["/"]}`, "/any/thing", "", policy.OpRead, "deniedPaths", "/"},
		{`{"deniedPaths":["/s"]}`, "", "/p", policy.OpRead, "deniedPaths", ""},
		{`{"deniedPaths":["/s"]}`, "x", "", policy.OpRead, "deniedPaths", ""},
		{`{"deniedPaths":["/s"]}`, "/p/\x00/../../p", "", policy.OpRead, "deniedPaths", ""},
		{`{"deniedPaths":["/s"]}`, "~other/x", "/p", policy.OpRead, "deniedPaths", ""},
		{`{"deniedPaths":["~/.ssh"]}`, "/home/u/.ssh/id", "", policy.OpRead, "deniedPaths", "~/.ssh"},
		{`{"deniedPaths":["$HOME/.ssh"]}`, "~/.ssh/id", "", policy.OpRead, "deniedPaths", "$HOME/.ssh"},
		{`{"deniedPaths":["${HOME}"]}`, "~", "", policy.OpRead, "deniedPaths", "${HOME}"},
		{`{"deniedPaths":["secret"]}`, "/set/secret/x", "/p", policy.OpRead, "deniedPaths", "secret"},
		{`{"deniedPaths":["secret"]}`, "secret/x", "/p", policy.OpRead, "", ""},
		{`{"deniedPaths":["../up"]}`, "/up", "", policy.OpRead, "deniedPaths", "../up"},
		{`{"deniedPaths":["."]}`, "/set/x", "", policy.OpRead, "deniedPaths", "."},

		{`{"allowedReadPaths":["/p"]}`, "/q", "", policy.OpRead, "allowedReadPaths", ""},
		{`{"allowedReadPaths":["/p"]}`, "/q", "", policy.OpWrite, "", ""},
		{`{"allowedReadPaths":["/p"]}`, "/p-backup/x", "", policy.OpRead, "allowedReadPaths", ""},
		{`{"allowedReadPaths":["/p"]}`, "/p/../q", "", policy.OpRead, "allowedReadPaths", ""},
		{`{"allowedReadPaths":["/p"]}`, "", "/p", policy.OpRead, "allowedReadPaths", ""},
		{`{"allowedReadPaths":["/p","/q"]}`, "/q/x", "", policy.OpRead, "", ""},
		{`{"allowedReadPaths":["/"]}`, "/q/x", "", policy.OpRead, "", ""},
		{`{"allowedWritePaths":["/p"]}`, "/q", "", policy.OpWrite, "allowedWritePaths", ""},
		{`{"allowedWritePaths":["/p"]}`, "/q", "", policy.OpRead, "", ""},
		{`{"allowedWritePaths":["/p"]}`, "/p/x", "", policy.OpWrite, "", ""},
		{`{"allowedReadPaths":["/p"],"deniedPaths":["/p/s"]}`, "/p/s/x", "", policy.OpRead, "deniedPaths", "/p/s"},
		{`{"allowedReadPaths":["/p/s"],"deniedPaths":["/p"]}`, "/p/s/x", "", policy.OpRead, "deniedPaths", "/p"},
		{`{}`, "\x00", "", policy.OpRead, "", ""},
		{`{}`, "/any", "", policy.OpWrite, "", ""},
		{`{"deniedCommands":["rm"]}`, "/any", "", policy.OpWrite, "", ""},
	} {
		c := checker(t, tt.settings, &Options{Home: "/home/u", Dir: "/set"})
		err := c.CheckPath(tt.path, tt.cwd, tt.op)
		d := denial(t, err)
		if d.Setting != tt.setting || d.Rule != tt.rule || d.Subject != "" && d.Subject != tt.path || (err != nil) != (tt.setting != "") {
			t.Errorf("%s %s %q: got %+v, want %s %q", tt.settings, tt.op, tt.path, d, tt.setting, tt.rule)
		}
		if c.IsPathAllowed(tt.path, tt.cwd, tt.op) != (err == nil) {
			t.Errorf("%s %s %q: the yes or no differs", tt.settings, tt.op, tt.path)
		}
	}
	if err := checker(t, `{}`, nil).CheckPath("/x", "", "move"); err == nil {
		t.Error("an operation that does not exist was allowed")
	}
}

// Links are resolved in settings and in checked paths, and a denied name stays denied wherever it leads.
func TestCheckPathFollowsLinks(t *testing.T) {
	root := makeTree(t)
	for _, tt := range []struct {
		settings, path string
		allowed        bool
	}{
		{`{"deniedPaths":["d"]}`, "a/up/x", false},
		{`{"deniedPaths":["d"]}`, "abs", false},
		{`{"deniedPaths":["abs"]}`, "d/x", false}, // the setting is the link
		{`{"deniedPaths":["abs"]}`, "abs", false},
		{`{"deniedPaths":["dangle"]}`, "dangle/x", false},
		{`{"deniedPaths":["missing"]}`, "dangle", false},
		{`{"deniedPaths":["a"]}`, "l1/../../d", true}, // leaves a again
		{`{"allowedReadPaths":["a"]}`, "a/up/x", false},
		{`{"allowedReadPaths":["a"]}`, "a/b/top/d", false},
		{`{"allowedReadPaths":["a"]}`, "l1/c", true},
		{`{"allowedReadPaths":["l1"]}`, "a/b/c", true},
		{`{"allowedReadPaths":["a"]}`, "loop", false},
		{`{"allowedReadPaths":["a"]}`, "a/new/file", true},
	} {
		c := checker(t, tt.settings, &Options{Dir: root})
		if got := c.IsPathAllowed(tt.path, root, policy.OpRead); got != tt.allowed {
			t.Errorf("%s %s: got %v", tt.settings, tt.path, got)
		}
	}
}

// A folder that became a link after the settings were read does not allow the link's target.
func TestCheckPathAfterAChange(t *testing.T) {
	root := makeTree(t)
	c := checker(t, `{"allowedWritePaths":["build"]}`, &Options{Dir: root})
	if !c.IsPathAllowed("build/x", root, policy.OpWrite) {
		t.Error("refused before")
	}
	if err := os.Symlink("d", filepath.Join(root, "build")); err != nil {
		t.Fatal(err)
	}
	if c.IsPathAllowed("build/x", root, policy.OpWrite) {
		t.Error("allowed through the link")
	}
}

func TestDenialTexts(t *testing.T) {
	c := checker(t, `{"allowedReadPaths":["/p"],"allowedWritePaths":["/p"],"deniedPaths":["/s"],"deniedCommands":["rm"],"network":{"allowedDomains":["a.org"]}}`, nil)
	for _, tt := range []struct {
		err        error
		text, hint string
	}{
		{c.CheckPath("/s", "", policy.OpRead), "Permission denied for Read: path '/s' is outside allowed read scope", "to allow this, remove /s from deniedPaths"},
		{c.CheckPath("/q", "", policy.OpWrite), "Permission denied for Write: path '/q' is outside allowed write scope", "to allow this, add the folder to allowedWritePaths"},
		{c.CheckPath("x", "", policy.OpRead), "Permission denied for Read: path 'x' is outside allowed read scope: it is relative, but the current folder is not known", "write it out in full; holdfast sandbox explain shows what can be parsed"},
		{c.CheckHost("b.org"), "Permission denied for WebFetch: host 'b.org' is outside allowed domains", "to allow this, add the host to network.allowedDomains"},
		{c.CheckHost("localhost"), "Permission denied for WebFetch: host 'localhost' is this machine", ""},
	} {
		d := denial(t, tt.err)
		if d.Error() != tt.text || d.Hint() != tt.hint {
			t.Errorf("got %s\nhint %s", d.Error(), d.Hint())
		}
	}
}

func TestDenialsAreLogged(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	c := checker(t, `{"deniedPaths":["/s"],"network":{"allowedDomains":[]}}`, &Options{Log: log})
	_ = c.CheckPath("/p", "", policy.OpRead)
	c.IsPathAllowed("/s", "", policy.OpRead)
	if out.Len() > 0 {
		t.Fatalf("logged without a denial: %s", out.String())
	}
	_ = c.CheckPath("/s", "", policy.OpWrite)
	c.Evaluate(policy.Request{Operation: policy.OpConnect, Resource: "a.org"})
	var got []string
	for line := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
		var m map[string]string
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m["reason"] == "" {
			t.Error("no reason in " + line)
		}
		got = append(got, strings.Join([]string{m["level"], m["msg"], m["type"], m["value"]}, " "))
	}
	if want := "INFO sandbox_denial path_write /s\nINFO sandbox_denial host a.org"; strings.Join(got, "\n") != want {
		t.Errorf("got %q", got)
	}
}

func TestEvaluate(t *testing.T) {
	c := checker(t, `{"allowedReadPaths":["/p"],"allowedWritePaths":["/p/b"],"deniedPaths":["/p/s"],"network":{"allowedDomains":["a.org"]}}`,
		&Options{Origin: policy.Origin{Layer: layernames.Project, File: "x.json"}})
	var _ policy.Policy = c
	for _, tt := range []struct {
		op             policy.Operation
		resource       string
		reason, origin string // "" is no opinion
	}{
		{policy.OpRead, "/p/s/x", "sandbox: path '/p/s/x' is outside allowed read scope", "deniedPaths: /p/s"},
		{policy.OpRead, "/q", "sandbox: path '/q' is outside allowed read scope", "allowedReadPaths"},
		{policy.OpExec, "/q", "sandbox: path '/q' is outside allowed read scope", "allowedReadPaths"},
		{policy.OpWrite, "/p/x", "sandbox: path '/p/x' is outside allowed write scope", "allowedWritePaths"},
		{policy.OpConnect, "b.org", "sandbox: host 'b.org' is outside allowed domains", "network.allowedDomains"},
		{policy.OpConnect, "127.0.0.1:80", "sandbox: host '127.0.0.1' is this machine", "network.allowLocalBinding"},
		{policy.OpRead, "/p/x", "", ""},
		{policy.OpWrite, "/p/b/x", "", ""},
		{policy.OpConnect, "https://a.org/x", "", ""},
		{policy.OpMCP, "server/tool", "", ""},
		{policy.OpSecret, "token", "", ""},
		{"", "", "", ""},
	} {
		r := policy.Request{Tool: "T", Operation: tt.op, Resource: tt.resource, Cwd: "/p", Input: json.RawMessage(`{"dangerously_disable_sandbox":true}`)}
		v := c.Evaluate(r)
		if tt.reason == "" {
			if v.Effect != policy.NoOpinion || v.Rule != nil {
				t.Errorf("%s %s: got %+v", tt.op, tt.resource, v)
			}
			continue
		}
		want := policy.Origin{Rule: tt.origin, Layer: layernames.Project, File: "x.json"}
		if v.Effect != policy.Deny || v.Reason != tt.reason || v.Rule == nil || *v.Rule != want {
			t.Errorf("%s %s: got %+v %+v", tt.op, tt.resource, v, v.Rule)
		}
	}
}
