package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// rule is a compiled rule.
type rule struct {
	source RuleSource
	text   ruleText
	name   namePattern
	syntax ruleSyntax
	target ruleTarget
	reason string // effect of the rule, in the form used in a decision

	line  linePattern
	path  glob
	host  hostPattern
	param paramPattern
	names []string // fields that hold the name of an agent or a skill
}

// ruleTarget is the part of a request that a rule compares besides the tool's name.
type ruleTarget uint8

const (
	targetTool    ruleTarget = iota // every use of the tool
	targetCommand                   // command lines
	targetWrite                     // paths that are written
	targetRead                      // paths that are read
	targetPath                      // paths of one tool
	targetHost
	targetName
	targetParam
)

// newRules compiles one rule. If a text has two meanings that must both apply, the result is
// several rules: Bash(a:b) denies the command "a:b" and also the input field a. The result dead is
// the reason why the rule can never match.
func newRules(source RuleSource, o *RuleOptions) (out []rule, dead, wrong *parseError) {
	switch source.Effect {
	case Allow, Deny, Ask:
	case NoOpinion:
		fallthrough
	default:
		return nil, nil, &parseError{fmt.Sprintf("unknown effect %q of a rule", source.Effect), "use allow, ask or deny"}
	}
	text, wrong := parseRule(source.Text)
	if wrong != nil {
		return nil, nil, wrong
	}
	name, wrong := newNamePattern(text.tool)
	if wrong != nil {
		return nil, nil, wrong
	}
	if name.exact != "" && source.Effect != Allow && strings.HasPrefix(name.exact, mcpPrefix) {
		name.server = name.exact + "__" // mcp__a__b may mean the whole server "a__b"
	}
	if other := correctCase(text.tool); other != "" {
		return nil, nil, &parseError{fmt.Sprintf("unknown tool %q", text.tool), "write " + other}
	}
	known, _ := lookupTool(text.tool)
	c := ruleCompiler{source: source, text: text, known: known, o: o}
	c.base = rule{source: source, text: text, name: name, syntax: known.syntax}
	c.base.reason = c.base.sentence(map[Effect]string{Deny: "denies it", Ask: "asks about it", Allow: "allows it"}[source.Effect])
	if source.Effect == Allow && !mayAllow(text.tool) {
		dead = &parseError{"an allow rule must not have a star in the tool's name", "name each tool; a star is only allowed after mcp__server__"}
		return nil, dead, nil
	}
	if text.bare {
		return c.toolRules(), nil, nil
	}
	return c.specific()
}

// ruleCompiler holds the state of compiling one rule.
type ruleCompiler struct {
	source RuleSource
	text   ruleText
	known  knownTool
	o      *RuleOptions
	base   rule
}

func (c *ruleCompiler) forbids() bool { return c.source.Effect != Allow }

func (c *ruleCompiler) withTarget(a ruleTarget) rule {
	r := c.base
	r.target = a
	return r
}

// toolRules compiles a rule that covers every use of a tool. Edit and Read also cover every path,
// whichever tool accesses it.
func (c *ruleCompiler) toolRules() []rule {
	out := []rule{c.withTarget(targetTool)}
	every := glob{text: c.text.tool, base: "/", literal: true, below: true}
	switch c.text.tool {
	case "Edit":
		r := c.withTarget(targetWrite)
		r.path = every
		out = append(out, r)
	case "Read":
		r := c.withTarget(targetRead)
		r.path = every
		out = append(out, r)
	}
	return out
}

func (c *ruleCompiler) specific() (out []rule, dead, wrong *parseError) {
	field, value, isParam := splitParam(c.text.spec)
	if wrong := c.checkPrimary(field, isParam); wrong != nil {
		return nil, nil, wrong
	}
	switch c.known.syntax {
	case syntaxCommand:
		r := c.withTarget(targetCommand)
		if r.line, wrong = newLinePattern(c.text.spec, c.options()); wrong != nil {
			return nil, nil, wrong
		}
		out = append(out, r)
		if isParam && c.forbids() && !strings.HasSuffix(c.text.spec, ":*") {
			out = append(out, c.paramRule(field, value))
		}
		return out, nil, nil
	case syntaxEdit, syntaxRead, syntaxSearch:
		r, wrong := c.pathRule()
		if wrong != nil {
			return nil, nil, wrong
		}
		out = append(out, r)
		if to, linked := r.path.follow(c.o.Resolve); linked && c.forbids() {
			r.path = to
			out = append(out, r)
		}
		if isParam && c.forbids() {
			out = append(out, c.paramRule(field, value))
		}
		return out, nil, nil
	case syntaxHost:
		return c.hostRule(field, value, isParam)
	case syntaxNamed:
		r := c.withTarget(targetName)
		r.names = c.known.names
		if r.line, wrong = newLinePattern(c.text.spec, c.options()); wrong != nil {
			return nil, nil, wrong
		}
		out = append(out, r)
		if isParam && c.forbids() && !strings.HasSuffix(c.text.spec, ":*") {
			out = append(out, c.paramRule(field, value))
		}
		return out, nil, nil
	case syntaxOther:
	}
	switch {
	case !isParam:
		return nil, nil, &parseError{
			fmt.Sprintf("%[2]s has no rules of the form %[1]q", c.text.spec, c.text.tool),
			fmt.Sprintf("write %s for every use, or %s(field:value) for a field of its input", c.text.tool, c.text.tool),
		}
	case !c.forbids():
		return nil, &parseError{"a rule about an input field can deny or ask, but not allow", "write " + c.text.tool}, nil
	}
	return []rule{c.paramRule(field, value)}, nil, nil
}

// checkPrimary rejects rules of the form Tool(field:…) for fields that the tool's own rules already
// cover.
func (c *ruleCompiler) checkPrimary(field string, isParam bool) *parseError {
	if !isParam {
		return nil
	}
	for _, p := range c.known.primary {
		if strings.EqualFold(field, p) {
			return &parseError{
				fmt.Sprintf("rules of the form %s(%s:…) are not supported", c.text.tool, field),
				"omit the field name: " + example(c.known),
			}
		}
	}
	if field == "domain" && c.known.syntax != syntaxHost && c.known.syntax != syntaxOther {
		return &parseError{fmt.Sprintf("%s has no domain", c.text.tool), hostHint}
	}
	return nil
}

func example(t knownTool) string {
	switch t.syntax {
	case syntaxCommand:
		return t.name + "(npm test:*)"
	case syntaxEdit, syntaxRead, syntaxSearch:
		return t.name + "(src/**)"
	case syntaxHost:
		return t.name + "(domain:example.org)"
	case syntaxNamed:
		return t.name + "(name)"
	case syntaxOther:
	}
	return t.name
}

func (c *ruleCompiler) paramRule(field, value string) rule {
	r := c.withTarget(targetParam)
	r.param = paramPattern{name: field, value: unescape(value)}
	return r
}

func (c *ruleCompiler) hostRule(field, value string, isParam bool) (out []rule, dead, wrong *parseError) {
	if field != "domain" || !isParam {
		if isParam && c.forbids() && field != "http" && field != "https" {
			return []rule{c.paramRule(field, value)}, nil, nil
		}
		return nil, nil, &parseError{fmt.Sprintf("%[2]s has no rules of the form %[1]q", c.text.spec, c.text.tool), hostHint}
	}
	r := c.withTarget(targetHost)
	if r.host, wrong = newHostPattern(value); wrong != nil {
		return nil, nil, wrong
	}
	return []rule{r}, nil, nil
}

// pathRule parses the path of a rule. The start of the path selects the base: "//" means the file
// system, "~/" means the user's home, "/" means the folder of the settings, and anything else means
// the session's folder. If the path is relative to the session's folder, a pattern of one part
// matches at any depth, as in a .gitignore. "name/**" matches at any depth only in a deny or ask
// rule.
func (c *ruleCompiler) pathRule() (rule, *parseError) {
	r := c.withTarget(targetPath)
	switch {
	case c.known.syntax == syntaxEdit:
		r.target = targetWrite
	case c.known.syntax == syntaxRead, c.known.syntax == syntaxSearch && c.forbids() && c.text.tool != "Cd":
		r.target = targetRead
	}
	spec := strings.TrimSpace(c.text.spec)
	spec = strings.NewReplacer(`\(`, "(", `\)`, ")").Replace(spec)
	s := span{below: c.forbids() || !wild(lastSegment(spec))}
	var err error
	switch {
	case strings.HasPrefix(spec, "!"):
		return r, &parseError{"negated rules are not supported", `remove the "!"; no rule can undo a deny`}
	case strings.HasPrefix(spec, "//"):
		r.path, err = newGlob(spec, "/", strings.TrimLeft(spec, "/"), s)
	case spec == "~" || strings.HasPrefix(spec, "~/"):
		if c.o.Home == "" {
			return r, &parseError{`cannot expand "~": the home folder is not known`, "write the whole path: Edit(//home/…)"}
		}
		r.path, err = newGlob(spec, c.o.Home, strings.TrimLeft(spec[1:], "/"), s)
	case strings.HasPrefix(spec, "~"):
		return r, &parseError{"the home of another user is not known", "write the whole path: Edit(//home/…)"}
	case strings.HasPrefix(spec, "/"):
		dir := c.source.Dir
		if dir == "" {
			dir = c.o.Cwd
		}
		r.path, err = newGlob(spec, dir, spec[1:], s)
	default:
		rel, anchored := strings.CutPrefix(spec, "./")
		s.deep = !anchored && c.deep(rel)
		r.path, err = newGlob(spec, c.o.Cwd, rel, s)
	}
	switch {
	case errors.Is(err, errNoFolder):
		return r, &parseError{"the base folder of the relative path is not known", "write a path from the root with two slashes: //srv/data/**"}
	case err != nil:
		return r, &parseError{err.Error(), `a path may contain *, **, ?, [a-z] and {a,b}; write "\" before a literal special character`}
	}
	return r, nil
}

// deep reports whether a relative pattern matches at any depth.
func (c *ruleCompiler) deep(rel string) bool {
	name := strings.TrimSuffix(rel, "/")
	if !strings.Contains(name, "/") {
		return name == rel || c.forbids()
	}
	name, ok := strings.CutSuffix(name, "/**")
	return ok && c.forbids() && name != "**" && !strings.Contains(name, "/")
}

func (c *ruleCompiler) options() *shellparse.Options {
	return &shellparse.Options{Dir: c.o.Cwd, Home: c.o.Home}
}

// origin is the position where the rule was written.
func (r *rule) origin() *Origin {
	s := r.source
	return &Origin{Rule: r.text.String(), Layer: s.Layer, File: s.File, Line: s.Line, Col: s.Col}
}

// sentence describes the effect of the rule, in the form used in a decision.
func (r *rule) sentence(verb string) string {
	return "rule " + r.text.String() + position(r.source) + " " + verb
}
