package compose

import (
	"context"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/instructions"
	"github.com/holdfast-dev/holdfast/internal/tool/skills"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// ContextPart is a part of what the next request of a session sends to the model.
type ContextPart struct {
	Name  string
	Bytes int // of text; 0 if it is not known
}

// RequestParts returns what the next request has before the messages: the system prompt, the tools,
// the skills, and each instruction file. It starts no MCP servers; see [ServerParts].
func RequestParts(r *Request) ([]ContextPart, error) {
	s, err := Settings(r)
	if err != nil {
		return nil, err
	}
	style, err := styleText(r.Env, s)
	if err != nil {
		return nil, err
	}
	box, err := tools.DryRun(&tools.Options{Env: r.Env, Settings: s, Spec: r.Spec, Cwd: r.Cwd})
	if err != nil {
		return nil, err
	}
	defer box.Close()
	list := []ContextPart{{"system prompt", len(SystemPrompt(r.Spec, r.Cwd, style))}, {Name: "tools"}, {Name: "skills"}}
	for _, spec := range box.Registry.Specs() {
		if spec.Name == skills.ToolName {
			list[2].Bytes += specSize(spec)
		} else {
			list[1].Bytes += specSize(spec)
		}
	}
	files, done, err := InstructionFiles(r)
	if err != nil {
		return nil, err
	}
	defer done()
	for _, f := range files {
		list = append(list, ContextPart{f.Path, len(f.Text)})
	}
	return list, nil
}

func specSize(s tool.Spec) int { return len(s.Name) + len(s.Description) + len(s.Input) }

// InstructionFiles returns the instruction files that a run reads when it starts. The caller calls
// done.
func InstructionFiles(r *Request) (files []instructions.File, done func(), err error) {
	s, err := Settings(r)
	if err != nil {
		return nil, nil, err
	}
	_, set, done, err := tools.DryRunNotices(&tools.Options{Env: r.Env, Settings: s, Spec: r.Spec, Cwd: r.Cwd})
	if err != nil {
		return nil, nil, err
	}
	if set != nil {
		files = set.Files()
	}
	return files, done, nil
}

// ServerParts starts the approved MCP servers, and returns the size of the tools of each. A server
// that does not answer has the size 0.
func ServerParts(ctx context.Context, r *Request) ([]ContextPart, error) {
	s, err := Settings(r)
	if err != nil {
		return nil, err
	}
	approved := tools.Startable(s.MCPServers)
	if len(approved) == 0 {
		return nil, nil
	}
	c, err := tools.Check(r.Env, s, approved)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	size := map[string]int{}
	for _, t := range c.Client.Tools(ctx) {
		spec := t.Spec()
		server, _, _ := strings.Cut(strings.TrimPrefix(spec.Name, "mcp__"), "__")
		size[server] += specSize(spec)
	}
	var list []ContextPart
	for _, srv := range approved {
		list = append(list, ContextPart{"MCP server " + srv.Name, size[srv.Name]})
	}
	return list, nil
}

// TranscriptParts returns the sizes of messages, of tool calls and of their results.
func TranscriptParts(items []transcript.Encoded) []ContextPart {
	list := []ContextPart{{Name: "messages"}, {Name: "tool calls"}, {Name: "tool results"}}
	for _, e := range items {
		it, err := e.Decode()
		if err != nil {
			list[0].Bytes += len(e.JSON)
			continue
		}
		for _, p := range it.Parts {
			switch p := p.(type) {
			case transcript.ToolUse:
				list[1].Bytes += len(p.Name) + len(p.Input)
			case transcript.ToolResult:
				list[2].Bytes += partsSize(p.Content)
			default:
				list[0].Bytes += partsSize([]transcript.Part{p})
			}
		}
	}
	return list
}

// mediaSize is the size of an image or a document, as text that costs a model as much.
const mediaSize = 1600 * 4

func partsSize(parts []transcript.Part) (n int) {
	for _, p := range parts {
		switch p := p.(type) {
		case transcript.Text:
			n += len(p.Text)
		case transcript.Thinking:
			n += len(p.Text)
		case transcript.Structured:
			n += len(p.Value)
		case transcript.Media, transcript.File:
			n += mediaSize
		}
	}
	return n
}
