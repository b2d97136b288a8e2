package policy

import (
	"slices"
	"strings"
)

// ruleSyntax is the form of a tool's rules.
type ruleSyntax uint8

const (
	syntaxOther   ruleSyntax = iota
	syntaxCommand            // Bash(npm test): command lines
	syntaxEdit               // Edit(src/**): paths that are written, by any tool
	syntaxRead               // Read(src/**): paths that are read, by any tool
	syntaxSearch             // Glob(src/**): paths; an allow rule covers only this tool
	syntaxHost               // WebFetch(domain:x.org)
	syntaxNamed              // Agent(name), Skill(name)
)

// knownTool describes the rules of one tool.
type knownTool struct {
	name    string
	syntax  ruleSyntax
	primary []string // the fields that the tool's rules already cover; Tool(field:…) is rejected
	names   []string // for syntaxNamed: the fields that may contain the name; for an allow rule, the first one that is set applies
}

// knownTools are the tools with a specific form of rule, and those whose primary field cannot be
// used in a rule. Every other tool has the forms Tool and Tool(param:value).
var knownTools = []knownTool{
	{name: "Bash", syntax: syntaxCommand, primary: []string{"command"}},
	{name: "PowerShell", syntax: syntaxCommand, primary: []string{"command"}},
	{name: "Edit", syntax: syntaxEdit, primary: []string{"file_path", "old_string", "new_string"}},
	{name: "Write", syntax: syntaxEdit, primary: []string{"file_path", "content"}},
	{name: "MultiEdit", syntax: syntaxEdit, primary: []string{"file_path", "edits"}},
	{name: "NotebookEdit", syntax: syntaxEdit, primary: []string{"notebook_path", "new_source"}},
	{name: "Read", syntax: syntaxRead, primary: []string{"file_path"}},
	{name: "Glob", syntax: syntaxSearch, primary: []string{"pattern", "path"}},
	{name: "Grep", syntax: syntaxSearch, primary: []string{"pattern", "path"}},
	{name: "LS", syntax: syntaxSearch, primary: []string{"path"}},
	{name: "LSP", syntax: syntaxSearch, primary: []string{"file_path", "filePath"}},
	{name: "NotebookRead", syntax: syntaxSearch, primary: []string{"notebook_path"}},
	{name: "Cd", syntax: syntaxSearch, primary: []string{"path"}},
	{name: "WebFetch", syntax: syntaxHost, primary: []string{"url"}},
	{name: "WebSearch", primary: []string{"query"}},
	{name: "Agent", syntax: syntaxNamed, primary: []string{"subagent_type", "prompt"}, names: []string{"subagent_type", "agent", "name"}},
	{name: "Skill", syntax: syntaxNamed, primary: []string{"skill"}, names: []string{"skill", "name", "command"}},
}

// toolName maps aliases of a tool to one name.
func toolName(name string) string {
	if name == "Task" {
		return "Agent" // the name of the tool in older settings
	}
	return name
}

// lookupTool looks up the description of a tool.
func lookupTool(name string) (knownTool, bool) {
	name = toolName(name)
	i := slices.IndexFunc(knownTools, func(t knownTool) bool { return t.name == name })
	if i < 0 {
		return knownTool{name: name}, false
	}
	return knownTools[i], true
}

// correctCase returns the known tool whose name differs only in case.
func correctCase(name string) string {
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

// namePattern matches tool names.
type namePattern struct {
	exact  string
	server string   // a name such as "mcp__srv", which also means every tool of the server
	parts  []string // parts of the name between stars; nil if the name has no star
}

// newNamePattern parses the tool name of a rule.
func newNamePattern(name string) (namePattern, *parseError) {
	if strings.Contains(name, "*") {
		return namePattern{parts: strings.Split(name, "*")}, nil
	}
	p := namePattern{exact: toolName(name)}
	if server, ok := strings.CutPrefix(name, mcpPrefix); ok {
		switch server, tool, both := strings.Cut(server, "__"); {
		case server == "", both && tool == "":
			return namePattern{}, &parseError{quotedName(name) + " is not the name of an MCP tool", mcpHint}
		case !both:
			p.server = name + "__"
		}
	}
	return p, nil
}

// matchesMany reports whether the pattern can match more than one name.
func (p *namePattern) matchesMany() bool { return p.parts != nil || p.server != "" }

func (p *namePattern) match(tool string) bool {
	if p.parts != nil {
		return matchParts(p.parts, tool, false)
	}
	return tool == p.exact || p.server != "" && strings.HasPrefix(tool, p.server)
}

// mayAllow reports whether a name may be used in an allow rule. A star is allowed only after
// "mcp__", the literal name of an MCP server and "__".
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
