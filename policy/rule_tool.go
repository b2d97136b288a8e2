package policy

import (
	"slices"
	"strings"
)

// ruleSyntax says what a tool's rules are about.
type ruleSyntax uint8

const (
	familyOther   ruleSyntax = iota
	familyCommand            // Bash(npm test): command lines
	familyEdit               // Edit(src/**): paths that are written, by whatever tool
	familyRead               // Read(src/**): paths that are read, by whatever tool
	familySearch             // Glob(src/**): paths, of this tool only where it allows
	familyHost               // WebFetch(domain:x.org)
	familyNamed              // Agent(name), Skill(name)
)

// knownTool is what rules need to know about a tool by its name.
type knownTool struct {
	name    string
	family  ruleSyntax
	primary []string // the fields that its own form of rule is about; Tool(field:…) is refused
	names   []string // of familyNamed: the fields that may hold the name, the first that is set counts
}

// knownTools are the tools with a form of rule of their own, and those whose
// primary field has no such form. Every other tool has Tool and Tool(param:value).
var knownTools = []knownTool{
	{name: "Bash", family: familyCommand, primary: []string{"command"}},
	{name: "PowerShell", family: familyCommand, primary: []string{"command"}},
	{name: "Edit", family: familyEdit, primary: []string{"file_path", "old_string", "new_string"}},
	{name: "Write", family: familyEdit, primary: []string{"file_path", "content"}},
	{name: "MultiEdit", family: familyEdit, primary: []string{"file_path", "edits"}},
	{name: "NotebookEdit", family: familyEdit, primary: []string{"notebook_path", "new_source"}},
	{name: "Read", family: familyRead, primary: []string{"file_path"}},
	{name: "Glob", family: familySearch, primary: []string{"pattern", "path"}},
	{name: "Grep", family: familySearch, primary: []string{"pattern", "path"}},
	{name: "LS", family: familySearch, primary: []string{"path"}},
	{name: "LSP", family: familySearch, primary: []string{"file_path", "filePath"}},
	{name: "NotebookRead", family: familySearch, primary: []string{"notebook_path"}},
	{name: "Cd", family: familySearch, primary: []string{"path"}},
	{name: "WebFetch", family: familyHost, primary: []string{"url"}},
	{name: "WebSearch", primary: []string{"query"}},
	{name: "Agent", family: familyNamed, primary: []string{"subagent_type", "prompt"}, names: []string{"subagent_type", "agent", "name"}},
	{name: "Skill", family: familyNamed, primary: []string{"skill"}, names: []string{"skill", "name", "command"}},
}

// toolName takes other names of a tool back to one.
func toolName(name string) string {
	if name == "Task" {
		return "Agent" // its name in older settings
	}
	return name
}

// lookTool finds what is known about a tool.
func lookTool(name string) (knownTool, bool) {
	name = toolName(name)
	i := slices.IndexFunc(knownTools, func(t knownTool) bool { return t.name == name })
	if i < 0 {
		return knownTool{name: name}, false
	}
	return knownTools[i], true
}

// misspelt returns the known tool whose name has the same letters in another case.
func misspelt(name string) string {
	for _, t := range knownTools {
		if t.name != name && strings.EqualFold(t.name, name) {
			return t.name
		}
	}
	return ""
}

const (
	mcpPrefix = "mcp__"
	mcpHint   = "write mcp__server, mcp__server__* or mcp__server__tool"
)

// namePattern matches tools' names.
type namePattern struct {
	exact  string
	server string   // "mcp__srv": every tool of it, too
	parts  []string // between stars; nil when the name is exact
}

// newNamePattern reads the name of a rule.
func newNamePattern(name string) (namePattern, *parseError) {
	if strings.Contains(name, "*") {
		return namePattern{parts: strings.Split(name, "*")}, nil
	}
	p := namePattern{exact: toolName(name)}
	if server, ok := strings.CutPrefix(name, mcpPrefix); ok {
		switch server, tool, both := strings.Cut(server, "__"); {
		case server == "", both && tool == "":
			return namePattern{}, &parseError{quotedName(name) + " names no MCP tool", mcpHint}
		case !both:
			p.server = name + "__"
		}
	}
	return p, nil
}

// many reports whether the pattern can match more than one name.
func (p *namePattern) many() bool { return p.parts != nil || p.server != "" }

func (p *namePattern) match(tool string) bool {
	if p.parts != nil {
		return matchParts(p.parts, tool, false)
	}
	return tool == p.exact || p.server != "" && strings.HasPrefix(tool, p.server)
}

// mayAllow reports whether a name with stars may stand in an allow rule: only
// behind a literal MCP server.
func mayAllow(name string) bool {
	literal, _, star := strings.Cut(name, "*")
	if !star {
		return true
	}
	server, ok := strings.CutPrefix(literal, mcpPrefix)
	if !ok {
		return false
	}
	server, _, ok = strings.Cut(server, "__")
	return ok && server != ""
}

func quotedName(s string) string { return `"` + s + `"` }
