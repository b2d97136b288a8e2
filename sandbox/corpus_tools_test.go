package sandbox

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/policy"
)

func jsonLog(w io.Writer) *slog.Logger { return slog.New(slog.NewJSONHandler(w, nil)) }

// checkNetworkCase reads what a case tries from its words.
func checkNetworkCase(t *testing.T, c corpus.Case) {
	p := newPlace(t)
	var fields map[string]any
	c.Decode(t, c.Settings(), &fields)
	for name, v := range fields {
		if v == "set" {
			var want struct {
				Ignored bool `json:"silently_ignored"`
			}
			if c.Decode(t, c.Expect(), &want); want.Ignored {
				t.Fatalf("%s is to be ignored?", name)
			}
			checkNotIgnored(t, name)
			return
		}
	}
	in := p.input(t, c)
	r := policy.Request{Tool: "WebFetch", Operation: policy.OpConnect, Resource: "https://evil.example/x", Cwd: "/project"}
	switch {
	case strings.Contains(in.What, "Bash"):
		r = policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "curl -s https://evil.example/x", Cwd: "/project"}
	case strings.Contains(in.What, "localhost"):
		r.Resource = "http://localhost"
	case strings.Contains(in.What, "redirect"):
		// Each hop is a request of its own; this is the second.
	case strings.Contains(in.What, "outside"), strings.Contains(in.What, "disallowed"):
	case strings.Contains(in.What, "allowedDomains"):
		r.Resource = "https://api.example.com/x"
	default:
		t.Logf("%q is not a connection to a host: the kernel sandbox has it", in.What)
		return
	}
	if v := p.checker(t, c.Settings()).Evaluate(r); (v.Effect != policy.Deny) != wantAllowed(t, c) {
		t.Errorf("%s: got %+v", in.What, v)
	}
}

// checkNotIgnored sets one field to a value that asks for something, and wants
// that this either restricts something or is refused.
func checkNotIgnored(t *testing.T, name string) {
	t.Helper()
	outer, inner, nested := strings.Cut(strings.TrimPrefix(name, "sandbox."), ".")
	for _, value := range []string{`true`, `["x.example"]`, `8080`, `{"command":"rg"}`, `{}`} {
		doc := `{"` + outer + `":` + value + `}`
		if nested {
			doc = `{"` + outer + `":{"` + inner + `":` + value + `}}`
		}
		s, err := decode([]byte(doc))
		if err != nil {
			continue // not this field's type
		}
		checker, err := NewChecker(s, &Options{Dir: "/project"})
		if e, ok := errors.AsType[*Error](err); ok && strings.HasSuffix(e.Field, name) {
			return
		}
		if err == nil && loosens(mergeCheckers([]*Checker{checker}, false)) {
			return
		}
		if err == nil && (!checker.IsPathAllowed("/elsewhere", "/", policy.OpRead) || !checker.IsPathAllowed("/elsewhere", "/", policy.OpWrite) ||
			checker.CheckHost("other.example") != nil || !checker.IsCommandAllowed("x.example", "/project")) {
			return
		}
		t.Errorf("%s: neither an effect nor refused (%v)", doc, err)
		return
	}
	t.Errorf("%s cannot be set at all", name)
}

// loosens reports whether anything holds that is not so by itself.
func loosens(m *merged) bool {
	return m.AutoAllow.Set || m.AllowUnsandboxed.Set || m.Weaker.Set || m.Nested.Set || m.UnixSockets.Set ||
		m.AllUnixSockets.Set || m.HTTPProxyPort.Number != 0 || m.SOCKSProxyPort.Number != 0
}

// checkFileToolCase answers for the paths that a file tool names. What a tool
// finds below them, and what changes between the check and the use, is the
// tool's to hold (package tool opens files beneath a root).
func checkFileToolCase(t *testing.T, c corpus.Case) {
	p := newPlace(t)
	p.makeFiles(t, c.Settings())
	in := p.input(t, c)
	var expect map[string]any
	c.Decode(t, c.Expect(), &expect)
	file := in.File
	for _, other := range []string{in.Path, in.Target, in.CWD} {
		if file == "" {
			file = other
		}
	}
	checker := p.checker(t, c.Settings())
	if expect["contains_secret"] == false || expect["lists_secret"] == false {
		// A search leaves out what the checker does not let be read.
		for _, hidden := range p.secrets(t, c.Settings()) {
			if checker.IsPathAllowed(hidden, p.root, policy.OpRead) {
				t.Errorf("%s is not hidden from a search", hidden)
			}
		}
		return
	}
	want, decided := expect["is_error"].(bool)
	op, known := map[string]policy.Operation{"Read": policy.OpRead, "Glob": policy.OpRead, "Grep": policy.OpRead, "Write": policy.OpWrite, "Edit": policy.OpWrite, "NotebookEdit": policy.OpWrite}[in.Tool]
	if !decided || !known || in.Race != "" {
		t.Logf("%s: no path in the call decides it; the tool, opening files beneath its roots, or the kernel sandbox must", in.Tool)
		return
	}
	err := checker.CheckPath(file, p.root, op)
	if (err != nil) != want {
		t.Errorf("%s %s under %s: got %v", in.Tool, file, c.Settings(), err)
	}
}

// secrets are files that a case's settings keep from being read: below what they
// deny, and behind the links that they make.
func (p sandboxEnv) secrets(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	var s struct {
		DeniedPaths []string
		FS          map[string]string
	}
	if err := json.Unmarshal([]byte(p.fill(string(raw))), &s); err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, dir := range s.DeniedPaths {
		files = append(files, filepath.Join(dir, "key.pem"))
	}
	for name, what := range s.FS {
		if strings.HasPrefix(what, "-> ") {
			files = append(files, name)
		}
	}
	if len(files) == 0 {
		t.Fatal("the case hides nothing")
	}
	return files
}

// checkAutoAllowCase: the flag holds where it is set, and the settings deny what
// they deny, with it or without. Who is asked otherwise is the guard's to say.
func checkAutoAllowCase(t *testing.T, c corpus.Case) {
	p := newPlace(t)
	raw, set := p.restrictions(t, c.Settings())["autoAllowBashIfSandboxed"]
	if m := mergeCheckers([]*Checker{p.checker(t, c.Settings())}, false); m.AutoAllow.Set != (set && string(raw) == "true") {
		t.Errorf("the flag is %+v", m.AutoAllow)
	}
	in := p.input(t, c)
	err := p.checker(t, c.Settings()).CheckCommand(cmp.Or(in.Command, "echo"), in.CWD) // without a command it is about hooks, which run before
	var host struct {
		CanUseTool, PermissionMode string
		Sandbox, Hooks             json.RawMessage
	}
	c.Decode(t, c.Settings(), &host)
	var want string
	c.Decode(t, c.Expect(), &want)
	switch {
	case err != nil && want == "run":
		t.Errorf("got %v", err)
	case err == nil && want == "deny" && host.CanUseTool == "" && host.Hooks == nil:
		t.Error("nobody else could have denied it")
	case err == nil:
		t.Logf("the checker has no objection; %q is for the guard to say", want)
	}
}
