package acp

import (
	"encoding/json"
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"net/url"
	"path"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/holdfast-dev/holdfast/internal/workspace/toolqueue"
	"github.com/holdfast-dev/holdfast/transcript"
)

// call is a tool call with everything that the agent has reported about it so far.
type call struct {
	callFields
	content []content
}

// take adds the fields of an update to the call. Fields that the update does not have keep their
// values.
func (c *call) take(u *callFields, list json.RawMessage) {
	set := func(to *string, s string) {
		if s != "" {
			*to = s
		}
	}
	c.ID = u.ID
	set(&c.Title, u.Title)
	set(&c.ToolKind, u.ToolKind)
	set(&c.Status, u.Status)
	set(&c.Meta.Claude.Tool, u.Meta.Claude.Tool)
	set(&c.Meta.Claude.Parent, u.Meta.Claude.Parent)
	if u.Locations != nil {
		c.Locations = u.Locations
	}
	if len(u.Input) > 0 && string(u.Input) != "null" {
		c.Input = u.Input
	}
	if len(u.Output) > 0 && string(u.Output) != "null" {
		c.Output = u.Output
	}
	var pieces []content
	if len(list) > 0 && json.Unmarshal(list, &pieces) == nil && pieces != nil {
		c.content = pieces
	}
}

// arguments has the tool's own arguments, keyed by their exact names.
type arguments map[string]json.RawMessage

func (a arguments) text(names ...string) string {
	for _, n := range names {
		var s string
		if json.Unmarshal(a[n], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// toolUse converts a tool call to the tool name and arguments that Claude Code would use.
func (c *call) toolUse() (name string, input any) {
	var args arguments
	if json.Unmarshal(c.Input, &args) != nil {
		args = nil
	}
	if t := c.Meta.Claude.Tool; t != "" && args != nil {
		return t, c.Input
	}
	switch sdk.ToolKind(c.ToolKind) {
	case sdk.ToolKindExecute:
		if line := commandOf(args); line != "" {
			in := map[string]any{"command": line}
			if cwd := args.text("cwd", "workdir", "directory"); path.IsAbs(cwd) {
				in["cwd"] = cwd
			}
			return "Bash", in
		}
	case sdk.ToolKindEdit, sdk.ToolKindDelete, sdk.ToolKindMove:
		if name, input := c.changeUse(args); name != "" {
			return name, input
		}
	case sdk.ToolKindRead, sdk.ToolKindSearch:
		return c.readOnlyUse(args)
	case sdk.ToolKindFetch:
		if u := requestedURL(args.text("url", "uri"), c.Title); u != "" {
			return "WebFetch", map[string]any{"url": u}
		}
	}
	return c.kindUse()
}

// kindUse converts a call about which only its kind is known.
func (c *call) kindUse() (name string, input any) {
	in := map[string]any{"title": c.Title}
	if len(c.Input) > 0 {
		in["input"] = c.Input
	}
	if paths := c.paths(nil); len(paths) > 0 {
		in["paths"] = paths
	}
	if c.ToolKind == "" {
		return string(sdk.ToolKindOther), in
	}
	return c.ToolKind, in
}

// commandOf returns the command line in a tool's arguments, or "".
func commandOf(args arguments) string {
	if line := args.text("command", "cmd"); line != "" {
		return line
	}
	var words []string
	if json.Unmarshal(args["command"], &words) != nil || len(words) == 0 {
		return ""
	}
	if len(words) == 3 && (words[1] == "-lc" || words[1] == "-c") && slices.Contains(shells, path.Base(words[0])) {
		return words[2]
	}
	for i, w := range words {
		if !plainWord().MatchString(w) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

var (
	shells    = []string{"bash", "sh", "zsh", "dash"}
	plainWord = lazyregexp.Must(`^[A-Za-z0-9_./@%+=:,-]+$`)
)

// paths returns the paths that a call names, in the call itself and in its arguments.
func (c *call) paths(args arguments) []string {
	var all []string
	add := func(p string) {
		if p != "" && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	for _, d := range c.content {
		if d.Type == "diff" {
			add(d.Path)
		}
	}
	for _, l := range c.Locations {
		add(l.Path)
	}
	add(args.text("file_path", "abs_path", "absolute_path", "path", "filePath", "notebook_path", "source", "from"))
	return all
}

// changeUse converts a call that changes files. The name is "" if it is unknown which files.
func (c *call) changeUse(args arguments) (name string, input any) {
	paths := c.paths(args)
	target := args.text("destination", "dest", "to", "new_path", "newPath")
	if target != "" && !slices.Contains(paths, target) {
		paths = append(paths, target)
	}
	var diffs []content
	for _, d := range c.content {
		if d.Type == "diff" && d.Path != "" {
			diffs = append(diffs, d)
		}
	}
	switch {
	case len(paths) == 0:
		return "", nil
	case len(paths) == 1 && len(diffs) == 1 && diffs[0].Old == nil:
		return "Write", map[string]any{"file_path": paths[0], "content": diffs[0].New}
	case len(paths) == 1 && len(diffs) == 1:
		return "Edit", map[string]any{"file_path": paths[0], "old_string": *diffs[0].Old, "new_string": diffs[0].New}
	case len(paths) == 1 && len(diffs) == 0 && c.ToolKind == string(sdk.ToolKindEdit):
		if text := args.text("content", "contents", "new_text"); text != "" {
			return "Write", map[string]any{"file_path": paths[0], "content": text}
		}
		if before, after := args.text("old_string"), args.text("new_string"); before != "" {
			return "Edit", map[string]any{"file_path": paths[0], "old_string": before, "new_string": after}
		}
	}
	kind := "update"
	if c.ToolKind == string(sdk.ToolKindDelete) {
		kind = "delete"
	}
	changes := []map[string]any{}
	for _, p := range paths {
		var shown strings.Builder
		for _, d := range diffs {
			if d.Path == p {
				shown.WriteString(diffText(d))
			}
		}
		changes = append(changes, map[string]any{"path": p, "kind": kind, "diff": shown.String()})
	}
	return "apply_patch", map[string]any{"changes": changes}
}

func diffText(d content) string {
	var b strings.Builder
	lines := func(mark, text string) {
		for l := range strings.Lines(text) {
			b.WriteString(mark + strings.TrimSuffix(l, "\n") + "\n")
		}
	}
	if d.Old != nil {
		lines("- ", *d.Old)
	}
	lines("+ ", d.New)
	return b.String()
}

// readOnlyUse converts a call that reads or searches files.
func (c *call) readOnlyUse(args arguments) (name string, input any) {
	paths := c.paths(args)
	pattern := args.text("pattern", "query", "regex", "glob")
	switch {
	case c.ToolKind == string(sdk.ToolKindRead) && len(paths) == 1:
		return "Read", map[string]any{"file_path": paths[0]}
	case c.ToolKind == string(sdk.ToolKindRead) && len(paths) == 0:
		return c.kindUse()
	}
	in := map[string]any{"pattern": pattern, "title": c.Title}
	if len(paths) > 0 {
		in["path"] = commonDir(paths)
	}
	return "Grep", in
}

// commonDir returns the deepest folder that contains all paths. For one path it returns that path.
func commonDir(paths []string) string {
	common := path.Clean(paths[0])
	for _, p := range paths[1:] {
		for p = path.Clean(p); common != "/" && common != "." && p != common && !strings.HasPrefix(p, common+"/"); {
			common = path.Dir(common)
		}
	}
	return common
}

var urlPattern = lazyregexp.Must(`https?://[^\s<>"')]+`)

// requestedURL returns the URL that a fetch call requests. It is taken from the arguments or else from
// the title.
func requestedURL(given, title string) string {
	if given == "" {
		given = urlPattern().FindString(title)
	}
	if u, err := url.Parse(given); err != nil || u.Hostname() == "" {
		return ""
	}
	return given
}

// result returns the result of a call.
func (c *call) result() (parts []transcript.Part, isError bool) {
	for _, p := range c.content {
		switch p.Type {
		case "content":
			parts = append(parts, toolqueue.Block(p.Content))
		case "diff":
			parts = append(parts, toolqueue.Text("changed "+p.Path)...)
		}
	}
	if len(parts) == 0 && len(c.Output) > 0 {
		var text string
		if json.Unmarshal(c.Output, &text) == nil {
			parts = toolqueue.Text(text)
		} else if parts = toolqueue.Content(c.Output); len(parts) == 0 {
			parts = []transcript.Part{transcript.Structured{Value: c.Output}}
		}
	}
	if len(parts) == 0 {
		parts = toolqueue.Text(c.Status)
	}
	return parts, c.Status == string(sdk.ToolCallStatusFailed)
}
