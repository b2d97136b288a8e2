package policy

import (
	"errors"
	"fmt"
	"strings"
)

// RuleSource is a rule as it was written, with where that was.
type RuleSource struct {
	Effect Effect // allow, ask or deny
	Text   string // Claude Code's syntax: "Bash(npm run test:*)"
	// Layer is the layer of settings that it is from: managed, flag, local, project, user or
	// session, the strongest first. Rules of all layers are judged together.
	Layer string
	File  string
	Line  int
	Col   int
	// Dir is what a path that starts with one "/" is relative to: the project for
	// project settings, the folder of the file otherwise.
	Dir string
}

// RuleOptions say what rules are read against.
type RuleOptions struct {
	Home string // for "~/"
	Cwd  string // the session's folder, for bare paths
	// Resolve is [Config.Resolve]: a deny or ask rule whose folder is a link holds for
	// what it leads to as well. Nil takes paths by their letters.
	Resolve func(path string) string
}

// Rules is a compiled set of rules. It is immutable and safe for concurrent use.
// It is a [Policy]: deny beats ask beats allow, from whatever layer.
type Rules struct{ compiled }

// Problem is what lint says about a rule.
type Problem struct {
	Rule RuleSource
	// Fatal problems refuse the load: ignoring the rule would open something, or
	// it cannot be read at all.
	Fatal  bool
	Detail string // "it can never match: …"
	Hint   string
}

// compiled is the rules by their effect.
type compiled struct {
	deny, ask, allow ruleSet
	cwd, home        string
}

// ruling is what the rules say about a request.
type ruling struct {
	Verdict
	// by and open are set without an effect when rules permit every command of a
	// line, and no rule permits these of the places that it touches besides (the
	// target of a redirect, what a command reads that needs no rule): whoever
	// permits editing and reading them permits the line.
	by   *rule
	open []requestPath
}

// Compile reads rules. A rule that cannot be read, or that would be ignored
// though it forbids something, is an error that wraps [ErrInvalid] and names every
// such rule with its file, line and column; the problems then say the same. With a
// nil error the problems are about rules that do nothing. See [RuleOptions.Lint] for more.
func (o RuleOptions) Compile(list []RuleSource) (*Rules, []Problem, error) {
	set := func(e Effect) ruleSet { return ruleSet{effect: e, tools: map[string]*rule{}} }
	r := &Rules{compiled{deny: set(Deny), ask: set(Ask), allow: set(Allow), cwd: o.Cwd, home: o.Home}}
	var problems []Problem
	var errs []error
	for _, source := range list {
		rules, dead, wrong := newRules(source, &o)
		switch {
		case wrong != nil:
			p := Problem{Rule: source, Fatal: true, Detail: wrong.what, Hint: wrong.hint}
			problems = append(problems, p)
			errs = append(errs, errors.New(p.String()))
		case dead != nil:
			problems = append(problems, Problem{Rule: source, Detail: "it can never match: " + dead.what, Hint: dead.hint})
		}
		for i := range rules {
			r.set(source.Effect).add(&rules[i])
		}
	}
	if len(errs) > 0 {
		return nil, problems, fmt.Errorf("%w: %w", ErrInvalid, errors.Join(errs...))
	}
	return r, problems, nil
}

func (r *Rules) set(e Effect) *ruleSet {
	switch e {
	case Deny:
		return &r.deny
	case Ask:
		return &r.ask
	case Allow, NoOpinion:
	}
	return &r.allow
}

// String is the problem as it is printed: where the rule is, what is wrong, and
// what to do.
func (p Problem) String() string {
	var b strings.Builder
	if p.Rule.File != "" {
		b.WriteString(p.Rule.File + ":")
		if p.Rule.Line > 0 {
			fmt.Fprintf(&b, "%d:", p.Rule.Line)
		}
		if p.Rule.Line > 0 && p.Rule.Col > 0 {
			fmt.Fprintf(&b, "%d:", p.Rule.Col)
		}
		b.WriteByte(' ')
	}
	fmt.Fprintf(&b, "rule %q: %s", p.Rule.Text, p.Detail)
	if p.Hint != "" {
		b.WriteString("; hint: " + p.Hint)
	}
	return b.String()
}

// Evaluate is what the rules say: deny before ask before allow, or nothing. Paths
// are taken by their letters; a guard resolves those of commands.
func (r *Rules) Evaluate(request Request) Verdict {
	if r == nil {
		return Verdict{}
	}
	return r.judge(newSubject(request, r.home, nil))
}

func (r *Rules) judge(s *requestView) Verdict { return r.rule(s).Verdict }

// rule judges a request. A deny or ask rule that perhaps matches asks.
func (r *Rules) rule(s *requestView) ruling {
	if r == nil {
		return ruling{}
	}
	deny := r.deny.forbid(s)
	if deny.rule != nil && deny.uncertain == "" {
		return deny.ruling(Deny)
	}
	if ask := r.ask.forbid(s); ask.rule != nil && (ask.uncertain == "" || deny.rule == nil) {
		return ask.ruling(Ask)
	}
	if deny.rule != nil {
		return deny.ruling(Ask)
	}
	return r.allow.allow(s, r.cwd)
}

// ruling puts a finding into words.
func (f ruleMatch) ruling(e Effect) ruling {
	v := Verdict{Effect: e, Rule: f.rule.origin()}
	switch {
	case f.uncertain != "":
		v.Reason = f.rule.sentence("may be about it: " + f.uncertain)
	default:
		v.Reason = f.rule.said
	}
	if f.what != "" {
		v.Reason += ": " + f.what
	}
	return ruling{Verdict: v}
}
