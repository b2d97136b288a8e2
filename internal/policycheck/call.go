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

// toolField says what a tool accesses and which field of its input names it.
type toolField struct {
	op            policy.Operation
	fields        []string // names of the input field; the first one that is present counts
	readOnly      bool
	defaultsToCwd bool   // default: the current folder
	defaultValue  string // default value
	person        bool   // only the user decides

	mainField string // the main field of a tool that has no field for what it accesses
	// requests, if not nil, returns the requests for the whole input.
	requests func(Call) ([]policy.Request, error)
}

// toolFields lists the tools whose requests follow from their input alone: those of this program,
// and those of the Open Agent SDK and Claude Code that are subject to the same rules. Other tools
// are evaluated by name, as tools that may change something.
var toolFields = map[string]toolField{
	"Read":         {op: policy.OpRead, fields: []string{"file_path"}, readOnly: true},
	"Glob":         {op: policy.OpRead, fields: []string{"path"}, readOnly: true, defaultsToCwd: true},
	"Grep":         {op: policy.OpRead, fields: []string{"path"}, readOnly: true, defaultsToCwd: true},
	"LS":           {op: policy.OpRead, fields: []string{"path"}, readOnly: true, defaultsToCwd: true},
	"Write":        {op: policy.OpWrite, fields: []string{"file_path"}},
	"Edit":         {op: policy.OpWrite, fields: []string{"file_path"}},
	"MultiEdit":    {op: policy.OpWrite, fields: []string{"file_path"}},
	"NotebookEdit": {op: policy.OpWrite, fields: []string{"notebook_path", "file_path"}},
	"Bash":         {op: policy.OpCommand, fields: []string{"command"}},
	"Exec":         {op: policy.OpExec, mainField: "program", requests: Call.runProgramRequests},
	"WebFetch":     {op: policy.OpConnect, fields: []string{"url"}, readOnly: true},
	"WebSearch":    {op: policy.OpConnect, readOnly: true, mainField: "query", requests: Call.searchRequests},

	worktree.EnterTool: {mainField: "name", requests: Call.enterWorktreeRequests}, worktree.ExitTool: {mainField: "action", requests: Call.leaveWorktreeRequests},
	mcp.ListResources: {mainField: "server", requests: Call.readServerRequests}, mcp.ReadResource: {requests: Call.readServerRequests},

	"AskUserQuestion": {readOnly: true, person: true}, "ExitPlanMode": {person: true, mainField: "plan"}, "EnterPlanMode": {readOnly: true},
	"Agent": {fields: []string{"subagent_type"}, defaultValue: agent.GeneralPurpose.Name, readOnly: true},
	"Skill": {fields: []string{"skill"}, readOnly: true}, "TeamCreate": {readOnly: true}, "TeamDelete": {readOnly: true}, "SendMessage": {readOnly: true},
	"AskUser": {readOnly: true}, "CronList": {readOnly: true}, "LSP": {readOnly: true},
	"TaskCreate": {readOnly: true, mainField: "subject"}, "TaskUpdate": {readOnly: true, mainField: "taskId"}, "TodoWrite": {readOnly: true}, "TaskGet": {readOnly: true, mainField: "taskId"}, "TaskList": {readOnly: true},
	"TaskOutput": {readOnly: true, mainField: "task_id"}, "TaskStop": {readOnly: true, mainField: "task_id"},
	"ToolSearch": {readOnly: true}, "pause_for_human": {readOnly: true},
}

// Call is a tool call that is evaluated but not run.
type Call struct {
	Tool  string
	Input json.RawMessage // an object, or nil
	Cwd   string          // absolute, without links
	Home  string          // the user's home folder, for "~"; may be ""

	Search string // the address of the search engine; "" is the default
}

// Requests returns what the call would access, as the tool itself would report it. It resolves
// links in the file system and opens no file.
func (c Call) Requests() ([]policy.Request, error) {
	if c.Tool == "" {
		return nil, errors.New("the call names no tool")
	}
	r := policy.Request{Tool: c.Tool, Input: c.Input}
	if server, name, ok := mcpTool(c.Tool); ok {
		r.Operation, r.Resource = policy.OpMCP, server+"/"+name
		return []policy.Request{r}, nil
	}
	t := toolFields[c.Tool]
	if t.requests != nil {
		return c.inputRequests(t)
	}
	r.Operation, r.ReadOnly, r.Person = t.op, t.readOnly, t.person
	if t.fields == nil { // it names only itself
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

// value returns the input field that names what is accessed.
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
				case strings.EqualFold(key, field): // some decoders accept it
					return fmt.Errorf("unknown field; want %s", field)
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
		case *s == "" && !t.defaultsToCwd:
			return "", fmt.Errorf("input: %s is empty", field)
		default:
			return *s, nil
		}
	}
	if t.defaultsToCwd || t.defaultValue != "" {
		return t.defaultValue, nil
	}
	return "", fmt.Errorf("the input of %s has no %s", c.Tool, t.fields[0])
}

// path makes a path canonical: absolute, without dots and links. The result named is the path as
// given, if it contained links.
func (c Call) path(value string) (plain, named string, err error) {
	switch {
	case strings.ContainsRune(value, 0):
		return "", "", errors.New("the path contains a NUL byte")
	case value == "~" || strings.HasPrefix(value, "~/"):
		if c.Home == "" {
			return "", "", errors.New("cannot expand ~: no home folder")
		}
		value = c.Home + value[1:]
	case !filepath.IsAbs(value):
		value = filepath.Join(c.Cwd, value)
	}
	value = filepath.Clean(value)
	plain = settings.Resolve(value)
	if plain != value && (within(c.Cwd, value) || !within(c.Cwd, plain)) {
		named = value // not set if only the path of the session's folder contains links
	}
	return plain, named, nil
}

func within(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// mcpTool splits the name of an MCP tool: mcp__server__tool.
func mcpTool(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}

// MakeInput builds a tool's input from the value of its main field.
func MakeInput(tool, value string) (json.RawMessage, error) {
	t := toolFields[tool]
	if t.fields != nil {
		t.mainField = t.fields[0]
	}
	if t.mainField == "" {
		return nil, fmt.Errorf("the input of %s must be a JSON object", tool)
	}
	return json.Marshal(map[string]string{t.mainField: value})
}

// NeedsInput reports whether a call of the tool requires an input.
func NeedsInput(tool string) bool {
	t := toolFields[tool]
	return t.fields != nil && !t.defaultsToCwd && t.defaultValue == ""
}

// inputRequests returns the requests of a tool that derives them from its whole input, completed as
// in the agent loop.
func (c Call) inputRequests(t toolField) ([]policy.Request, error) {
	list, err := t.requests(c)
	for i := range list {
		r := &list[i]
		r.Tool, r.Input, r.ReadOnly = c.Tool, c.Input, r.ReadOnly || t.readOnly
	}
	return list, err
}

// decode decodes fields of the input into the given pointers.
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
				return fmt.Errorf("unknown field; want %s", field)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("input: %w", err)
	}
	return nil
}

// searchRequests returns what WebSearch connects to.
func (c Call) searchRequests() ([]policy.Request, error) {
	at, err := web.TargetOf(cmp.Or(c.Search, web.BraveURL))
	return []policy.Request{{Operation: policy.OpConnect, Resource: at}}, err
}

// enterWorktreeRequests returns the git command that creates a worktree.
func (c Call) enterWorktreeRequests() ([]policy.Request, error) {
	var name string
	if err := c.decode(map[string]any{"name": &name}); err != nil {
		return nil, err
	}
	r, err := worktree.EnterRequest(c.Cwd, name)
	return []policy.Request{r}, err
}

// leaveWorktreeRequests returns the git command that removes the folder's worktree.
func (c Call) leaveWorktreeRequests() ([]policy.Request, error) {
	var action string
	var discard bool
	if err := c.decode(map[string]any{"action": &action, "discard_changes": &discard}); err != nil {
		return nil, err
	}
	r, err := worktree.ExitRequest(c.Cwd, action, discard)
	return []policy.Request{r}, err
}

// readServerRequests returns what is read from an MCP server. Without a name, every running server
// is listed.
func (c Call) readServerRequests() ([]policy.Request, error) {
	var server, uri string
	if err := c.decode(map[string]any{"server": &server, "uri": &uri}); err != nil {
		return nil, err
	}
	switch {
	case c.Tool == mcp.ReadResource && (server == "" || uri == ""):
		return nil, fmt.Errorf("the input of %s has no server or no uri", c.Tool)
	case c.Tool == mcp.ReadResource:
		return []policy.Request{mcp.ReadRequest(c.Tool, server, uri)}, nil
	case server == "":
		return []policy.Request{{Operation: policy.OpMCP, Resource: "resources"}}, nil
	}
	return []policy.Request{mcp.ReadRequest(c.Tool, server, "resources")}, nil
}

// runProgramRequests returns the program's file and its command line.
func (c Call) runProgramRequests() ([]policy.Request, error) {
	var program string
	var args []string
	if err := c.decode(map[string]any{"program": &program, "args": &args}); err != nil {
		return nil, err
	}
	r, err := shell.ExecRequest(program, args, c.Cwd, os.Getenv("PATH"))
	return []policy.Request{r}, err
}
