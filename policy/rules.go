package policy

import (
	"errors"
	"fmt"
	"strings"
)

// RuleSource is a rule as it is written, with its position.
type RuleSource struct {
	Effect Effect // allow, ask or deny
	Text   string // Claude Code's syntax: "Bash(npm run test:*)"
	// Layer is the settings layer of the rule: managed, flag, local, project, user or session, the
	// strongest first. Rules of all layers are evaluated together.
	Layer string
	File  string
	Line  int
	Col   int
	// Dir is the base of a path that starts with one "/". For project settings it is the project;
	// for other settings it is the folder of the file.
	Dir string
}

// RuleOptions is the environment in which rules are parsed.
type RuleOptions struct {
	Home string // for "~/"
	Cwd  string // the session's folder, for relative paths
	// Resolve is [Config.Resolve]: a deny or ask rule whose folder is a link also applies to the
	// folder it leads to. If it is nil, paths are compared as written.
	Resolve func(path string) string
}

// Rules is a compiled set of rules. It is immutable and safe for concurrent use. It is a [Policy].
// Rules of all layers are evaluated together: deny overrides ask, and ask overrides allow.
type Rules struct{ compiled }

// Problem is a finding about a rule.
type Problem struct {
	Rule RuleSource
	// Fatal problems reject the settings: a rule cannot be parsed, or a restriction would be lost
	// if the rule were ignored.
	Fatal  bool
	Detail string // "it can never match: …"
	Hint   string
}

// compiled contains the rules, indexed by their effect.
type compiled struct {
	deny, ask, allow ruleSet
	cwd, home        string
}

// ruling is the result of the rules for a request.
type ruling struct {
	Verdict
	// If rules permit every command of a line but not every path, there is no effect. The field by
	// is then the rule, and the field open contains the paths that are not permitted, such as the
	// target of a redirection or a file read by a command that needs no rule. A link that permits
	// editing and reading these paths also permits the line.
	by   *rule
	open []requestPath
}

// Compile parses rules. A rule that cannot be parsed, and a restriction that would be ignored, are
// errors that wrap [ErrInvalid]. The error names every such rule with its file, line and column,
// and the problems contain the same information. If the error is nil, the problems are only about
// rules without effect. See [RuleOptions.Lint] for more checks.
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

// String returns the problem for display: where the rule is, what is wrong, and how to fix it.
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

// Evaluate evaluates the rules: deny before ask before allow, or no opinion. Paths are compared as
// written; a guard resolves the paths of commands.
func (r *Rules) Evaluate(request Request) Verdict {
	if r == nil {
		return Verdict{}
	}
	return r.judge(newRequestView(request, r.home, nil))
}

func (r *Rules) judge(s *requestView) Verdict { return r.evaluate(s).Verdict }

// evaluate evaluates the rules for a request. If it is not certain that a deny or ask rule matches,
// the effect is ask.
func (r *Rules) evaluate(s *requestView) ruling {
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

// ruling converts a match to a ruling with its reason.
func (f ruleMatch) ruling(e Effect) ruling {
	v := Verdict{Effect: e, Rule: f.rule.origin()}
	switch {
	case f.uncertain != "":
		v.Reason = f.rule.sentence("may match: " + f.uncertain)
	default:
		v.Reason = f.rule.reason
	}
	if f.what != "" {
		v.Reason += ": " + f.what
	}
	return ruling{Verdict: v}
}
