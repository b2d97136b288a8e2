package wire

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/transcript"
)

// ofItem returns the messages of a transcript item: the tool calls of a model answer and then its
// text, the text of a user or of a notification, or tool results.
func ofItem(r Source, e transcript.Encoded) []RunMessage {
	it, err := e.Decode()
	if err != nil {
		return nil
	}
	switch it.Role {
	case transcript.RoleAssistant:
		return ofAssistant(r, &it)
	case transcript.RoleUser, transcript.RoleNotification:
		return ofInput(r, &it)
	case transcript.RoleTool:
		return ofResults(r, &it)
	case transcript.RoleSystem, transcript.RoleDeveloper, transcript.RoleContext:
	}
	return nil
}

func ofAssistant(r Source, it *transcript.Item) []RunMessage {
	var list []RunMessage
	for _, u := range it.ToolUses() {
		call := &StreamToolCall{ToolCallID: u.ID, ToolName: u.Name}
		call.Args, call.Cut = cut(string(u.Input), MaxText)
		list = append(list, streamed(r, call)...)
	}
	m := &AgentOutput{
		AgentName: r.Agent, Model: it.Model, Usage: usageOf(it.Usage), ItemID: it.ID, FinishReason: string(it.Finish),
	}
	m.Text, m.Cut = cut(it.Text(), MaxText)
	m.Thinking, _ = cut(thinking(it), MaxText)
	return append(list, m)
}

func thinking(it *transcript.Item) string {
	var parts []string
	for _, p := range it.Parts {
		if t, ok := p.(transcript.Thinking); ok && t.Text != "" {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func ofInput(r Source, it *transcript.Item) []RunMessage {
	m := &AgentInput{AgentName: r.Agent, Role: string(it.Role), ItemID: it.ID}
	m.Text, m.Cut = cut(content(it.Parts), MaxText)
	list := []RunMessage{m}
	if m.Text == "" {
		list = nil
	}
	// For some providers, tool results are in a user item.
	return append(list, ofResults(r, it)...)
}

func ofResults(r Source, it *transcript.Item) []RunMessage {
	var list []RunMessage
	for _, p := range it.Parts {
		result, ok := p.(transcript.ToolResult)
		if !ok {
			continue
		}
		e := &StreamToolResult{ToolCallID: result.UseID, Status: statusOf(result.IsError)}
		e.Output, e.Cut = cut(content(result.Content), MaxText)
		if result.IsError {
			e.Error = e.Output
		}
		list = append(list, streamed(r, e)...)
	}
	return list
}

// content returns the text of parts, joined with newlines. It describes the parts that are not
// text.
func content(parts []transcript.Part) string {
	var lines []string
	for _, p := range parts {
		switch p := p.(type) {
		case transcript.Text:
			lines = append(lines, p.Text)
		case transcript.Structured:
			lines = append(lines, string(p.Value))
		case transcript.Media:
			lines = append(lines, attachment(cmp.Or(p.MIME, "media"), p.URI, len(p.Data)))
		case transcript.File:
			lines = append(lines, attachment(cmp.Or(p.Name, p.MIME, "file"), p.URI, len(p.Data)))
		}
	}
	return strings.Join(lines, "\n")
}

func attachment(what, uri string, size int) string {
	if uri != "" {
		return fmt.Sprintf("[%s: %s]", what, uri)
	}
	return fmt.Sprintf("[%s: %d bytes]", what, size)
}
