package vendoragent

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/holdfast-dev/holdfast/policy"
)

// fields has the arguments of a tool, keyed by their exact names. A decoder that also accepts
// "Command" as "command" could check a different call than the agent makes.
type fields map[string]json.RawMessage

func readFields(input json.RawMessage) (fields, error) {
	f := fields{}
	if len(input) == 0 {
		return f, nil
	}
	if err := json.Unmarshal(input, &f); err != nil {
		return nil, errors.New("the arguments are not a JSON object")
	}
	return f, nil
}

// text returns an argument that is a string, or "" if it is missing.
func (f fields) text(name string) (string, error) {
	raw, ok := f[name]
	if !ok || string(raw) == "null" {
		return "", nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("%s: want a string", name)
	}
	return s, nil
}

// display returns an argument of any type as text that the approver can read.
func (f fields) display(name string) string {
	if s, err := f.text(name); err == nil {
		return s
	}
	return string(f[name])
}

// readOnlyTools has the tools that change nothing and access no resource with a name.
var readOnlyTools = map[string]bool{
	"TodoWrite": true, "TodoRead": true, "WebSearch": true, "ToolSearch": true,
	"TaskList": true, "TaskGet": true, "TaskOutput": true, "BashOutput": true,
	"ListMcpResourcesTool": true, "ReadMcpResourceTool": true, "ExitPlanMode": true, "EnterPlanMode": true,
	"AskUserQuestion": true,
}

// parallelTools has the tools whose calls a vendor agent may run in parallel.
var parallelTools = map[string]bool{
	"Read": true, "Glob": true, "Grep": true, "LS": true, "NotebookRead": true, "WebFetch": true, "WebSearch": true,
	"Task": true, "Agent": true, "TaskList": true, "TaskGet": true, "TaskOutput": true, "BashOutput": true,
}

// requests returns what a use of the agent's tool would access, with the paths of the host. An
// error means that the arguments are invalid. It is returned to the agent.
func (p PathMap) requests(tool string, input json.RawMessage) ([]policy.Request, error) {
	f, err := readFields(input)
	if err != nil {
		return nil, err
	}
	switch tool {
	case "Bash", "PowerShell":
		return p.command(f)
	case "Write":
		return p.file(policy.OpWrite, f, "file_path", added(f.display("content")))
	case "Edit":
		return p.file(policy.OpWrite, f, "file_path", removed(f.display("old_string"))+added(f.display("new_string")))
	case "apply_patch":
		return p.patch(f)
	case "MultiEdit":
		return p.file(policy.OpWrite, f, "file_path", f.display("edits"))
	case "NotebookEdit":
		return p.file(policy.OpWrite, f, "notebook_path", added(f.display("new_source")))
	case "Read":
		return p.file(policy.OpRead, f, "file_path", "")
	case "NotebookRead":
		return p.file(policy.OpRead, f, "notebook_path", "")
	case "Glob":
		return p.glob(f)
	case "Grep", "LS":
		return p.file(policy.OpRead, f, "path", "")
	case "WebFetch":
		return connectRequests(f)
	}
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		return []policy.Request{{Operation: policy.OpMCP, Resource: strings.Replace(rest, "__", "/", 1)}}, nil
	}
	return []policy.Request{{Resource: tool, ReadOnly: readOnlyTools[tool]}}, nil
}

func (p PathMap) command(f fields) ([]policy.Request, error) {
	line, err := f.text("command")
	switch {
	case err != nil:
		return nil, err
	case strings.TrimSpace(line) == "":
		return nil, errors.New("command must not be empty")
	case strings.ContainsRune(line, 0):
		return nil, errors.New("command must not contain a NUL byte")
	}
	folder, err := p.folder(f)
	if err != nil {
		return nil, err
	}
	cwd, _ := p.Host(folder)
	return []policy.Request{{Operation: policy.OpCommand, Resource: p.Command(line), Cwd: cwd}}, nil
}

func (p PathMap) file(op policy.Operation, f fields, field, shown string) ([]policy.Request, error) {
	name, err := f.text(field)
	switch {
	case err != nil:
		return nil, err
	case name == "" && field == "path":
		name = p.Work
	case name == "":
		return nil, fmt.Errorf("%s must not be empty", field)
	case strings.ContainsRune(name, 0):
		return nil, fmt.Errorf("%s must not contain a NUL byte", field)
	}
	r := policy.Request{Operation: op, ReadOnly: op == policy.OpRead, Display: shown}
	var named string
	if r.Resource, named = p.Locate(name); named != r.Resource {
		r.NamedPath = named
	}
	return []policy.Request{r}, nil
}

// glob returns the request for the folder in which a pattern begins. For example, "/etc/*.conf"
// accesses /etc, whatever the path argument is.
func (p PathMap) glob(f fields) ([]policy.Request, error) {
	pattern, err := f.text("pattern")
	if err != nil {
		return nil, err
	}
	folder, err := f.text("path")
	if err != nil {
		return nil, err
	}
	if i := strings.IndexAny(pattern, `*?[{\`); i >= 0 {
		if strings.Contains(pattern[i:], "..") { // it may lead anywhere
			pattern = "/"
		} else {
			pattern = pattern[:strings.LastIndexByte(pattern[:i], '/')+1]
		}
	}
	if !path.IsAbs(pattern) {
		pattern = folder + "/" + pattern
		if folder == "" {
			pattern = p.Work + pattern
		}
	}
	b, err := json.Marshal(pattern)
	if err != nil {
		return nil, err
	}
	return p.file(policy.OpRead, fields{"path": b}, "path", "")
}

func connectRequests(f fields) ([]policy.Request, error) {
	address, err := f.text("url")
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("url: want a URL with a host")
	}
	return []policy.Request{{Operation: policy.OpConnect, Resource: u.Hostname(), ReadOnly: true}}, nil
}

// shownLines is the maximum number of lines of a change that the approver sees.
const shownLines = 200

func added(text string) string   { return prefixed("+ ", text) }
func removed(text string) string { return prefixed("- ", text) }

func prefixed(mark, text string) string {
	if text == "" {
		return ""
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	more := len(lines) - shownLines
	if more > 0 {
		lines = lines[:shownLines]
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(mark + l + "\n")
	}
	if more > 0 {
		fmt.Fprintf(&b, "… %d more lines\n", more)
	}
	return b.String()
}

// hostPathProblem returns the reason why a tool use cannot work although it is allowed: it names a host path
// that has another name in the container, or that does not exist there.
func (p PathMap) hostPathProblem(tool string, input json.RawMessage) string {
	var field string
	switch tool {
	case "NotebookEdit", "NotebookRead":
		field = "notebook_path"
	case "Glob", "Grep", "LS":
		field = "path"
	case "Read", "Write", "Edit", "MultiEdit":
		field = "file_path"
	default:
		return ""
	}
	f, err := readFields(input)
	if err != nil {
		return ""
	}
	name, err := f.text(field)
	if err != nil || name == "" || name[0] != '/' {
		return ""
	}
	if _, known := p.Host(name); known {
		return ""
	}
	if at, ok := p.Inside(name); ok {
		return fmt.Sprintf("%s is not visible in the sandbox under this name; use %s", name, at)
	}
	return ""
}
