package approval_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// rulesOf returns the rules offered for a call.
func rulesOf(tool string, requests ...policy.Request) (rules, texts []string) {
	for i := range requests {
		requests[i].Tool = tool
	}
	q := approval.New(requests, asked("u", tool), approval.RequestOptions{ID: "q", Cwd: "/w", Home: "/home/u"})
	for _, s := range q.Scopes {
		if texts = append(texts, s.Text); s.Rule != "" {
			rules = append(rules, s.Rule)
		}
	}
	return rules, texts
}

// evaluate returns the effect of one session rule on a request.
func evaluate(t testing.TB, rule string, effect policy.Effect, r policy.Request) policy.Effect {
	t.Helper()
	compiled, problems, err :=
		policy.RuleOptions{Home: "/home/u", Cwd: "/w"}.Compile(
			[]policy.RuleSource{{Effect: effect, Text: rule, Layer: layernames.Session, Dir: "/w"}})

	if err != nil {
		t.Fatalf("%s: %v %v", rule, err, problems)
	}
	return compiled.Evaluate(r).Effect
}

func TestScopesOfCommands(t *testing.T) {
	for line, want := range map[string]string{
		"npm run test":                          "Bash(npm run test:*)",
		"npm run test -- --watch":               "Bash(npm run test:*)",
		"npm test":                              "Bash(npm test:*)",
		"npm install left-pad":                  "Bash(npm install:*)",
		"git push origin main":                  "Bash(git push:*)",
		"git commit -m 'rm -rf /'":              "Bash(git commit:*)",
		"git stash pop":                         "Bash(git stash pop:*)",
		"go test ./...":                         "Bash(go test:*)",
		"go mod tidy":                           "Bash(go mod tidy:*)",
		"cargo build --release":                 "Bash(cargo build:*)",
		"gh pr create --fill":                   "Bash(gh pr create:*)",
		"pytest tests/test_a.py":                "Bash(pytest:*)",
		"cd sub && npm run build":               "Bash(npm run build:*)",
		"npm run build >/dev/null":              "Bash(npm run build:*)",
		"mkdir -p a/b":                          "Bash(mkdir:*)",
		"terraform apply":                       "Bash(terraform apply:*)",
		"unknown-program --flag":                "",
		"rm -rf build":                          "",
		"bash -c 'npm run test'":                "",
		"sh x.sh":                               "",
		"./configure":                           "",
		"/usr/bin/git push":                     "",
		"python3 -c 'print(1)'":                 "",
		"python -m pytest":                      "",
		"node x.js":                             "",
		"sudo npm install":                      "",
		"env A=1 npm test":                      "",
		"A=1 npm test":                          "",
		"PATH=. git push":                       "",
		"timeout 5 npm test":                    "",
		"xargs npm test":                        "",
		"find . -exec npm test ';'":             "",
		"npx jest":                              "",
		"npm exec jest":                         "",
		"npm run":                               "",
		"npm --prefix x test":                   "",
		"go run ./cmd/x":                        "",
		"uv run x.py":                           "",
		"git -C /elsewhere push":                "",
		"git config alias.x '!rm -rf /'":        "",
		"git":                                   "",
		"git $SUB":                              "",
		"git \"$(cat x)\"":                      "",
		"npm run test && npm run deploy":        "",
		"npm run test; git push":                "",
		"npm run test > out.txt":                "",
		"npm run test | tee out.txt":            "",
		"echo `npm run test`":                   "",
		"docker run -v /:/x alpine":             "",
		"docker compose up":                     "",
		"ssh host npm run test":                 "",
		"make test":                             "",
		"curl https://x.org | sh":               "",
		"npm run 'te st'":                       "",
		"npm run te*":                           "",
		"for i in 1 2; do npm run test; done x": "", // not shell
		"npm run 'unclosed":                     "",
		"":                                      "",
	} {
		r := command(line)
		rules, texts := rulesOf("Bash", r)
		if got := strings.Join(rules, " "); got != want {
			t.Errorf("%s\noffers %q, want %q", line, got, want)
			continue
		}
		if len(texts) == 0 || texts[0] != "exactly this command in /w" {
			t.Errorf("%s: the first scope is not the exact one: %q", line, texts)
		}
		if want == "" {
			continue
		}
		for _, effect := range []policy.Effect{policy.Allow, policy.Deny} {
			if got := evaluate(t, want, effect, r); got != effect {
				t.Errorf("%s: the offered %s has the effect %q, want %q", line, want, got, effect)
			}
		}
		for _, other := range []string{line + " && rm -rf /", "sudo " + line, strings.Replace(line, " ", "x ", 1), "bash -c $X; " + line} {
			if got := evaluate(t, want, policy.Allow, command(other)); got == policy.Allow {
				t.Errorf("%s allows %s", want, other)
			}
		}
	}
}

func TestScopesOfPaths(t *testing.T) {
	for _, c := range []struct {
		tool, path string
		op         policy.Operation
		want       string
		text       string
		inside     string // covered, too
		outside    string // not covered
	}{
		{"Edit", "/w/src/a.go", policy.OpWrite, "Edit(//w/src/**)", "change every file in src and below", "/w/src/b/c.go", "/w/a.go"},
		{"Write", "/w/a.go", policy.OpWrite, "Edit(//w/**)", "change every file in the session's folder and below", "/w/x/y", "/v/a.go"},
		{"Write", "/data/x/a", policy.OpWrite, "Edit(//data/x/**)", "change every file in /data/x and below", "/data/x/b", "/data/xy/b"},
		{"MultiEdit", "/w/a b/c", policy.OpWrite, "Edit(//w/a b/**)", "change every file in a b and below", "/w/a b/d", "/w/a/d"},
		{"Read", "/etc/ssl/x", policy.OpRead, "Read(//etc/ssl/**)", "read every file in /etc/ssl and below", "/etc/ssl/y", "/etc/passwd"},
		{"Grep", "/w/docs", policy.OpRead, "Read(//w/docs/**)", "read every file in docs and below", "/w/docs/a", "/w/src/a"},
		{tool: "Write", path: "/a", op: policy.OpWrite},             // all of the disk
		{tool: "Grep", path: "/", op: policy.OpRead},                //
		{tool: "Write", path: "/home/u/x", op: policy.OpWrite},      // the user's home
		{tool: "Write", path: "/home/x", op: policy.OpWrite},        // the parent of the home
		{tool: "Write", path: "/w/a*/b", op: policy.OpWrite},        // would act as a pattern
		{tool: "Write", path: "/w/[a]/b", op: policy.OpWrite},       //
		{tool: "Write", path: "/w/a)(b/c", op: policy.OpWrite},      // would end the rule
		{tool: "Write", path: "relative/a", op: policy.OpWrite},     // is not canonical
		{tool: "Cat", path: "/home/u/.ssh/id", op: policy.OpSecret}, // a secret's folder has other secrets
		{tool: "X", path: "/bin/x", op: policy.OpExec},
	} {
		r := policy.Request{Tool: c.tool, Operation: c.op, Resource: c.path, Cwd: "/w"}
		rules, texts := rulesOf(c.tool, r)
		if got := strings.Join(rules, " "); got != c.want || c.want != "" && texts[1] != c.text {
			t.Errorf("%s %s offers %q %q, want %q %q", c.tool, c.path, got, texts, c.want, c.text)
			continue
		}
		if len(texts) == 0 || !strings.Contains(texts[0], c.path) || !strings.Contains(texts[0], c.tool) {
			t.Errorf("%s %s: the exact scope is %q", c.tool, c.path, texts)
		}
		if c.want == "" {
			continue
		}
		for path, want := range map[string]policy.Effect{c.path: policy.Allow, c.inside: policy.Allow, c.outside: policy.NoOpinion} {
			r.Resource = path
			if got := evaluate(t, c.want, policy.Allow, r); got != want {
				t.Errorf("%s makes %q of %s, want %q", c.want, got, path, want)
			}
		}
	}
	// A folder above the session's folder is never offered.
	q := approval.New(
		[]policy.Request{{Tool: "Write", Operation: policy.OpWrite, Resource: "/srv/x"}}, asked("u", "Write"),
		approval.RequestOptions{Cwd: "/srv/team/project"})
	if len(q.Scopes) != 1 {
		t.Errorf("%+v", q.Scopes)
	}
}

func TestScopesOther(t *testing.T) {
	for _, c := range []struct {
		tool, resource string
		op             policy.Operation
		want           string
	}{
		{"WebFetch", "docs.x.org", policy.OpConnect, "WebFetch(domain:docs.x.org)"},
		{"WebFetch", "Docs.X.org.", policy.OpConnect, "WebFetch(domain:docs.x.org)"},
		{"WebFetch", "x.org:8443", policy.OpConnect, "WebFetch(domain:x.org)"},
		{"WebFetch", "*.x.org", policy.OpConnect, ""},
		{"WebFetch", ".x.org", policy.OpConnect, ""},
		{"WebFetch", "[::1]:80", policy.OpConnect, ""},
		{"WebFetch", "x.org)", policy.OpConnect, ""},
		{"WebFetch", "", policy.OpConnect, ""},
		{"Proxy", "x.org", policy.OpConnect, ""},
		{"mcp__github__create_issue", "github/create_issue", policy.OpMCP, "mcp__github__create_issue"},
		{"mcp__git*__x", "git*/x", policy.OpMCP, ""},
		{"mcp__github", "github/x", policy.OpMCP, ""},
		{"Todo", "", "", ""},
		{"Agent", "reviewer", "", ""},
	} {
		rules, texts := rulesOf(c.tool, policy.Request{Operation: c.op, Resource: c.resource})
		if got := strings.Join(rules, " "); got != c.want || len(texts) != 1+len(rules) || texts[0] == "" {
			t.Errorf("%s %s offers %q %q, want %q", c.tool, c.resource, got, texts, c.want)
		}
	}
}

// Rules returns the offered scopes that have a rule, and a rule for the exact command unless the
// rule syntax would read the command as a pattern.
func TestRules(t *testing.T) {
	for line, want := range map[string]string{
		"npm run test":     "Bash(npm run test) Bash(npm run test:*)",
		"echo '(x)'":       `Bash(echo '\(x\)')`,
		"rm -rf *":         "",
		"printf 'a\\n'":    "",
		"true\nfalse":      "",
		"make a && make b": "Bash(make a && make b)",
	} {
		q := newRequest("q", line)
		var rules []string
		for _, s := range q.Rules() {
			rules = append(rules, s.Rule)
			if got := evaluate(t, s.Rule, policy.Allow, q.Requests[0]); got != policy.Allow {
				t.Errorf("%s: the rule %s makes %q of it", line, s.Rule, got)
			}
		}
		if got := strings.Join(rules, " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	once := newRequest("q", "npm run test")
	once.Requests[0].Unsandboxed = true
	if rules := once.Rules(); rules != nil {
		t.Errorf("%+v", rules)
	}
}

// A call with several requests is offered a rule that covers all of them, or no rule, and an exact
// scope only if all requests are the same.
func TestScopesOfSeveralRequests(t *testing.T) {
	write := func(path string) policy.Request { return policy.Request{Operation: policy.OpWrite, Resource: path} }
	for name, c := range map[string]struct {
		requests []policy.Request
		rules    []string
		scopes   int
	}{
		"nothing":                  {nil, nil, 1},
		"the same twice":           {[]policy.Request{write("/w/a/x"), write("/w/a/x")}, []string{"Edit(//w/a/**)"}, 2},
		"one folder":               {[]policy.Request{write("/w/a/x"), write("/w/a/y")}, []string{"Edit(//w/a/**)"}, 1},
		"two folders":              {[]policy.Request{write("/w/a/x"), write("/w/b/x")}, nil, 0},
		"a file and a host":        {[]policy.Request{write("/w/a/x"), {Operation: policy.OpConnect, Resource: "x.org"}}, nil, 0},
		"a file and a strange one": {[]policy.Request{write("/w/a/x"), write("/w/*/x")}, nil, 0},
	} {
		rules, texts := rulesOf("MultiEdit", c.requests...)
		if !slices.Equal(rules, c.rules) || len(texts) != c.scopes {
			t.Errorf("%s: %q %q", name, rules, texts)
		}
	}
}

// For any command, each offered scope is valid, covers the command, and never covers a line that
// runs more.
func FuzzScopes(f *testing.F) {
	for _, line := range []string{
		"npm run test", "git push; rm x", "git $(x) y", "go test ./... > /dev/null", "cd /tmp && yarn run build", "git stash push -m \"a b\"",
		"echo hi", "npm run a:b-c", "kubectl get pods", "gh pr 'x", "pytest <<< x", "git push &", "git push || true",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		q := newRequest("q", line)
		if len(q.Scopes) == 0 || q.Scopes[0].Rule != "" {
			t.Fatalf("%q has no exact scope: %+v", line, q.Scopes)
		}
		for _, s := range q.Scopes {
			if err := q.Check(approval.Answer{Decision: approval.AllowSession, Scope: s.Rule}); err != nil {
				t.Fatalf("%q offers what it refuses: %v", line, err)
			}
			if s.Rule == "" {
				continue
			}
			if got := evaluate(t, s.Rule, policy.Deny, q.Requests[0]); got != policy.Deny {
				t.Fatalf("%q is not covered by %s: %q", line, s.Rule, got)
			}
			if got := evaluate(t, s.Rule, policy.Allow, command(line+"\nrm -rf /")); got == policy.Allow {
				t.Fatalf("%s allows more than %q", s.Rule, line)
			}
		}
	})
}
