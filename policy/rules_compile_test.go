package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/layernames"
)

func TestReasonsNameTheRule(t *testing.T) {
	r := rulesOf(t, "allow Bash(ls:*)", "deny  Bash(git push:*) ", "ask Edit(//etc/**)")
	v := r.Evaluate(bash("git push"))
	if want := "rule Bash(git push:*) of s.json:2 denies it"; v.Reason != want {
		t.Errorf("%q, want %q", v.Reason, want)
	}
	if want := (Origin{Rule: "Bash(git push:*)", Layer: layernames.Project, File: "s.json", Line: 2, Col: 3}); v.Rule == nil || *v.Rule != want {
		t.Errorf("%+v", v.Rule)
	}
	if v := r.Evaluate(bash("cd x; git push a")); v.Reason != "rule Bash(git push:*) of s.json:2 denies it: git push a" {
		t.Errorf("%q", v.Reason)
	}
	if v := r.Evaluate(bash("ls -l")); v.Reason != "rule Bash(ls:*) of s.json:1 allows it" {
		t.Errorf("%q", v.Reason)
	}
	if v := r.Evaluate(write("/etc/hosts")); v.Reason != "rule Edit(//etc/**) of s.json:3 asks about it" {
		t.Errorf("%q", v.Reason)
	}
	if v := r.Evaluate(bash("$X")); v.Effect != Ask || !strings.HasPrefix(v.Reason, "rule Bash(git push:*) of s.json:2 may match: the command cannot be parsed reliably (") {
		t.Errorf("%q", v.Reason)
	}
	session, _, err := RuleOptions{}.Compile([]RuleSource{{Effect: Deny, Text: "Bash", Layer: layernames.Session}})
	if err != nil {
		t.Fatal(err)
	}
	if v := session.Evaluate(bash("ls")); v.Reason != "rule Bash of the session layer denies it" {
		t.Errorf("%q", v.Reason)
	}
}

func TestNoRules(t *testing.T) {
	var none *Rules
	if v := none.Evaluate(bash("ls")); v.Effect != NoOpinion {
		t.Errorf("%+v", v)
	}
	if v := rulesOf(t).Evaluate(bash("$X")); v.Effect != NoOpinion {
		t.Errorf("%+v", v)
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, c := range []struct{ rule, want string }{
		{"deny ", "the rule is empty"},
		{"deny (x)", "has no tool"},
		{"deny Bash(rm", "not balanced"},
		{"deny Bash(rm))", "text after"},
		{"deny Bash(rm) x", "text after"},
		{"deny Bash(a ( b)", "not balanced"},
		{"deny Bash()", "parentheses are empty"},
		{"allow Bash( )", "parentheses are empty"},
		{"deny Bash (rm)", "space between"},
		{"deny Bash,Edit", "must not contain"},
		{"deny bash(rm:*)", `hint: write Bash`},
		{"deny Bash(:*)", "has no command"},
		{"deny Bash(git:* push)", "must be at the end"},
		{"allow Bash(git:*:*)", "must be at the end"},
		{`allow Bash(git\:*)`, "at the end is ambiguous"},
		{"deny Bash(command:rm)", "omit the field"},
		{"deny Bash(domain:x.org)", "has no domain"},
		{"deny Read(domain:x.org)", "has no domain"},
		{"deny Read(file_path:x)", "Read(src/**)"},
		{"deny Read(!x)", "negated rules"},
		{"deny Read(a[)", "not a usable pattern"},
		{"deny Read(~bob/x)", "another user"},
		{"deny WebFetch(https://x.org/a)", "has no rules of the form"},
		{"allow WebFetch(url:x)", "omit the field"},
		{"deny WebFetch(domain:x.org/a)", "not a domain"},
		{"deny WebFetch(domain:x.org:80)", "more than a domain"},
		{"deny WebFetch(domain:bücher.de)", "xn--"},
		{"deny WebFetch(domain:a..b)", "empty part"},
		{"deny WebSearch(query:x)", "omit the field"},
		{"deny mcp__", "not the name of an MCP tool"},
		{"deny mcp__s__", "not the name of an MCP tool"},
		{"deny mcp__s__t(x)", "field:value"},
		{"deny Deploy(prod)", "field:value"},
		{"permit Bash", "use allow, ask or deny"},
		{" Bash", "use allow, ask or deny"},
	} {
		r, problems, err := RuleOptions{Home: "/home/u", Cwd: "/w"}.Compile(sources("allow Read", c.rule))
		if r != nil || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "s.json:2:3: rule ") {
			t.Errorf("%q: %v, want %q", c.rule, err, c.want)
		}
		if len(problems) != 1 || !problems[0].Fatal || problems[0].Rule.Line != 2 {
			t.Errorf("%q: %+v", c.rule, problems)
		}
	}
	if _, _, err := (RuleOptions{}).Compile(sources("deny Read(x)")); !errors.Is(err, ErrInvalid) {
		t.Errorf("a relative path without a folder: %v", err)
	}
	if _, _, err := (RuleOptions{Cwd: "/w"}).Compile(sources("deny Read(~/x)")); !errors.Is(err, ErrInvalid) {
		t.Errorf("a path below an unknown home: %v", err)
	}
	if _, _, err := (RuleOptions{Cwd: "/w"}).Compile(sources("deny Read(x[)", "deny Bash(")); err == nil || strings.Count(err.Error(), "s.json:") != 2 {
		t.Errorf("not every problem is named: %v", err)
	}
}

// An allow rule that never matches is reported and not rejected.
func TestUselessAllowRulesReported(t *testing.T) {
	for _, rule := range []string{"allow *", "allow Web*", "allow mcp__*", "allow mcp__g*__x", "allow Deploy(target:test)"} {
		r, problems, err := RuleOptions{Cwd: "/w"}.Compile(sources(rule))
		if err != nil || len(problems) != 1 || problems[0].Fatal || problems[0].Hint == "" {
			t.Errorf("%q: %v %+v", rule, err, problems)
			continue
		}
		if v := r.Evaluate(Request{Tool: "WebSearch"}); v.Effect != NoOpinion {
			t.Errorf("%q: %+v", rule, v)
		}
	}
}

// A server's name may contain "__". A deny of "mcp__a__b" denies the whole server "a__b"; an allow
// allows only the tool "b" of "a".
func TestServersWithUnderscores(t *testing.T) {
	for _, effect := range []string{"deny", "ask", "allow"} {
		want := map[string]Effect{"deny": Deny, "ask": Ask, "allow": NoOpinion}[effect]
		judgeAll(t, []string{effect + " mcp__a__b"}, []judged{
			{mcp("mcp__a__b__c"), want}, {mcp("mcp__a__b"), Effect(effect)}, {mcp("mcp__a__bc"), NoOpinion}, {mcp("mcp__a"), NoOpinion},
		})
	}
	judgeAll(t, []string{"deny mcp__a"}, []judged{{mcp("mcp__a__b__c"), Deny}, {mcp("mcp__ab__c"), NoOpinion}})
}

// Input fields can be denied for tools with path rules, too.
func TestFieldsOfPathTools(t *testing.T) {
	grep := Request{Tool: "Grep", Operation: OpRead, Resource: "/w/src", Input: []byte(`{"pattern":"x","output_mode":"content"}`)}
	judgeAll(t, []string{"deny Grep(output_mode:content)"}, []judged{{grep, Deny}})
	judgeAll(t, []string{"ask Edit(replace_all:true)"}, []judged{
		{Request{Tool: "Edit", Operation: OpWrite, Resource: "/w/a", Input: []byte(`{"replace_all":true}`)}, Ask},
		{Request{Tool: "Edit", Operation: OpWrite, Resource: "/w/a", Input: []byte(`{"replace_all":false}`)}, NoOpinion},
		{write("/w/replace_all:true"), Ask},
	})
	judgeAll(t, []string{"allow Grep(output_mode:content)"}, []judged{{grep, NoOpinion}})
}
