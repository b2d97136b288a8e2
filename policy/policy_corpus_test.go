package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
)

// The cases about single policies. guard_corpus_test.go has those about guards.
func TestPolicyCorpus(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "open-agent-sdk.json", "permission_policy"),
		map[string]func(*testing.T, corpus.Case){"permission_policy": policyCase}, nil)
}

func TestPermissionsCorpus(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "permissions"),
		map[string]func(*testing.T, corpus.Case){"permissions": permissionCase}, nil)
}

// policyCase builds the policy of a case's settings and compares its verdict. Two cases of the
// original have other results here: a denylist has no opinion on tools that it does not name, and an
// empty list is rejected when the policy is created.
func policyCase(t *testing.T, c corpus.Case) {
	var settings struct {
		Policy json.RawMessage `json:"policy"`
	}
	var in struct {
		Tool     string          `json:"tool"`
		ReadOnly bool            `json:"readOnly"`
		Mode     Mode            `json:"permissionMode"`
		Input    json.RawMessage `json:"input"`
	}
	var want struct {
		Behavior *Effect         `json:"behavior"`
		Message  *string         `json:"message"`
		Updated  json.RawMessage `json:"updatedInput"`
		Counter  *int            `json:"counter"`
		Result   json.RawMessage `json:"result"`
		Error    json.RawMessage `json:"error"`
	}
	c.Decode(t, c.Settings(), &settings)
	c.Decode(t, c.Input(), &in)
	if string(bytes.TrimSpace(c.Expect())) != "null" {
		c.Decode(t, c.Expect(), &want)
	}
	b := builder{t: t, c: c}
	p, callback, err := b.build(settings.Policy)
	if want.Error != nil {
		if err == nil {
			t.Errorf("made without an error")
		}
		return
	}
	if err != nil {
		if empty.Match(settings.Policy) { // an empty list is refused when it is made; nothing of it can allow
			if want.Behavior != nil && *want.Behavior == Allow && strings.Contains(string(settings.Policy), "allowlist") {
				t.Errorf("refused: %v", err)
			}
			return
		}
		t.Fatal(err)
	}
	r := Request{Tool: in.Tool, ReadOnly: in.ReadOnly, Mode: in.Mode, Input: in.Input}
	v := p.Evaluate(r)
	if c, composite := p.(Composite); composite && (callback || v.Effect == NoOpinion) {
		// Only here: the Open Agent SDK's composite is a callback, which allows if no member has an
		// opinion.
		if v, err = c.CanUse(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	if want.Behavior != nil {
		expect := *want.Behavior
		if expect == Allow && v.Effect == NoOpinion && bytes.Contains(settings.Policy, []byte("denylist")) {
			expect = NoOpinion // "no opinion on the rest, never allow": the issue, against the original
		}
		if v.Effect != expect {
			t.Errorf("%s because %q, want %s", v.Effect, v.Reason, expect)
		}
	} else if want.Counter == nil && v.Effect != NoOpinion {
		t.Errorf("%s because %q, want no opinion", v.Effect, v.Reason)
	}
	if want.Message != nil && v.Reason != *want.Message {
		t.Errorf("%q, want %q", v.Reason, *want.Message)
	}
	if want.Updated != nil && !sameJSON(t, v.Input, want.Updated) {
		t.Errorf("input %s, want %s", v.Input, want.Updated)
	}
	if want.Counter != nil && b.counter != *want.Counter {
		t.Errorf("called %d times, want %d", b.counter, *want.Counter)
	}
}

var (
	empty     = regexp.MustCompile(`list":\s*\[\s*\]`)
	withInput = regexp.MustCompile(`^allowWithInput\((.*)\)$`)
	bareKeys  = regexp.MustCompile(`([{,]\s*)(\w+)\s*:`)
	condition = regexp.MustCompile(`^(allow|deny|ask) (?:when|if) (?:the )?(mode is (\w+)|tool is (\w+)|(?:tool is )?read-?only)(?:[,;]? (?:else|otherwise) (allow|deny|ask|nil))?$`)
)

// builder makes the policies that cases describe.
type builder struct {
	t       *testing.T
	c       corpus.Case
	counter int
}

func (b *builder) build(raw json.RawMessage) (p Policy, callback bool, err error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return b.word(text), false, nil
	}
	var shape map[string]json.RawMessage
	b.c.Decode(b.t, raw, &shape)
	for key, value := range shape {
		switch key {
		case "allowlist", "denylist":
			var names []string
			b.c.Decode(b.t, value, &names)
			if key == "allowlist" {
				p, err := ToolNames(names).Allow()
				return p, false, err
			}
			p, err := ToolNames(names).Deny()
			return p, false, err
		case "readOnly":
			return ReadOnly{}, false, nil
		case "bridge":
			p, _, err := b.build(value)
			return p, true, err
		case "custom":
			b.c.Decode(b.t, value, &text)
			return b.word(text), false, nil
		case "composite":
			var members []json.RawMessage
			b.c.Decode(b.t, value, &members)
			list := Composite{}
			for _, m := range members {
				p, _, err := b.build(m)
				if err != nil {
					return nil, false, err
				}
				list = append(list, p)
			}
			return list, false, nil
		}
	}
	b.t.Fatalf("no policy has the shape %s", raw)
	return nil, false, nil
}

// word is a policy that a case describes in words.
func (b *builder) word(s string) Policy {
	switch s {
	case "nil", "null":
		return effect(NoOpinion)
	case "allow", "deny", "ask":
		return effect(Effect(s))
	case "counter":
		return fixedPolicy{asked: &b.counter}
	}
	if m := withInput.FindStringSubmatch(s); m != nil {
		return fixedPolicy{Verdict: Verdict{Effect: Allow, Input: json.RawMessage(bareKeys.ReplaceAllString(m[1], `$1"$2":`))}}
	}
	if m := condition.FindStringSubmatch(s); m != nil {
		otherwise := Effect(m[5])
		if m[5] == "nil" {
			otherwise = NoOpinion
		}
		return judgedBy(func(r Request) Effect {
			switch {
			case m[3] != "" && string(r.Mode) == m[3], m[4] != "" && r.Tool == m[4], m[3] == "" && m[4] == "" && r.ReadOnly:
				return Effect(m[1])
			}
			return otherwise
		})
	}
	b.t.Fatalf("no policy is called %q", s)
	return nil
}

type judgedBy func(Request) Effect

func (f judgedBy) Evaluate(r Request) Verdict { return Verdict{Effect: f(r)} }

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// permissionCase reads the two forms of this area: a list of policy verdicts for one request, and a
// file system with one access.
func permissionCase(t *testing.T, c corpus.Case) {
	var given map[string]json.RawMessage
	var when []string
	expect := struct{ Decision string }{}
	all := map[string]string{}
	c.Decode(t, c.Setup(), &given)
	c.Decode(t, c.Action(), &when)
	c.Decode(t, c.Expect(), &all)
	for name, is := range all {
		switch {
		case name == "decision":
			expect.Decision = is
		case strings.HasPrefix(name, "/") && is == "absent": // a decision makes nothing
		default:
			t.Fatalf("a shape of which the policy package has no part: %s", c.Expect())
		}
	}
	if len(when) != 1 {
		t.Fatalf("want one step: %s", c.Action())
	}
	var got Verdict
	if given["policies"] != nil {
		var answers []string
		c.Decode(t, given["policies"], &answers)
		got = compositeOf(t, answers).Evaluate(Request{Tool: "any"})
	} else {
		got = environmentOf(t, c, given).judge(t, when[0])
	}
	word, rest, _ := strings.Cut(expect.Decision, " ")
	rest, _, _ = strings.Cut(rest, " (")
	switch word {
	case "allow", "allowed":
		if got.Effect != Allow {
			t.Errorf("%+v, want allow", got)
		}
	case "deny", "denied":
		if got.Effect != Deny || rest != "" && !strings.HasSuffix(got.Reason, rest) {
			t.Errorf("%+v, want %s", got, expect.Decision)
		}
	case "require_approval":
		if got.Effect != Ask || got.Reason != rest {
			t.Errorf("%+v, want %s", got, expect.Decision)
		}
	case "fallback", "no_opinion":
		if got.Effect != NoOpinion {
			t.Errorf("%+v, want no opinion", got)
		}
	case "not":
		if got.Effect != Deny && got.Effect != Ask {
			t.Errorf("%+v, want it not allowed", got)
		}
	default:
		t.Fatalf("no decision is called %q", expect.Decision)
	}
}

// compositeOf reads answers like "require_approval A".
func compositeOf(t *testing.T, answers []string) Composite {
	list := Composite{}
	for _, a := range answers {
		word, reason, _ := strings.Cut(a, " ")
		e, ok := map[string]Effect{"allow": Allow, "deny": Deny, "require_approval": Ask, "ask": Ask, "no_opinion": NoOpinion}[word]
		if !ok {
			t.Fatalf("no answer is called %q", a)
		}
		list = append(list, fixedPolicy{Verdict: Verdict{Effect: e, Reason: reason}})
	}
	return list
}

// caseEnvironment is the environment of a case about paths, commands and variables.
type caseEnvironment struct {
	paths    PathRules
	readOnly []string
	commands CommandLists
	env      []string
	links    map[string]string
}

// environmentOf parses it: allowed, protected and read-only folders, programs, variables, and
// links. If a case names a link but no folder, the link's folder is allowed.
func environmentOf(t *testing.T, c corpus.Case, given map[string]json.RawMessage) *caseEnvironment {
	w := &caseEnvironment{paths: PathRules{Cwd: "/", Default: Ask}, links: map[string]string{}}
	for key, raw := range given {
		list := texts(t, c, raw)
		trees := make([]string, len(list))
		for i, dir := range list {
			trees[i] = strings.TrimSuffix(dir, "/") + "/**"
		}
		switch name := strings.ToLower(key); {
		case strings.HasPrefix(name, "allowed root"):
			w.paths.Allow = append(w.paths.Allow, trees...)
		case strings.HasPrefix(name, "protected"), strings.HasPrefix(name, "denied root"), strings.HasPrefix(name, "denied path"):
			w.paths.Deny = append(w.paths.Deny, trees...)
		case strings.HasPrefix(name, "read-only"), strings.HasPrefix(name, "read only"):
			w.readOnly = append(w.readOnly, trees...)
		case strings.HasPrefix(name, "allowed exec"), strings.HasPrefix(name, "allowed command"):
			w.commands.Allow = append(w.commands.Allow, list...)
		case strings.HasPrefix(name, "denied exec"), strings.HasPrefix(name, "denied command"):
			w.commands.Deny = append(w.commands.Deny, list...)
		case strings.HasPrefix(name, "denied env"):
			w.env = append(w.env, list...)
		case strings.HasPrefix(key, "/") && strings.HasPrefix(list[0], "symlink to "):
			target, note, _ := strings.Cut(strings.TrimPrefix(list[0], "symlink to "), " ")
			w.links[key] = target
			w.paths.Allow = append(w.paths.Allow, path.Dir(key)+"/**")
			if strings.Contains(note, "protected") {
				w.paths.Deny = append(w.paths.Deny, target+"/**")
			}
		}
	}
	return w
}

func texts(t *testing.T, c corpus.Case, raw json.RawMessage) []string {
	var list []string
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		return list
	}
	var text string
	c.Decode(t, raw, &text)
	return []string{text}
}

var (
	accessStep = regexp.MustCompile(`^(read|write|edit|create|delete) (/\S*)`)
	runStep    = regexp.MustCompile(`^(?:run|execute)(?: with env (\w+=\S*))?(.*)$`)
)

// judge runs the single step of a case.
func (w *caseEnvironment) judge(t *testing.T, step string) Verdict {
	if m := accessStep.FindStringSubmatch(step); m != nil {
		return w.access(t, m[1] == "read", m[2])
	}
	m := runStep.FindStringSubmatch(step)
	if m == nil {
		t.Fatalf("no step is called %q", step)
	}
	line := strings.TrimSpace(m[1] + " " + strings.Trim(m[2], " `'\""))
	if m[2] == "" {
		line += " make"
	}
	var chain Composite
	if len(w.env) > 0 {
		list := make([]RuleSource, len(w.env))
		for i, n := range w.env {
			list[i] = RuleSource{Effect: Deny, Text: "Bash(" + n + "=*)"}
		}
		rules, _, err := RuleOptions{Cwd: "/ws"}.Compile(list)
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, rules)
	}
	if len(w.commands.Allow)+len(w.commands.Deny) > 0 {
		w.commands.Default = Ask
		commands, err := w.commands.Policy()
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, commands)
	}
	return chain.Evaluate(Request{Tool: "Bash", Operation: OpCommand, Resource: line, Cwd: "/ws"})
}

func (w *caseEnvironment) access(t *testing.T, reads bool, name string) Verdict {
	r := Request{Tool: "Files", Operation: OpRead, Resource: name}
	var p Policy
	var err error
	if len(w.paths.Allow)+len(w.paths.Deny)+len(w.readOnly) == 0 {
		if _, err := (PathRules{Cwd: "/"}).ReadPolicy(); err == nil {
			t.Error("a path policy without a path is taken")
		}
	}
	if reads {
		p, err = w.paths.ReadPolicy()
	} else {
		r.Operation = OpWrite
		w.paths.Deny = append(w.paths.Deny, w.readOnly...)
		p, err = w.paths.WritePolicy()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p.(builtinPolicy).judge(newRequestView(r, "", func(p string) string {
		for link, target := range w.links {
			if rest, ok := under(link, p); ok {
				return path.Join(target, rest)
			}
		}
		return p
	}))
}

// The cases of the other areas that path and command policies decide: a policy for one kind of
// access has no opinion on the other, forbidden globs apply everywhere, and an invalid pattern is
// rejected.
func TestGuardCasesOfPolicies(t *testing.T) {
	for _, c := range corpus.Area(t, "agentkit-commaagents-parachute.json", "guard") {
		var given struct {
			Forbidden []string `json:"forbidden globs"`
			Path      *struct {
				Default Effect `json:"default"`
			} `json:"path policy"`
			Pattern *string `json:"invalid regex in deny-commands"`
		}
		if json.Unmarshal(c.Setup(), &given) != nil {
			continue
		}
		var expect struct {
			Decisions []string `json:"decisions"`
		}
		var steps []string
		_ = json.Unmarshal(c.Expect(), &expect)
		_ = json.Unmarshal(c.Action(), &steps)
		switch {
		case given.Pattern != nil:
			t.Run(c.ID, func(t *testing.T) {
				if _, err := (CommandLists{Deny: []string{*given.Pattern}}).Policy(); err == nil {
					t.Error("an unreadable pattern is taken")
				}
			})
		case given.Forbidden != nil:
			t.Run(c.ID, func(t *testing.T) {
				p, err := PathRules{Deny: given.Forbidden, Cwd: "/w"}.ForbidPolicy()
				if err != nil {
					t.Fatal(err)
				}
				for i, step := range steps {
					word, name, _ := strings.Cut(step, " ")
					r := Request{Tool: "Files", Operation: OpRead, Resource: name, Cwd: "/w"}
					if word == "write" {
						r.Operation = OpWrite
					}
					if got := p.Evaluate(r); string(got.Effect) != strings.Replace(expect.Decisions[i], "pass", "", 1) {
						t.Errorf("%s: %+v, want %s", step, got, expect.Decisions[i])
					}
				}
			})
		case given.Path != nil && given.Path.Default != NoOpinion && len(expect.Decisions) == len(steps) && len(steps) > 0:
			t.Run(c.ID, func(t *testing.T) {
				o := PathRules{Default: given.Path.Default, Cwd: "/w"}
				reads, err := o.ReadPolicy()
				if err != nil {
					t.Fatal(err)
				}
				writes, err := o.WritePolicy()
				if err != nil {
					t.Fatal(err)
				}
				for i, step := range steps {
					p, r := Policy(reads), read("/w/a")
					if strings.HasPrefix(step, "write policy") {
						p = writes
					}
					if strings.HasSuffix(step, "on a write request") {
						r = write("/w/a")
					}
					if got := p.Evaluate(r); string(got.Effect) != strings.Replace(expect.Decisions[i], "pass", "", 1) {
						t.Errorf("%s: %+v, want %s", step, got, expect.Decisions[i])
					}
				}
			})
		}
	}
}
