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
	family ruleSyntax
	about  ruleTarget
	said   string // what it does, in the words of a decision

	line  linePattern
	path  glob
	host  hostPattern
	param paramPattern
	names []string // fields that hold the name of an agent or a skill
}

// ruleTarget says what of a request a rule looks at besides the tool's name.
type ruleTarget uint8

const (
	targetTool    ruleTarget = iota // nothing: every use
	targetCommand                   // command lines
	targetWrite                     // paths that are written
	targetRead                      // paths that are read
	targetPath                      // paths of one tool
	targetHost
	targetName
	targetParam
)

// newRules compiles one rule as written; it is several where its text can be
// taken in two ways and both have to hold (Bash(a:b) forbids the command "a:b" and
// the input field a). dead says why the rule can never match.
func newRules(source RuleSource, o *RuleOptions) (out []rule, dead, wrong *parseError) {
	switch source.Effect {
	case Allow, Deny, Ask:
	case NoOpinion:
		fallthrough
	default:
		return nil, nil, &parseError{fmt.Sprintf("a rule cannot have the effect %q", source.Effect), "want allow, ask or deny"}
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
		name.server = name.exact + "__" // mcp__a__b may be all of the server "a__b"
	}
	if other := misspelt(text.tool); other != "" {
		return nil, nil, &parseError{fmt.Sprintf("there is no tool %q", text.tool), "write " + other}
	}
	known, _ := lookTool(text.tool)
	c := ruleCompiler{source: source, text: text, known: known, o: o}
	c.base = rule{source: source, text: text, name: name, family: known.family}
	c.base.said = c.base.sentence(map[Effect]string{Deny: "denies it", Ask: "asks about it", Allow: "allows it"}[source.Effect])
	if source.Effect == Allow && !mayAllow(text.tool) {
		dead = &parseError{"an allow rule cannot have a star in the tool's name", "name each tool; behind mcp__server__ a star may stand"}
		return nil, dead, nil
	}
	if text.bare {
		return c.bare(), nil, nil
	}
	return c.specific()
}

// ruleCompiler is a rule on the way.
type ruleCompiler struct {
	source RuleSource
	text   ruleText
	known  knownTool
	o      *RuleOptions
	base   rule
}

func (c *ruleCompiler) forbids() bool { return c.source.Effect != Allow }

func (c *ruleCompiler) as(a ruleTarget) rule {
	r := c.base
	r.about = a
	return r
}

// bare is every use of a tool. Edit and Read stand for every path, too, whoever
// touches it.
func (c *ruleCompiler) bare() []rule {
	out := []rule{c.as(targetTool)}
	every := glob{text: c.text.tool, base: "/", literal: true, below: true}
	switch c.text.tool {
	case "Edit":
		r := c.as(targetWrite)
		r.path = every
		out = append(out, r)
	case "Read":
		r := c.as(targetRead)
		r.path = every
		out = append(out, r)
	}
	return out
}

func (c *ruleCompiler) specific() (out []rule, dead, wrong *parseError) {
	field, value, isParam := splitParam(c.text.spec)
	if wrong := c.primary(field, isParam); wrong != nil {
		return nil, nil, wrong
	}
	switch c.known.family {
	case familyCommand:
		r := c.as(targetCommand)
		if r.line, wrong = newLinePattern(c.text.spec, c.options()); wrong != nil {
			return nil, nil, wrong
		}
		out = append(out, r)
		if isParam && c.forbids() && !strings.HasSuffix(c.text.spec, ":*") {
			out = append(out, c.paramRule(field, value))
		}
		return out, nil, nil
	case familyEdit, familyRead, familySearch:
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
	case familyHost:
		return c.hostRule(field, value, isParam)
	case familyNamed:
		r := c.as(targetName)
		r.names = c.known.names
		if r.line, wrong = newLinePattern(c.text.spec, c.options()); wrong != nil {
			return nil, nil, wrong
		}
		out = append(out, r)
		if isParam && c.forbids() && !strings.HasSuffix(c.text.spec, ":*") {
			out = append(out, c.paramRule(field, value))
		}
		return out, nil, nil
	case familyOther:
	}
	switch {
	case !isParam:
		return nil, nil, &parseError{
			fmt.Sprintf("%q is not a form of rule that %s has", c.text.spec, c.text.tool),
			fmt.Sprintf("write %s for every use, or %s(field:value) for a field of its input", c.text.tool, c.text.tool),
		}
	case !c.forbids():
		return nil, &parseError{"a rule about a field of the input can deny and ask, and never allow", "write " + c.text.tool}, nil
	}
	return []rule{c.paramRule(field, value)}, nil, nil
}

// primary refuses Tool(field:…) for the fields that the tool's own form is about.
func (c *ruleCompiler) primary(field string, isParam bool) *parseError {
	if !isParam {
		return nil
	}
	for _, p := range c.known.primary {
		if strings.EqualFold(field, p) {
			return &parseError{
				fmt.Sprintf("%s(%s:…) is not a form of rule", c.text.tool, field),
				"write what the rule is about without the field: " + example(c.known),
			}
		}
	}
	if field == "domain" && c.known.family != familyHost && c.known.family != familyOther {
		return &parseError{fmt.Sprintf("%s has no domain", c.text.tool), hostHint}
	}
	return nil
}

func example(t knownTool) string {
	switch t.family {
	case familyCommand:
		return t.name + "(npm test:*)"
	case familyEdit, familyRead, familySearch:
		return t.name + "(src/**)"
	case familyHost:
		return t.name + "(domain:example.org)"
	case familyNamed:
		return t.name + "(name)"
	case familyOther:
	}
	return t.name
}

func (c *ruleCompiler) paramRule(field, value string) rule {
	r := c.as(targetParam)
	r.param = paramPattern{name: field, value: unescape(value)}
	return r
}

func (c *ruleCompiler) hostRule(field, value string, isParam bool) (out []rule, dead, wrong *parseError) {
	if field != "domain" || !isParam {
		if isParam && c.forbids() && field != "http" && field != "https" {
			return []rule{c.paramRule(field, value)}, nil, nil
		}
		return nil, nil, &parseError{fmt.Sprintf("%q is not a form of rule that %s has", c.text.spec, c.text.tool), hostHint}
	}
	r := c.as(targetHost)
	if r.host, wrong = newHostPattern(value); wrong != nil {
		return nil, nil, wrong
	}
	return []rule{r}, nil, nil
}

// pathRule reads the path of a rule. Where it starts says what it is relative to:
// "//" the file system, "~/" the user's home, "/" the folder of the settings,
// anything else the session's folder. There, a pattern of one part holds at any
// depth, as in a .gitignore; of "name/**" only a deny or an ask does.
func (c *ruleCompiler) pathRule() (rule, *parseError) {
	r := c.as(targetPath)
	switch {
	case c.known.family == familyEdit:
		r.about = targetWrite
	case c.known.family == familyRead, c.known.family == familySearch && c.forbids() && c.text.tool != "Cd":
		r.about = targetRead
	}
	spec := strings.TrimSpace(c.text.spec)
	spec = strings.NewReplacer(`\(`, "(", `\)`, ")").Replace(spec)
	s := span{below: c.forbids() || !wild(lastSegment(spec))}
	var err error
	switch {
	case strings.HasPrefix(spec, "!"):
		return r, &parseError{"a rule cannot take back what another one says", `leave the "!" away; a deny is never undone by another rule`}
	case strings.HasPrefix(spec, "//"):
		r.path, err = newGlob(spec, "/", strings.TrimLeft(spec, "/"), s)
	case spec == "~" || strings.HasPrefix(spec, "~/"):
		if c.o.Home == "" {
			return r, &parseError{`the user's home, which "~" stands for, is not known`, "write the whole path: Edit(//home/…)"}
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
		return r, &parseError{"the folder that the path is relative to is not known", "write a path from the root with two slashes: //srv/data/**"}
	case err != nil:
		return r, &parseError{err.Error(), `a path may hold *, **, ?, [a-z] and {a,b}; write "\" in front of a letter that is none of these`}
	}
	return r, nil
}

// deep reports whether a relative pattern holds at any depth.
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

// origin is where the rule was written.
func (r *rule) origin() *Origin {
	s := r.source
	return &Origin{Rule: r.text.String(), Layer: s.Layer, File: s.File, Line: s.Line, Col: s.Col}
}

// sentence says what the rule does, in the words of a decision.
func (r *rule) sentence(verb string) string {
	return "rule " + r.text.String() + position(r.source) + " " + verb
}
