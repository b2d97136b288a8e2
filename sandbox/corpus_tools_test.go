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

// checkNetworkCase determines what a case tries from its words.
func checkNetworkCase(t *testing.T, c corpus.Case) {
	p := newEnv(t)
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
		// Each hop is a separate request; this is the second one.
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

// checkNotIgnored sets one field to a restricting or loosening value, and checks that the field either
// restricts something or is rejected.
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

// loosens reports whether anything is allowed that is not allowed by default.
func loosens(m *merged) bool {
	return m.AutoAllow.Set || m.AllowUnsandboxed.Set || m.Weaker.Set || m.Nested.Set || m.UnixSockets.Set ||
		m.AllUnixSockets.Set || m.HTTPProxyPort.Number != 0 || m.SOCKSProxyPort.Number != 0
}

// checkFileToolCase checks the paths that a file tool names. The tool itself must handle files below them,
// and changes between the check and the use (package tool opens files below a root).
func checkFileToolCase(t *testing.T, c corpus.Case) {
	p := newEnv(t)
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
		// A search must not read what the checker denies.
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

// secrets returns the files that a case's settings make unreadable: those below denied paths, and those
// behind the links of the case.
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

// checkAutoAllowCase checks that the flag is in force where it is set, and that the settings deny the same
// with and without it. The guard decides about approval requests otherwise.
func checkAutoAllowCase(t *testing.T, c corpus.Case) {
	p := newEnv(t)
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
		t.Error("nothing else could have denied it")
	case err == nil:
		t.Logf("the checker has no objection; %q is for the guard to say", want)
	}
}
