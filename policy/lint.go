package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/spelling"
)

// Lint checks rules. It reports the rules that [RuleOptions.Compile] rejects, rules that can never
// match, rules that another rule makes useless, and rules that probably do not mean what was
// intended. The parameter tools lists the names of the existing tools, for finding rules about
// unknown tools. If it is nil, no tool is reported as unknown. Tools of MCP servers are never
// reported as unknown.
func (o RuleOptions) Lint(list []RuleSource, tools []string) []Problem {
	_, problems, _ := o.Compile(list)
	l := linter{tools: tools, problems: problems}
	for _, source := range list {
		rules, dead, wrong := newRules(source, &o)
		if wrong != nil || dead != nil || len(rules) == 0 {
			continue
		}
		l.rules = append(l.rules, rules)
	}
	for i, rules := range l.rules {
		l.warnUnknownTool(&rules[0])
		l.warnSuspicious(&rules[0])
		l.warnShadowed(i)
	}
	slices.SortStableFunc(l.problems, func(a, b Problem) int { return index(list, a.Rule) - index(list, b.Rule) })
	return l.problems
}

func index(list []RuleSource, r RuleSource) int { return slices.Index(list, r) }

type linter struct {
	tools    []string
	rules    [][]rule // the rules of each valid source
	problems []Problem
}

func (l *linter) warn(r *rule, hint, format string, args ...any) {
	l.problems = append(l.problems, Problem{Rule: r.source, Detail: fmt.Sprintf(format, args...), Hint: hint})
}

// warnUnknownTool warns about a rule for a tool that does not exist.
func (l *linter) warnUnknownTool(r *rule) {
	if l.tools == nil || strings.HasPrefix(r.text.tool, mcpPrefix) || r.target == targetWrite || r.target == targetRead {
		return
	}
	if slices.ContainsFunc(l.tools, func(t string) bool { return r.name.match(toolName(t)) }) {
		return
	}
	hint := ""
	if near := spelling.Nearest(r.text.tool, l.tools); near != "" {
		hint = "did you mean " + near + "?"
	}
	l.warn(r, hint, "it can never match: unknown tool %q", r.text.tool)
}

// warnSuspicious warns about valid rules that probably do not mean what their author intended.
func (l *linter) warnSuspicious(r *rule) {
	switch {
	case r.target == targetCommand && r.source.Effect == Allow && r.line.whole && !r.line.exact && !r.line.sets:
		l.warn(r, "write one rule per command",
			"it can never match: each command of a line is compared separately, and this pattern spans several")
	case r.target == targetCommand && r.source.Effect != Allow && r.line.exact && !strings.ContainsAny(r.line.text, " \t"):
		l.warn(r, "write "+r.text.tool+"("+r.text.spec+":*) for every use",
			"it matches only %s without arguments", r.line.text)
	case r.target == targetWrite || r.target == targetRead || r.target == targetPath:
		spec := strings.TrimSpace(r.text.spec)
		first, _, _ := strings.Cut(strings.TrimPrefix(spec, "/"), "/")
		if strings.HasPrefix(spec, "/") && !strings.HasPrefix(spec, "//") && slices.Contains(topFolders, first) {
			l.warn(r, "write two slashes for a path from the root: "+r.text.tool+"(/"+spec+")",
				"its path is %s, below the folder of the settings", r.path.shown())
		}
	}
}

// topFolders are common names of folders in the root.
var topFolders = []string{"bin", "boot", "dev", "etc", "home", "lib", "media", "mnt", "opt", "private", "proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "Users", "var", "Volumes"}

func (g *glob) shown() string {
	switch {
	case g.pattern == "":
		return g.base
	case g.base == "/":
		return "/" + g.pattern
	}
	return g.base + "/" + g.pattern
}

// warnShadowed warns about a rule that another rule makes useless: the other rule has the same or a
// stronger effect, and matches at least everything that this rule matches.
func (l *linter) warnShadowed(i int) {
	r := &l.rules[i][0]
	for j, others := range l.rules {
		other := &others[0]
		stronger := effectOrder(other.source.Effect) > effectOrder(r.source.Effect)
		if i == j || !stronger && other.source.Effect != r.source.Effect || !coverAll(others, l.rules[i]) {
			continue
		}
		name := other.text.String() + position(other.source)
		same := coverAll(l.rules[i], others)
		switch {
		case stronger:
			l.warn(r, "remove one of them", "it can never matter: the %s rule %s comes first", other.source.Effect, name)
		case !same:
			l.warn(r, "remove it", "it is redundant with rule %s", name)
		case j < i:
			l.warn(r, "remove one of them", "it duplicates rule %s", name)
		default:
			continue
		}
		return
	}
}

// position returns where a rule was written, for a sentence.
func position(s RuleSource) string {
	switch {
	case s.File != "" && s.Line > 0:
		return fmt.Sprintf(" of %s:%d", s.File, s.Line)
	case s.File != "":
		return " of " + s.File
	case s.Layer != "":
		return fmt.Sprintf(" of the %s layer", s.Layer)
	}
	return ""
}
