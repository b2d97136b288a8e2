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

// Problem is what is wrong with a definition.
type Problem struct {
	File         string
	Line, Column int // from 1; 0 when it is of the whole file
	Detail, Hint string
	Fatal        bool // the definition is left out
}

func (p Problem) String() string {
	at := p.File
	if p.Line > 0 {
		at += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	return at + ": " + p.Detail
}

// maxFile bounds a definition, in bytes.
const maxFile = 256 << 10

// reader collects what one text says.
type reader struct {
	file     string
	source   []byte
	d        agent.Definition
	servers  []settings.MCPServer // of its own
	problems []Problem
}

// Parse reads one Markdown file. ok is false when it cannot be used.
func Parse(file string, source []byte) (d agent.Definition, problems []Problem, ok bool) {
	return parse(file, source).done()
}

func parse(file string, source []byte) *reader {
	r := &reader{file: file, source: source, d: agent.Definition{Origin: file}}
	if len(source) > maxFile {
		r.refuse(-1, "", "it is larger than 256 KiB")
		return r
	}
	text, err := yamltree.Split(source)
	if err != nil {
		bad, _ := errors.AsType[*yamltree.Error](err)
		if bad == nil {
			bad = &yamltree.Error{Offset: -1, Detail: err.Error()}
		}
		r.refuse(bad.Offset, bad.Hint, "%s", bad.Detail)
		return r
	}
	if !text.HasFrontMatter {
		r.refuse(0, "begin with ---, name:, description: and ---", "there is no front matter")
		return r
	}
	r.d.Prompt = strings.TrimSpace(text.Body)
	r.fields(&text.Front)
	if r.d.Name == "" {
		r.d.Name = strings.TrimSuffix(filepath.Base(file), ".md")
	}
	r.complete(text.Front.At)
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

// complete checks what a definition must have.
func (r *reader) complete(at int) {
	switch name := r.d.Name; {
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:") != "" || len(name) > 64:
		r.refuse(at, "use small letters, digits and hyphens", "the name %.80q cannot be put into a rule", name)
	case r.d.Description == "":
		r.refuse(at, "add description: and when to use it", "there is no description: no model would know when to use it")
	case r.d.Prompt == "":
		r.refuse(at, "write what it is to do", "there is no prompt")
	}
	for _, name := range r.d.Servers {
		prefix := "mcp__" + name
		of := func(t string) bool { return t == prefix || strings.HasPrefix(t, prefix+"__") }
		if r.d.Tools != nil && !slices.ContainsFunc(r.d.Tools, of) {
			r.problem(false, at, "add "+prefix+" to its tools", "its tools leave out all of the MCP server %.80q", name)
		}
	}
}

func (r *reader) problem(fatal bool, at int, hint, format string, args ...any) {
	p := Problem{File: r.file, Detail: fmt.Sprintf(format, args...), Hint: hint, Fatal: fatal}
	if at >= 0 {
		p.Line, p.Column = yamltree.Position(r.source, at)
	}
	r.problems = append(r.problems, p)
}

func (r *reader) refuse(at int, hint, format string, args ...any) {
	r.problem(true, at, hint, format, args...)
}

// memories are the places of a memory.
var memories = []string{"user", "project", "local"}

// unusedFields are fields that only say how a definition is shown.
var unusedFields = []string{"color"}

// ignoredFields are fields whose lack takes nothing away that guards anything.
var ignoredFields = map[string]string{
	"effort":        "it thinks as much as its parent",
	"initialPrompt": "it is told its task only",
}

// requiredFields are fields that others rely on: a definition with one is not used without it.
var requiredFields = map[string]string{
	"hooks": "put them into settings, with a matcher for SubagentStart and the agent's name where they are about that",
}

// fields reads the front matter.
func (r *reader) fields(front *jsontree.Node) {
	for i := range front.Members {
		m := &front.Members[i]
		v := &m.Value
		if v.Kind == jsontree.Null {
			continue // as if it were not there
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
				r.refuse(v.At, "", "permissionMode: %v", err)
				continue
			}
			r.d.Mode = policy.Mode(name)
		case "maxTurns":
			n, err := strconv.Atoi(v.Text)
			if v.Kind != jsontree.Number || err != nil || n < 1 {
				r.refuse(v.At, "write a number from 1 on", "maxTurns: %s", v.Show())
			}
			r.d.MaxTurns = n
		case "background":
			if v.Kind != jsontree.Bool {
				r.refuse(v.At, "write true or false", "background: %s", v.Show())
			}
			r.d.Background = v.Text == "true"
		case "isolation":
			if v.Text != "worktree" || v.Kind != jsontree.Text {
				r.refuse(v.At, "write worktree, or leave it out", "isolation: %s: there is only worktree", v.Show())
			}
			r.d.Isolation = true
		case "skills":
			r.d.Skills = r.names(m)
		case "mcpServers":
			r.mcpServers(m)
		case "memory":
			if v.Kind != jsontree.Text || !slices.Contains(memories, v.Text) {
				r.refuse(v.At, "write "+strings.Join(memories, ", ")+", or leave it out", "memory: %s: there is no such place", v.Show())
			}
			r.d.Memory = v.Text
		default:
			r.unknownField(m)
		}
	}
}

// unknownField tells of a field that is not used.
func (r *reader) unknownField(m *jsontree.Member) {
	if slices.Contains(unusedFields, m.Key) {
		return
	}
	if why, ok := ignoredFields[m.Key]; ok {
		r.problem(false, m.At, "", "%s is not heeded: %s", m.Key, why)
		return
	}
	if hint, ok := requiredFields[m.Key]; ok {
		r.refuse(m.At, hint, "%s in a definition does not work here, and it is not used without", m.Key)
		return
	}
	r.problem(false, m.At, "", "there is no field %.60q: it is not heeded", m.Key)
}

func (r *reader) text(m *jsontree.Member, to *string) {
	if m.Value.Kind != jsontree.Text {
		r.refuse(m.Value.At, "put it into quotes", "%s must be a text, not %s", m.Key, m.Value.Show())
		return
	}
	*to = strings.TrimSpace(m.Value.Text)
}

// tools reads a list of tools: with commas in between, or of YAML. nil is all.
func (r *reader) tools(m *jsontree.Member, may bool) []string {
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
					names = append(names, r.tool(at, m.Key, name, may)...)
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
				r.refuse(n.At, "", "%s: %s is no name of a tool", m.Key, n.Show())
			}
		}
	default:
		r.refuse(v.At, "write Read, Grep", "%s must be a list of tools, not %s", m.Key, v.Show())
	}
	if slices.Contains(names, "*") {
		r.d.ToolRules = nil
		return nil
	}
	if may { // a tool that is named as a whole, too, is not narrowed
		r.d.ToolRules = slices.DeleteFunc(r.d.ToolRules, func(rule string) bool { return whole[strings.TrimSuffix(rule[:strings.Index(rule, "(")], " ")] })
	}
	if names == nil && may {
		names = []string{} // none
	}
	return names
}

// names reads a list of names: with commas in between, or of YAML.
func (r *reader) names(m *jsontree.Member) []string {
	v := &m.Value
	list := v.Items
	if v.Kind == jsontree.Text {
		list = []jsontree.Node{*v}
	} else if v.Kind != jsontree.List {
		r.refuse(v.At, "write names", "%s must be a list, not %s", m.Key, v.Show())
	}
	var names []string
	for i := range list {
		if list[i].Kind != jsontree.Text {
			r.refuse(list[i].At, "", "%s: %s is no name", m.Key, list[i].Show())
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

// tool reads the name of one tool.
func (r *reader) tool(at int, key, name string, may bool) []string {
	bare, scope, scoped := strings.Cut(name, "(")
	switch {
	case bare == "Task" || bare == "Agent":
		if may {
			r.problem(false, at, "", "%s: sub-agents start no others, so %s is left out", key, name)
		}
		return nil
	case scoped && may && (&policy.Limit{Rules: []string{name}}).CheckRules("") == nil:
		r.d.ToolRules = append(r.d.ToolRules, name)
		return []string{bare}
	case scoped:
		r.refuse(at, "name "+bare+" here, and put "+name+" into permissions of settings", "%s: %s: a definition cannot narrow a tool to %q", key, name, strings.TrimSuffix(scope, ")"))
		return nil
	case name == "*" && !may:
		r.refuse(at, "", "%s: * would leave it without tools", key)
		return nil
	}
	return []string{name}
}
