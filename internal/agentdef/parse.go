package agentdef

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/yamltree"
	"github.com/holdfast-dev/holdfast/policy"
)

// Problem is an error or a warning about a definition.
type Problem struct {
	File         string
	Line, Column int // counted from 1; 0 for the whole file
	Detail, Hint string
	Fatal        bool // the definition is not used
}

func (p Problem) String() string {
	at := p.File
	if p.Line > 0 {
		at += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	return at + ": " + p.Detail
}

// maxFile is the maximum size of a definition, in bytes.
const maxFile = 256 << 10

// reader reads one definition.
type reader struct {
	file     string
	source   []byte
	d        agent.Definition
	servers  []settings.MCPServer // defined in it
	problems []Problem
}

// Parse reads one Markdown file. ok is false if the definition cannot be used.
func Parse(file string, source []byte) (d agent.Definition, problems []Problem, ok bool) {
	return parse(file, source).done()
}

func parse(file string, source []byte) *reader {
	r := &reader{file: file, source: source, d: agent.Definition{Origin: file}}
	if len(source) > maxFile {
		r.refuse(-1, "larger than 256 KiB", "")
		return r
	}
	text, err := yamltree.Split(source)
	if err != nil {
		bad, _ := errors.AsType[*yamltree.Error](err)
		if bad == nil {
			bad = &yamltree.Error{Offset: -1, Detail: err.Error()}
		}
		r.refuse(bad.Offset, bad.Detail, bad.Hint)
		return r
	}
	if !text.HasFrontMatter {
		r.refuse(0, "no front matter", "begin the file with ---, name:, description: and ---")
		return r
	}
	r.d.Prompt = strings.TrimSpace(text.Body)
	r.fields(&text.Front)
	if r.d.Name == "" {
		r.d.Name = strings.TrimSuffix(filepath.Base(file), ".md")
	}
	r.checkRequired(text.Front.At)
	return r
}

func (r *reader) done() (agent.Definition, []Problem, bool) {
	for _, p := range r.problems {
		if p.Fatal {
			return agent.Definition{}, r.problems, false
		}
	}
	return r.d, r.problems, true
}

func (r *reader) checkName(at int) {
	if name := r.d.Name; strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:") != "" || len(name) > 64 {
		r.refuse(at, fmt.Sprintf("the name %.80q cannot be used in a rule", name), "use lower-case letters, digits and hyphens")
	}
}

// checkRequired checks the required fields of a definition.
func (r *reader) checkRequired(at int) {
	r.checkName(at)
	switch {
	case r.d.Description == "":
		r.refuse(at, "no description, so the model cannot know when to use it", "add description: and say when to use the agent")
	case r.d.Prompt == "":
		r.refuse(at, "no prompt", "write the prompt after the front matter")
	}
	for _, name := range r.d.Servers {
		prefix := "mcp__" + name
		of := func(t string) bool { return t == prefix || strings.HasPrefix(t, prefix+"__") }
		if r.d.Tools != nil && !slices.ContainsFunc(r.d.Tools, of) {
			r.problem(false, at, fmt.Sprintf("its tools include none of the MCP server %.80q", name), "add "+prefix+" to its tools")
		}
	}
}

func (r *reader) problem(fatal bool, at int, detail, hint string) {
	p := Problem{File: r.file, Detail: detail, Hint: hint, Fatal: fatal}
	if at >= 0 {
		p.Line, p.Column = yamltree.Position(r.source, at)
	}
	r.problems = append(r.problems, p)
}

func (r *reader) refuse(at int, detail, hint string) {
	r.problem(true, at, detail, hint)
}

// memories are the valid values of the field memory.
var memories = []string{"user", "project", "local"}

// unusedFields are fields that only affect the display of a definition.
var unusedFields = []string{"color"}

// ignoredFields maps fields that can safely be ignored to the effect of ignoring them.
var ignoredFields = map[string]string{
	"effort":        "the sub-agent uses its parent's effort",
	"initialPrompt": "the sub-agent gets only its task",
}

// requiredFields are unsupported fields that matter for safety: a definition with one is not used.
var requiredFields = map[string]string{
	"hooks": "put them into the settings; a SubagentStart matcher can name the agent",
}

// fields reads the front matter.
func (r *reader) fields(front *jsontree.Node) {
	for i := range front.Members {
		m := &front.Members[i]
		v := &m.Value
		if v.Kind == jsontree.Null {
			continue // the field is treated as missing
		}
		switch m.Key {
		case "name":
			r.text(m, &r.d.Name)
		case "description":
			r.text(m, &r.d.Description)
		case "prompt":
			r.text(m, &r.d.Prompt)
		case "tools":
			r.d.Tools = r.tools(m, true)
		case "disallowedTools":
			r.d.DisallowedTools = r.tools(m, false)
		case "model":
			r.text(m, &r.d.Model)
		case "permissionMode":
			var name string
			r.text(m, &name)
			if err := policy.Mode(name).Check(); err != nil {
				r.refuse(v.At, fmt.Sprintf("permissionMode: %v", err), "")
				continue
			}
			r.d.Mode = policy.Mode(name)
		case "maxTurns":
			n, err := strconv.Atoi(v.Text)
			if v.Kind != jsontree.Number || err != nil || n < 1 {
				r.refuse(v.At, fmt.Sprintf("maxTurns: invalid value %s", v.Show()), "write a number, at least 1")
			}
			r.d.MaxTurns = n
		case "background":
			if v.Kind != jsontree.Bool {
				r.refuse(v.At, fmt.Sprintf("background: invalid value %s", v.Show()), "write true or false")
			}
			r.d.Background = v.Text == "true"
		case "isolation":
			if v.Text != "worktree" || v.Kind != jsontree.Text {
				r.refuse(v.At, fmt.Sprintf("isolation: invalid value %s; the only value is worktree", v.Show()), "write worktree, or remove the field")
			}
			r.d.Isolation = true
		case "skills":
			r.d.Skills = r.names(m)
		case "mcpServers":
			r.mcpServers(m)
		case "memory":
			if v.Kind != jsontree.Text || !slices.Contains(memories, v.Text) {
				r.refuse(v.At, fmt.Sprintf("memory: invalid value %s", v.Show()), "write one of "+strings.Join(memories, ", ")+", or remove the field")
			}
			r.d.Memory = v.Text
		default:
			r.unknownField(m)
		}
	}
}

// unknownField reports a field that is not used.
func (r *reader) unknownField(m *jsontree.Member) {
	if slices.Contains(unusedFields, m.Key) {
		return
	}
	if why, ok := ignoredFields[m.Key]; ok {
		r.problem(false, m.At, fmt.Sprintf("%s is ignored: %s", m.Key, why), "")
		return
	}
	if hint, ok := requiredFields[m.Key]; ok {
		r.refuse(m.At, fmt.Sprintf("%s is not supported in a definition, so the definition is not used", m.Key), hint)
		return
	}
	r.problem(false, m.At, fmt.Sprintf("unknown field %.60q is ignored", m.Key), "")
}

func (r *reader) text(m *jsontree.Member, to *string) {
	if m.Value.Kind != jsontree.Text {
		r.refuse(m.Value.At, fmt.Sprintf("%s must be a text, not %s", m.Key, m.Value.Show()), "put it in quotes")
		return
	}
	*to = strings.TrimSpace(m.Value.Text)
}

// tools reads a list of tools, comma-separated or in YAML; nil means all. The parameter allowed is
// true for tools and false for disallowedTools.
func (r *reader) tools(m *jsontree.Member, allowed bool) []string {
	var names []string
	whole := map[string]bool{}
	add := func(at int, text string) {
		depth, from := 0, 0
		for i, c := range text + "," {
			switch {
			case c == '(':
				depth++
			case c == ')':
				depth--
			case c == ',' && depth <= 0:
				if name := strings.TrimSpace(text[from:i]); name != "" {
					if !strings.Contains(name, "(") {
						whole[name] = true
					}
					names = append(names, r.tool(at, m.Key, name, allowed)...)
				}
				from = i + 1
			}
		}
	}
	switch v := &m.Value; v.Kind {
	case jsontree.Text:
		add(v.At, v.Text)
	case jsontree.List:
		for i := range v.Items {
			if n := &v.Items[i]; n.Kind == jsontree.Text {
				add(n.At, n.Text)
			} else {
				r.refuse(n.At, fmt.Sprintf("%s: %s is not a tool name", m.Key, n.Show()), "")
			}
		}
	default:
		r.refuse(v.At, fmt.Sprintf("%s must be a list of tools, not %s", m.Key, v.Show()), "write, for example: Read, Grep")
	}
	if slices.Contains(names, "*") {
		r.d.ToolRules = nil
		return nil
	}
	if allowed { // if a tool is also listed without a rule, it is not restricted
		r.d.ToolRules = slices.DeleteFunc(r.d.ToolRules, func(rule string) bool { return whole[strings.TrimSuffix(rule[:strings.Index(rule, "(")], " ")] })
	}
	if names == nil && allowed {
		names = []string{} // none
	}
	return names
}

// names reads a list of names, comma-separated or in YAML.
func (r *reader) names(m *jsontree.Member) []string {
	v := &m.Value
	list := v.Items
	if v.Kind == jsontree.Text {
		list = []jsontree.Node{*v}
	} else if v.Kind != jsontree.List {
		r.refuse(v.At, fmt.Sprintf("%s must be a list, not %s", m.Key, v.Show()), "write a list of names")
	}
	var names []string
	for i := range list {
		if list[i].Kind != jsontree.Text {
			r.refuse(list[i].At, fmt.Sprintf("%s: %s is not a name", m.Key, list[i].Show()), "")
			continue
		}
		for name := range strings.SplitSeq(list[i].Text, ",") {
			if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// tool reads one entry of a list of tools.
func (r *reader) tool(at int, key, name string, allowed bool) []string {
	bare, scope, scoped := strings.Cut(name, "(")
	switch {
	case bare == "Task" || bare == "Agent":
		if allowed {
			r.problem(false, at, fmt.Sprintf("%s: %s is ignored: sub-agents cannot start sub-agents", key, name), "")
		}
		return nil
	case scoped && allowed && (&policy.Limit{Rules: []string{name}}).CheckRules("") == nil:
		r.d.ToolRules = append(r.d.ToolRules, name)
		return []string{bare}
	case scoped:
		r.refuse(at, fmt.Sprintf("%s: %s: a definition cannot restrict a tool to %q", key, name, strings.TrimSuffix(scope, ")")), "write "+bare+" here, and put "+name+" into the permissions of the settings")
		return nil
	case name == "*" && !allowed:
		r.refuse(at, fmt.Sprintf("%s: * would remove all tools", key), "")
		return nil
	}
	return []string{name}
}
