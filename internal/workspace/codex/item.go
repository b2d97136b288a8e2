package codex

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/workspace/lineio"
	"github.com/holdfast-dev/holdfast/internal/workspace/toolqueue"
	"github.com/holdfast-dev/holdfast/transcript"
)

// ignored has the item types that the driver does not need.
var ignored = map[string]bool{
	"userMessage": true, "hookPrompt": true, "subAgentActivity": true, "functionCallOutput": true, "sleep": true,
}

// item handles a started or completed item. Of a sub-agent's items it handles only tool uses,
// because they may need permission.
func (r *run) item(it *item, ownThread, whole bool) error {
	if ignored[it.Type] {
		return nil
	}
	if ownThread && !whole {
		if err := r.uses.Advance(r.printedBy); err != nil {
			return err
		}
	}
	if name, input, ok := r.use(it); ok {
		return r.used(it, name, input, ownThread, whole)
	}
	if !ownThread || !whole {
		return nil
	}
	switch it.Type {
	case "agentMessage", "plan":
		r.lastText = it.Text
		return r.uses.Emit(toolqueue.Text(it.Text)...)
	case "reasoning":
		r.uses.Think(strings.Join(append(it.Summary, texts(it.Content)...), "\n\n"))
	case "contextCompaction":
		return r.uses.Notice("the agent has compacted its own transcript")
	case "enteredReviewMode", "exitedReviewMode":
		return r.uses.Emit(toolqueue.Text(it.Review)...)
	default:
		return r.uses.NoticeOnce("unknown item type: " + lineio.Truncate(it.Type, 80))
	}
	return nil
}

// texts returns the strings of a list and skips other elements.
func texts(raw json.RawMessage) []string {
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list) // anything but a list has no texts
	var out []string
	for _, e := range list {
		var s string
		if json.Unmarshal(e, &s) == nil && s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (r *run) printedBy(u *toolqueue.Use) string {
	if t := r.output[u.ID]; t != nil {
		return t.text
	}
	return ""
}

// used handles a tool use that has started or ended.
func (r *run) used(it *item, name string, input any, ownThread, whole bool) error {
	if it.ID == "" {
		return r.uses.Notice("tool use without an id: " + name)
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return r.uses.Notice("invalid tool use: " + err.Error())
	}
	r.uses.AddUse(&toolqueue.Use{ID: it.ID, Name: name, Input: raw, Sub: !ownThread})
	if !whole {
		return nil
	}
	u := r.uses.Use(it.ID)
	if u.Detached() {
		return r.uses.Notice(fmt.Sprintf("background task ended (%s): %s", it.ID, outcome(it)))
	}
	content, isError := result(it)
	delete(r.output, it.ID)
	return r.uses.Result(it.ID, content, isError)
}

// use converts an item that is a tool use to the names and arguments of Claude Code's tools.
func (r *run) use(it *item) (name string, input any, ok bool) {
	switch it.Type {
	case "commandExecution":
		return "Bash", r.command(it.Command, it.Cwd), true
	case "fileChange":
		return "apply_patch", patch(it.Changes), true
	case "mcpToolCall":
		return "mcp__" + it.Server + "__" + it.Tool, object(it.Arguments), true
	case "dynamicToolCall":
		return cmp.Or(it.Tool, "tool"), object(it.Arguments), true
	case "collabAgentToolCall":
		return "Agent", map[string]any{"action": it.Tool, "prompt": it.Prompt}, true
	case "webSearch":
		return "WebSearch", map[string]any{"query": it.Query, "action": it.Action}, true
	case "imageView":
		return "Read", map[string]any{"file_path": it.Path}, true
	case "imageGeneration":
		return "ImageGeneration", map[string]any{}, true
	}
	return "", nil, false
}

// command returns the arguments of the Bash tool for a command: the script that the shell runs, and
// the folder if it is not the turn's.
func (r *run) command(line, cwd string) map[string]any {
	in := map[string]any{"command": script(line)}
	if cwd != "" && cwd != r.turn.Dir {
		in["cwd"] = cwd
	}
	return in
}

func patch(changes []change) map[string]any {
	list := []map[string]any{}
	for _, c := range changes {
		e := map[string]any{"path": c.Path, "kind": c.Kind.Type, "diff": c.Diff}
		if c.Kind.Move != "" {
			e["move_to"] = c.Kind.Move
		}
		list = append(list, e)
	}
	return map[string]any{"changes": list}
}

// object returns a tool's arguments as a JSON object, because the guards expect one.
func object(raw json.RawMessage) any {
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return map[string]any{}
	case raw[0] != '{':
		return map[string]any{"input": raw}
	}
	return raw
}

// result returns the result of a tool use.
func result(it *item) (content []transcript.Part, isError bool) {
	isError = it.Status == "failed" || it.Status == "declined"
	switch it.Type {
	case "commandExecution":
		text := ""
		if it.Output != nil {
			text = *it.Output
		}
		if it.Exit != nil && *it.Exit != 0 {
			text = strings.TrimSuffix(text, "\n") + fmt.Sprintf("\nexit code %d", *it.Exit)
		}
		return toolqueue.Text(strings.TrimPrefix(cmp.Or(text, outcome(it)), "\n")), isError
	case "mcpToolCall", "dynamicToolCall":
		if it.Error != nil {
			return toolqueue.Text(it.Error.text()), true
		}
		var r struct {
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(it.Result, &r) == nil {
			content = toolqueue.Content(r.Content)
		}
		return content, isError
	case "collabAgentToolCall":
		if len(it.States) > 0 {
			return toolqueue.Text(string(it.States)), isError
		}
	}
	return toolqueue.Text(outcome(it)), isError
}

// outcome describes in a few words how a tool use ended.
func outcome(it *item) string {
	if it.Exit != nil {
		return fmt.Sprintf("exit code %d", *it.Exit)
	}
	return cmp.Or(it.Status, "done")
}
