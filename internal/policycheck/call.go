package policycheck

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/tool/mcp"
	"github.com/holdfast-dev/holdfast/internal/tool/shell"
	"github.com/holdfast-dev/holdfast/internal/tool/web"
	"github.com/holdfast-dev/holdfast/internal/tool/worktree"
	"github.com/holdfast-dev/holdfast/policy"
)

// toolField says what a tool touches and which field of its input names it.
type toolField struct {
	op       policy.Operation
	fields   []string // the first one that is there counts
	readOnly bool
	here     bool   // without the field it is the current folder
	usual    string // and without the field it is this
	person   bool   // only a person decides

	main string // the field that people mean, of a tool of which no field names what is touched
	// requests, when not nil, says what is touched from the whole input.
	requests func(Call) ([]policy.Request, error)
}

// toolFields lists the tools whose requests can be told from their input alone: those
// that there are, and those of seed 000 and Claude Code whose calls people judge
// with the same rules. Others are judged by their name, as tools that may change
// something.
var toolFields = map[string]toolField{
	"Read":         {op: policy.OpRead, fields: []string{"file_path"}, readOnly: true},
	"Glob":         {op: policy.OpRead, fields: []string{"path"}, readOnly: true, here: true},
	"Grep":         {op: policy.OpRead, fields: []string{"path"}, readOnly: true, here: true},
	"LS":           {op: policy.OpRead, fields: []string{"path"}, readOnly: true, here: true},
	"Write":        {op: policy.OpWrite, fields: []string{"file_path"}},
	"Edit":         {op: policy.OpWrite, fields: []string{"file_path"}},
	"MultiEdit":    {op: policy.OpWrite, fields: []string{"file_path"}},
	"NotebookEdit": {op: policy.OpWrite, fields: []string{"notebook_path", "file_path"}},
	"Bash":         {op: policy.OpCommand, fields: []string{"command"}},
	"Exec":         {op: policy.OpExec, main: "program", requests: Call.runsProgram},
	"WebFetch":     {op: policy.OpConnect, fields: []string{"url"}, readOnly: true},
	"WebSearch":    {op: policy.OpConnect, readOnly: true, main: "query", requests: Call.searches},

	worktree.EnterTool: {main: "name", requests: Call.entersWorktree}, worktree.ExitTool: {main: "action", requests: Call.leavesWorktree},
	mcp.ListResources: {main: "server", requests: Call.readsServer}, mcp.ReadResource: {requests: Call.readsServer},

	"AskUserQuestion": {readOnly: true, person: true}, "ExitPlanMode": {person: true, main: "plan"}, "EnterPlanMode": {readOnly: true},
	"Agent": {fields: []string{"subagent_type"}, usual: agent.GeneralPurpose.Name, readOnly: true},
	"Skill": {fields: []string{"skill"}, readOnly: true}, "TeamCreate": {readOnly: true}, "TeamDelete": {readOnly: true}, "SendMessage": {readOnly: true},
	"AskUser": {readOnly: true}, "CronList": {readOnly: true}, "LSP": {readOnly: true},
	"TaskCreate": {readOnly: true, main: "subject"}, "TaskUpdate": {readOnly: true, main: "taskId"}, "TodoWrite": {readOnly: true}, "TaskGet": {readOnly: true, main: "taskId"}, "TaskList": {readOnly: true},
	"TaskOutput": {readOnly: true, main: "task_id"}, "TaskStop": {readOnly: true, main: "task_id"},
	"ToolSearch": {readOnly: true}, "pause_for_human": {readOnly: true},
}

// Call is a tool call that is judged and not run.
type Call struct {
	Tool  string
	Input json.RawMessage // an object, or nil
	Cwd   string          // absolute, without links
	Home  string          // of the user, for "~"; may be ""

	Search string // the address of the search engine; "" is the default one
}

// Requests says what the call would touch, the way the tool itself would say it.
// It looks at links in the file system and opens nothing.
func (c Call) Requests() ([]policy.Request, error) {
	if c.Tool == "" {
		return nil, errors.New("it names no tool")
	}
	r := policy.Request{Tool: c.Tool, Input: c.Input}
	if server, name, ok := mcpTool(c.Tool); ok {
		r.Operation, r.Resource = policy.OpMCP, server+"/"+name
		return []policy.Request{r}, nil
	}
	t := toolFields[c.Tool]
	if t.requests != nil {
		return c.filled(t)
	}
	r.Operation, r.ReadOnly, r.Person = t.op, t.readOnly, t.person
	if t.fields == nil { // it names nothing but itself
		r.Resource = c.Tool
		return []policy.Request{r}, nil
	}
	value, err := t.value(c)
	if err != nil {
		return nil, err
	}
	switch t.op {
	case policy.OpCommand:
		r.Resource, r.Cwd = value, c.Cwd
	case policy.OpConnect:
		r.Resource, err = web.TargetOf(value)
	case "":
		r.Resource = value
	default:
		r.Resource, r.NamedPath, err = c.path(value)
	}
	return []policy.Request{r}, err
}

// value reads the field of the input that names what is touched.
func (t toolField) value(c Call) (string, error) {
	var found [2]*string // by the order of t.fields
	if len(c.Input) > 0 {
		err := jsontree.Members(c.Input, func(key string, value []byte) error {
			for i, field := range t.fields {
				switch {
				case key == field:
					s, err := jsontree.Unquote(value)
					found[i] = &s
					return err
				case strings.EqualFold(key, field): // some decoders take it for the field
					return fmt.Errorf("it is written %s", field)
				}
			}
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("input: %w", err)
		}
	}
	for i, field := range t.fields {
		switch s := found[i]; {
		case s == nil:
		case *s == "" && !t.here:
			return "", fmt.Errorf("input: %s is empty", field)
		default:
			return *s, nil
		}
	}
	if t.here || t.usual != "" {
		return t.usual, nil
	}
	return "", fmt.Errorf("the input of %s has no %s", c.Tool, t.fields[0])
}

// path makes a path canonical: absolute, without dots and links. named is how it
// was named when there were links.
func (c Call) path(value string) (plain, named string, err error) {
	switch {
	case strings.ContainsRune(value, 0):
		return "", "", errors.New("the path holds a NUL")
	case value == "~" || strings.HasPrefix(value, "~/"):
		if c.Home == "" {
			return "", "", errors.New("the path starts with ~, and there is no home folder")
		}
		value = c.Home + value[1:]
	case !filepath.IsAbs(value):
		value = filepath.Join(c.Cwd, value)
	}
	value = filepath.Clean(value)
	plain = settings.Resolve(value)
	if plain != value && (within(c.Cwd, value) || !within(c.Cwd, plain)) {
		named = value // and not when only the way to the session's folder is another
	}
	return plain, named, nil
}

func within(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// mcpTool takes the name of an MCP tool apart: mcp__server__tool.
func mcpTool(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}

// MakeInput makes a tool's input of its main field, as people write it.
func MakeInput(tool, value string) (json.RawMessage, error) {
	t := toolFields[tool]
	if t.fields != nil {
		t.main = t.fields[0]
	}
	if t.main == "" {
		return nil, fmt.Errorf("the input of %s must be a JSON object", tool)
	}
	return json.Marshal(map[string]string{t.main: value})
}

// NeedsInput reports whether a call of a tool makes no sense without an input.
func NeedsInput(tool string) bool {
	t := toolFields[tool]
	return t.fields != nil && !t.here && t.usual == ""
}

// filled are the requests of a tool that makes them of its whole input, as the loop would
// fill them in.
func (c Call) filled(t toolField) ([]policy.Request, error) {
	list, err := t.requests(c)
	for i := range list {
		r := &list[i]
		r.Tool, r.Input, r.ReadOnly = c.Tool, c.Input, r.ReadOnly || t.readOnly
	}
	return list, err
}

// decode reads fields of the input, each into what it points to.
func (c Call) decode(fields map[string]any) error {
	if len(c.Input) == 0 {
		return nil
	}
	err := jsontree.Members(c.Input, func(key string, value []byte) error {
		for field, into := range fields {
			switch {
			case key == field:
				return json.Unmarshal(value, into)
			case strings.EqualFold(key, field):
				return fmt.Errorf("it is written %s", field)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("input: %w", err)
	}
	return nil
}

// searches is what WebSearch connects to.
func (c Call) searches() ([]policy.Request, error) {
	at, err := web.TargetOf(cmp.Or(c.Search, web.BraveURL))
	return []policy.Request{{Operation: policy.OpConnect, Resource: at}}, err
}

// entersWorktree is the git command that makes a worktree.
func (c Call) entersWorktree() ([]policy.Request, error) {
	var name string
	if err := c.decode(map[string]any{"name": &name}); err != nil {
		return nil, err
	}
	r, err := worktree.EnterRequest(c.Cwd, name)
	return []policy.Request{r}, err
}

// leavesWorktree is the git command that removes the worktree that the folder is in.
func (c Call) leavesWorktree() ([]policy.Request, error) {
	var action string
	var discard bool
	if err := c.decode(map[string]any{"action": &action, "discard_changes": &discard}); err != nil {
		return nil, err
	}
	r, err := worktree.ExitRequest(c.Cwd, action, discard)
	return []policy.Request{r}, err
}

// readsServer is what is read of an MCP server. Without its name every one that runs is
// listed.
func (c Call) readsServer() ([]policy.Request, error) {
	var server, uri string
	if err := c.decode(map[string]any{"server": &server, "uri": &uri}); err != nil {
		return nil, err
	}
	switch {
	case c.Tool == mcp.ReadResource && (server == "" || uri == ""):
		return nil, fmt.Errorf("the input of %s has no server, or no uri", c.Tool)
	case c.Tool == mcp.ReadResource:
		return []policy.Request{mcp.Reads(c.Tool, server, uri)}, nil
	case server == "":
		return []policy.Request{{Operation: policy.OpMCP, Resource: "resources"}}, nil
	}
	return []policy.Request{mcp.Reads(c.Tool, server, "resources")}, nil
}

// runsProgram is the file of the program, and the line that it is run with.
func (c Call) runsProgram() ([]policy.Request, error) {
	var program string
	var args []string
	if err := c.decode(map[string]any{"program": &program, "args": &args}); err != nil {
		return nil, err
	}
	r, err := shell.ExecRequest(program, args, c.Cwd, os.Getenv("PATH"))
	return []policy.Request{r}, err
}
