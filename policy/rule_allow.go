package policy

import (
	"strings"

	"github.com/holdfast-dev/holdfast/internal/environ"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// allow finds the rules that permit a request. The ruling either allows or has no opinion. The
// ruling has open paths if rules allow every command of a line, but do not allow every path that
// the line touches.
func (set *ruleSet) allow(s *requestView, cwd string) ruling {
	if r := set.toolRule(s); r != nil {
		return r.allowRuling()
	}
	switch {
	case s.reading != nil:
		return set.allowLine(s, cwd)
	case len(s.paths) > 0:
		p := &s.paths[0]
		for _, rules := range [...][]*rule{set.edits, set.reads, set.paths} {
			for _, r := range rules {
				if r.target == targetPath && !r.name.match(s.Tool) || r.target != targetPath && !r.target.access(p.access) {
					continue
				}
				if r.path.covers(p) {
					return r.allowRuling()
				}
			}
		}
	case s.Operation == OpConnect:
		r := set.hostAllowRule(s, hostOf(s.Resource))
		if r != nil && s.Address != "" { // a rule with only a name does not allow a private address
			r = set.hostAllowRule(s, hostOf(s.Address))
		}
		if r != nil {
			return r.allowRuling()
		}
	default:
		for _, r := range set.names {
			if r.name.match(toolName(s.Tool)) && r.matchesName(s) {
				return r.allowRuling()
			}
		}
	}
	return ruling{}
}

func (set *ruleSet) hostAllowRule(s *requestView, host string) *rule {
	for _, r := range set.hosts {
		if host != "" && r.name.match(s.Tool) && r.host.match(host) {
			return r
		}
	}
	return nil
}

func (r *rule) allowRuling() ruling {
	return ruling{Verdict: Verdict{Effect: Allow, Reason: r.reason, Rule: r.origin()}}
}

// access reports whether rules about edits or reads permit an access.
func (a ruleTarget) access(x shellparse.Access) bool {
	return a == targetWrite && x == shellparse.Write || a == targetRead && x == shellparse.Read
}

// matchesName reports whether the call is about the agent or skill of the rule. The call names it
// by its resource, or else by the first of the rule's input fields that is set.
func (r *rule) matchesName(s *requestView) bool {
	name := s.Resource
	if name == "" {
		name = s.inputParams().field(r.names)
	}
	return name != "" && r.line.match(name)
}

// covers reports whether a permission for the glob covers a path. Both the path as named and the
// path with links resolved must be covered, and also everything below it if the request touches
// that.
func (g *glob) covers(p *requestPath) bool {
	if p.path == "" || !g.match(p.path) || p.real != p.path && !g.match(p.real) {
		return false
	}
	return !p.tree || g.below || strings.HasSuffix(g.pattern, "**")
}

// allowLine permits a line if rules permit each of its commands. Commands that change nothing, and
// programs that only run another command of the line, do not need a rule. A line that cannot be
// parsed is permitted only by a rule with exactly that text.
func (set *ruleSet) allowLine(s *requestView, cwd string) ruling {
	if len(set.lines) == 0 {
		return ruling{}
	}
	line := strings.TrimSpace(s.command())
	for _, r := range set.lines {
		if r.line.exact && r.line.text == line && r.text.tool == s.Tool {
			return r.allowRuling()
		}
	}
	if !s.reading.Static() || len(s.reading.Commands) == 0 {
		return ruling{}
	}
	var first *rule
	var ruled uint64 // bit set of the commands that rules permit
	for i := range s.reading.Commands {
		c := &s.reading.Commands[i]
		switch r := set.commandAllowRule(s, c, line); {
		case r != nil:
			if ruled |= 1 << i; first == nil { // commands after bit 63 are treated as not permitted
				first = r
			}
		case setsDangerous(c.Assigns):
			return ruling{}
		case c.Safe && !c.Wrapper, passesOn(s.reading.Commands, i):
		default:
			return ruling{}
		}
	}
	if first == nil {
		return ruling{}
	}
	out := ruling{by: first}
	for i := range s.paths {
		p := &s.paths[i]
		if ruled&(1<<p.command) != 0 && p.from != shellparse.FromRedirect {
			continue
		}
		if !set.coversPath(p, cwd) {
			out.open = append(out.open, *p)
		}
	}
	if len(out.open) > 0 {
		return out
	}
	return first.allowRuling()
}

// commandAllowRule finds the rule that permits one command.
func (set *ruleSet) commandAllowRule(s *requestView, c *shellparse.Command, line string) *rule {
	if c.Name == "" {
		return nil
	}
	danger, bare := setsDangerous(c.Assigns), c.LineByName()
	for _, r := range set.lines {
		switch {
		case r.line.sets:
			if len(s.reading.Commands) != 1 || !r.line.match(oneSpace(line)) {
				continue
			}
		case danger, !r.line.match(c.Line) && !r.line.match(bare):
			continue
		}
		if r.text.tool == s.Tool {
			return r
		}
	}
	return nil
}

// isOpenEnded reports whether the pattern permits more arguments after it.
func (p *linePattern) isOpenEnded() bool { return p.word || p.parts[len(p.parts)-1] == "" }

// coversPath reports whether rules permit what a command does to a path, in addition to the
// command itself. Reads in the session's folder need no rule, except reads of secrets.
func (set *ruleSet) coversPath(p *requestPath, cwd string) bool {
	switch {
	case isHarmlessDevice(p.path):
		return true
	case p.access&shellparse.Exec != 0:
		return p.access == shellparse.Exec && shellparse.IsSystemProgram(p.path)
	}
	if p.access&shellparse.Write != 0 && !coveredBy(set.edits, p) {
		return false
	}
	if p.access&shellparse.Read == 0 || coveredBy(set.reads, p) {
		return true
	}
	secrets := &loadProtected().secrets
	return cwd != "" && p.path != "" && inside(cwd, p.path) && inside(cwd, p.real) && !secrets.has(p.path) && !secrets.has(p.real)
}

func coveredBy(rules []*rule, p *requestPath) bool {
	for _, r := range rules {
		if r.path.covers(p) {
			return true
		}
	}
	return false
}

func inside(dir, p string) bool {
	_, ok := under(dir, p)
	return ok
}

// wrapperPrograms are programs that only run the rest of the line, with the rights of this user and
// in this environment. The value of each entry is true if options are allowed, too.
var wrapperPrograms = map[string]bool{
	"env": false, "timeout": true, "nice": true, "nohup": false, "time": true, "stdbuf": true,
	"command": true, "builtin": true, "noglob": false, "xargs": false,
}

// passesOn reports whether a command is a wrapper that needs no rule, because the commands that it
// runs need their own rules.
func passesOn(commands []shellparse.Command, i int) bool {
	c := &commands[i]
	options, known := wrapperPrograms[c.Name]
	if !known || !c.Wrapper || i+1 == len(commands) || len(commands[i+1].Wrappers) <= len(c.Wrappers) {
		return false
	}
	if !shellparse.IsSystemProgram(c.Program) {
		return false
	}
	return !setsDangerousEnv(c) && (options || len(c.Args) == 0 || !isOption(c.Args[0].Text))
}

// setsDangerousEnv reports whether a wrapper sets a dangerous variable for the command that it
// runs, as in env PATH=x npm test.
func setsDangerousEnv(c *shellparse.Command) bool {
	for _, a := range c.Args {
		name, _, assigns := strings.Cut(a.Text, "=")
		if assigns && !isOption(a.Text) && environ.Dangerous(name) {
			return true
		}
	}
	return false
}
