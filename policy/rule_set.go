package policy

import (
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// ruleSet is the rules of one effect, indexed by target, so that a request is compared only with
// rules about its kind.
type ruleSet struct {
	effect       Effect
	tools        map[string]*rule // rules about every use of one tool, by the tool's name
	toolPatterns []*rule          // rules about every use of the tools that a pattern matches
	lines        []*rule
	edits        []*rule
	reads        []*rule
	paths        []*rule
	hosts        []*rule
	names        []*rule
	params       []*rule
}

func (set *ruleSet) add(r *rule) {
	switch r.target {
	case targetTool:
		if r.name.matchesMany() {
			set.toolPatterns = append(set.toolPatterns, r)
		} else if set.tools[r.name.exact] == nil {
			set.tools[r.name.exact] = r
		}
	case targetCommand:
		set.lines = append(set.lines, r)
	case targetWrite:
		set.edits = append(set.edits, r)
	case targetRead:
		set.reads = append(set.reads, r)
	case targetPath:
		set.paths = append(set.paths, r)
	case targetHost:
		set.hosts = append(set.hosts, r)
	case targetName:
		set.names = append(set.names, r)
	case targetParam:
		set.params = append(set.params, r)
	}
}

// ruleMatch is a rule that matched. It also contains the matched part of the request, if the rule
// did not match the whole request.
type ruleMatch struct {
	rule      *rule
	what      string
	uncertain string // why the match is uncertain; "" for a certain match
}

// toolRule finds a rule about every use of the tool.
func (set *ruleSet) toolRule(s *requestView) *rule {
	return set.toolRuleOf(s.Tool)
}

func (set *ruleSet) toolRuleOf(tool string) *rule {
	if r := set.tools[toolName(tool)]; r != nil {
		return r
	}
	for _, r := range set.toolPatterns {
		if r.name.match(tool) {
			return r
		}
	}
	return nil
}

// forbid finds a deny or ask rule: the first rule that certainly matches, or else a rule that may
// match.
func (set *ruleSet) forbid(s *requestView) ruleMatch {
	if r := set.toolRule(s); r != nil {
		return ruleMatch{rule: r}
	}
	if name := s.serverTool(); name != "" {
		if r := set.toolRuleOf(name); r != nil {
			return ruleMatch{rule: r}
		}
	}
	var doubt ruleMatch
	for _, find := range [...]func(*ruleSet, *requestView) ruleMatch{
		(*ruleSet).forbidLine, (*ruleSet).forbidPath, (*ruleSet).forbidHost, (*ruleSet).forbidName, (*ruleSet).forbidParam,
	} {
		switch f := find(set, s); {
		case f.rule == nil:
		case f.uncertain == "":
			return f
		case doubt.rule == nil:
			doubt = f
		}
	}
	return doubt
}

// forbidLine compares every command of the line, at any depth. Exact rules, and rules about several
// commands or with an assignment, are also compared with the whole line.
func (set *ruleSet) forbidLine(s *requestView) ruleMatch {
	if s.reading == nil || len(set.lines) == 0 {
		return ruleMatch{}
	}
	for i, lines := range s.lines {
		for _, line := range lines {
			for _, r := range set.lines {
				if r.line.match(line) && r.appliesTo(s.Tool) {
					return ruleMatch{rule: r, what: s.innerCommand(i)}
				}
			}
		}
	}
	var perhaps *rule
	for _, r := range set.lines {
		if !r.appliesTo(s.Tool) {
			continue
		}
		if perhaps == nil {
			perhaps = r
		}
		if (r.line.whole || r.line.exact) && r.line.match(oneSpace(strings.TrimSpace(s.command()))) {
			return ruleMatch{rule: r}
		}
	}
	if perhaps != nil && !s.reading.Static() {
		return ruleMatch{rule: perhaps, uncertain: "the command cannot be parsed reliably (" + s.reading.Unclear[0] + ")"}
	}
	return ruleMatch{}
}

// appliesTo reports whether a rule about command lines applies to a tool: rules of Bash apply to
// every tool that runs commands.
func (r *rule) appliesTo(tool string) bool { return r.text.tool == "Bash" || r.text.tool == tool }

// innerCommand names a command if it is not the whole line.
func (s *requestView) innerCommand(command int) string {
	if len(s.reading.Commands) < 2 {
		return ""
	}
	return s.reading.Commands[command].Line
}

// forbidPath compares the rules with every path that the request touches.
func (set *ruleSet) forbidPath(s *requestView) ruleMatch {
	var doubt ruleMatch
	for i := range s.paths {
		p := &s.paths[i]
		if isHarmlessDevice(p.path) {
			continue
		}
		if p.access&shellparse.Write != 0 {
			if p.matchRules(set.edits, false, &doubt) {
				return doubt
			}
		}
		reads := p.access&(shellparse.Read|shellparse.Exec) != 0
		if reads || set.effect == Deny { // a path that may not be read may not be changed
			if p.matchRules(set.reads, p.access&shellparse.Read == 0, &doubt) {
				return doubt
			}
		}
	}
	for _, r := range set.paths {
		for i := range s.paths {
			if r.name.match(s.Tool) && s.paths[i].matchRules([]*rule{r}, false, &doubt) {
				return doubt
			}
		}
	}
	return doubt
}

// matchRules compares a path with rules. If a rule certainly matches, it stores the rule in f and
// returns true. If a rule may match, it stores the rule in f unless f already contains one. With
// pathsOnly, it skips the rules that are about a tool as a whole.
func (p *requestPath) matchRules(rules []*rule, pathsOnly bool, f *ruleMatch) bool {
	for _, r := range rules {
		if r.text.bare && (pathsOnly || p.from == shellparse.FromGuess) {
			continue
		}
		why := ""
		switch {
		case p.path == "" && r.text.bare:
		case p.path == "":
			why = "the path " + argText(p.arg) + " cannot be determined"
		case r.path.match(p.path), p.real != p.path && r.path.match(p.real):
			if p.from == shellparse.FromGuess {
				why = p.arg + " may be a path"
			}
		case p.mayHold(&r.path):
			why = "a path below " + p.path + " may match"
		default:
			continue
		}
		if why == "" {
			*f = ruleMatch{rule: r, what: p.shown()}
			return true
		}
		if f.rule == nil {
			*f = ruleMatch{rule: r, uncertain: why}
		}
	}
	return false
}

// mayHold reports whether something below the path may match. If the request reads everything below
// the path, a possible match is enough. If it only changes or removes the path, or moves a path
// that may be a folder, the pattern must name a folder or file inside the path.
func (p *requestPath) mayHold(g *glob) bool {
	const moved = shellparse.Read | shellparse.Write
	if !p.tree && p.access&moved != moved || g.disjoint(p.path, p.arg) {
		return false
	}
	for _, tree := range [...]string{p.path, p.real} {
		certainly, perhaps := g.reaches(tree)
		if certainly || perhaps && p.tree && p.access&shellparse.Read != 0 {
			return true
		}
	}
	return false
}

func argText(arg string) string {
	if arg == "" {
		return "one of its arguments"
	}
	return arg
}

// shown is the path if it is not the request's resource.
func (p *requestPath) shown() string {
	if p.command < 0 {
		return ""
	}
	return p.path
}

func (set *ruleSet) forbidHost(s *requestView) ruleMatch {
	if s.Operation != OpConnect || len(set.hosts) == 0 {
		return ruleMatch{}
	}
	host := hostOf(s.Resource)
	if host == "" {
		return ruleMatch{rule: set.hosts[0], uncertain: "the host is not known"}
	}
	for _, r := range set.hosts {
		if r.host.match(host) || s.Address != "" && r.host.match(hostOf(s.Address)) {
			return ruleMatch{rule: r}
		}
	}
	return ruleMatch{}
}

// forbidName compares every name of the agent or skill of a call: the request's resource, and every
// input field that may contain the name.
func (set *ruleSet) forbidName(s *requestView) ruleMatch {
	var doubt ruleMatch
	for _, r := range set.names {
		if !r.name.match(toolName(s.Tool)) {
			continue
		}
		named := s.Resource != ""
		if named && r.line.match(s.Resource) {
			return ruleMatch{rule: r}
		}
		in := s.inputParams()
		for _, p := range in.list {
			for _, field := range r.names {
				if !p.scalar || !strings.EqualFold(p.name, field) {
					continue
				}
				if named = true; r.line.match(p.text) {
					return ruleMatch{rule: r}
				}
			}
		}
		if (!named || in.unclear) && doubt.rule == nil {
			doubt = ruleMatch{rule: r, uncertain: "the call does not name the " + strings.ToLower(r.name.exact)}
		}
	}
	return doubt
}

func (set *ruleSet) forbidParam(s *requestView) ruleMatch {
	var doubt ruleMatch
	for _, r := range set.params {
		if !r.name.match(toolName(s.Tool)) {
			continue
		}
		in := s.inputParams()
		if r.param.match(in) {
			return ruleMatch{rule: r}
		}
		if in.unclear && doubt.rule == nil {
			doubt = ruleMatch{rule: r, uncertain: "the input is not a valid JSON object"}
		}
	}
	return doubt
}
