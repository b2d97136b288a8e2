package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// Limit restricts an agent and its sub-agents for the rest of one turn. An example is the tool list
// of a skill. Rules only restrict: a call that they do not cover is denied, and a call that they
// cover still needs permission. Allow skips the mode's approval request, like the allow of a hook,
// and does not override a deny or an ask. If a turn has several limits, all of them apply.
type Limit struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`            // source of the limit: "skill commit"
	Rules  []string `json:"only"`            // rules: "Read", "Bash(git diff:*)"
	Allow  []string `json:"allow,omitempty"` // rules that skip the mode's approval request
	Exempt []string `json:"free,omitempty"`  // tools that the limit does not restrict
	Dir    string   `json:"dir,omitempty"`   // the base of relative paths; default the session's folder
	Turn   string   `json:"turn"`
	Origin Origin   `json:"origin"` // where it was written
}

// limit is a compiled limit.
type limit struct {
	Limit
	rules *Rules
	allow *Rules        // of Allow
	names []namePattern // names of the tools that remain
	lines bool          // a rule of the limit is about command lines
}

// CheckRules returns an error that wraps [ErrInvalid] if a rule of the limit is invalid or can
// never match.
func (l *Limit) CheckRules(home string) error {
	if home == "" {
		home = "/"
	}
	_, err := compileOnly(slices.Concat(l.Rules, l.Allow), "/", home, nil, Origin{})
	return err
}

func compileOnly(only []string, dir, home string, resolve func(string) string, o Origin) (*Rules, error) {
	list := make([]RuleSource, len(only))
	for i, text := range only {
		list[i] = RuleSource{Effect: Allow, Text: text, Layer: layernames.Session, File: o.File, Line: o.Line, Col: o.Col, Dir: dir}
	}
	rules, problems, err := RuleOptions{Home: home, Cwd: dir, Resolve: resolve}.Compile(list)
	if len(problems) > 0 { // the limit would cover nothing, which is certainly not intended
		p := problems[0]
		p.Rule.File = ""
		return nil, fmt.Errorf("%w: %s", ErrInvalid, p)
	}
	return rules, err
}

// compileLimit checks and compiles a limit.
func (src *runGuards) compileLimit(l *Limit) (*limit, error) {
	switch {
	case l.ID == "", l.Name == "", l.Turn == "":
		return nil, fmt.Errorf("%w: a limit needs an ID, a name and a turn", ErrInvalid)
	case len(l.Rules) == 0 && len(l.Allow) == 0:
		return nil, fmt.Errorf("%w: the limit of %s allows nothing", ErrInvalid, l.Name)
	case l.Dir != "" && !strings.HasPrefix(l.Dir, "/"):
		return nil, fmt.Errorf("%w: the dir of a limit must be absolute, not %q", ErrInvalid, l.Dir)
	}
	dir := cmp.Or(l.Dir, src.env.cwd())
	rules, err := compileOnly(l.Rules, dir, src.env.home, src.env.resolve, l.Origin)
	if err != nil {
		return nil, fmt.Errorf("the limit of %s: %w", l.Name, err)
	}
	allow, err := compileOnly(l.Allow, dir, src.env.home, src.env.resolve, l.Origin)
	if err != nil {
		return nil, fmt.Errorf("the limit of %s: %w", l.Name, err)
	}
	c := &limit{Limit: *l, rules: rules, allow: allow}
	c.Allow = slices.Clone(l.Allow)
	c.Rules, c.Exempt = slices.Clone(l.Rules), slices.Clone(l.Exempt)
	for _, text := range c.Rules {
		name := ruleToolName(text)
		p, wrong := newNamePattern(name)
		if wrong != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, wrong)
		}
		t, _ := lookupTool(name)
		c.names, c.lines = append(c.names, p), c.lines || t.syntax == syntaxCommand
	}
	return c, nil
}

func ruleToolName(text string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(text), "(")
	return name
}

// judge denies calls outside the limit, and has no opinion on other calls.
func (l *limit) judge(s *requestView) Verdict {
	if len(l.Rules) == 0 || slices.Contains(l.Exempt, s.Tool) {
		return Verdict{}
	}
	var result ruling
	if slices.ContainsFunc(l.names, func(p namePattern) bool { return p.match(toolName(s.Tool)) }) {
		result = l.rules.evaluate(s)
	}
	switch {
	case result.Effect == Allow:
		return Verdict{}
	case result.by != nil && !slices.ContainsFunc(result.open, func(p requestPath) bool { return p.access&(shellparse.Write|shellparse.Exec) != 0 }):
		return Verdict{} // its commands are inside the limit, and other links decide about the paths that it reads
	case s.Operation == OpConnect && l.lines && isCommandTool(s.Tool):
		return Verdict{} // the command was already checked, and other links decide about hosts
	}
	o := l.Origin
	o.Rule = "allowed-tools: " + strings.Join(l.Rules, ", ")
	where := ""
	if o.File != "" {
		where = fmt.Sprintf(" (%s:%d)", o.File, o.Line)
	}
	return Verdict{
		Effect: Deny, Rule: &o,
		Reason: fmt.Sprintf("%s allows only %s until this turn ends%s", l.Name, strings.Join(l.Rules, ", "), where),
	}
}

// allows returns the limit's allow for a call, which skips the mode's approval request.
func (l *limit) allows(s *requestView) (Contribution, bool) {
	if len(l.Allow) == 0 {
		return Contribution{}, false
	}
	result := l.allow.evaluate(s)
	if result.Effect != Allow {
		return Contribution{}, false
	}
	o := l.Origin
	if result.Rule != nil {
		o.Rule = result.Rule.Rule
	}
	return Contribution{Policy: l.Name, Verdict: Verdict{Effect: Allow, Rule: &o, Reason: fmt.Sprintf("%s allows %s until this turn ends", l.Name, o.Rule)}}, true
}

func isCommandTool(name string) bool {
	t, ok := lookupTool(name)
	return ok && t.syntax == syntaxCommand
}

// Limits lists the limits of the agent, after those of its parents.
func (s *Guards) Limits() []Limit {
	s.run.mu.RLock()
	defer s.run.mu.RUnlock()
	var list []Limit
	for _, l := range s.limiting() {
		list = append(list, l.Limit)
	}
	return list
}

// limiting returns the limits of the agent, after those of its parents. The caller holds the
// source's lock.
func (s *Guards) limiting() []*limit {
	if s.parent == nil {
		return s.limits
	}
	return slices.Concat(s.parent.limiting(), s.limits)
}

// EndTurn removes the limits of a turn.
func (s *Guards) EndTurn(turn string) {
	src := s.run
	src.mu.Lock()
	defer src.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(s.limits), func(l *limit) bool { return l.Turn == turn })
	if len(left) < len(s.limits) {
		s.limits = left
		src.version++
	}
}
