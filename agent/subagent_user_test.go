package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/transcript"
)

// The user stops one sub-agent: the other one and the parent continue, and the parent reads who did
// it.
func TestStopSubagent(t *testing.T) {
	var h *subagentEnv
	slow := play(t, step{text: "half", during: func(ctx context.Context) {
		for _, m := range h.children() {
			if m.Title != "a task" {
				continue
			}
			if working, err := h.parent.StopSubagent(ctx, m.ID); !working || err != nil {
				t.Errorf("working %v, %v", working, err)
			}
		}
		<-ctx.Done()
	}})
	h = newSubagentEnv(t, agent.Options{}, []step{{uses: []transcript.ToolUse{delegate("c1", "slow", "begin", "")}}, {text: "I continue"}},
		map[string]*fake{"slow": slow}, kind("slow"))
	res, err := h.parent.Prompt(t.Context(), "begin")
	if err != nil || res.Text != "I continue" {
		t.Fatalf("%+v, %v", res, err)
	}
	id := h.children()[0].ID
	if text, isError := resultText(t, h.parent, "c1"); !isError || !strings.HasPrefix(text, "The user stopped the sub-agent.") || !strings.Contains(text, id) {
		t.Errorf("the parent reads %q, error %v", text, isError)
	}
	if working, err := h.parent.StopSubagent(t.Context(), id); working || err != nil || h.parent.Subagent(id) != nil {
		t.Errorf("a sub-agent that has ended works: %v, %v", working, err)
	}
}

// The user sends a message to one sub-agent. Its model reads it with its next call.
func TestSteerSubagent(t *testing.T) {
	var h *subagentEnv
	scout := play(t, step{uses: []transcript.ToolUse{use("x1", "look", `{}`)}, during: func(ctx context.Context) {
		if err := h.parent.Subagent(h.children()[0].ID).Submit(ctx, transcript.Text{Text: "look behind the tree"}); err != nil {
			t.Error(err)
		}
	}}, step{text: "found it"})
	h = newSubagentEnv(t, agent.Options{Tools: registry(t, hasContent("look", "a tree"))},
		[]step{{uses: []transcript.ToolUse{delegate("c1", "scout", "find it", "")}}, {text: "thanks"}},
		map[string]*fake{"scout": scout}, kind("scout"))
	if _, err := h.parent.Prompt(t.Context(), "begin"); err != nil {
		t.Fatal(err)
	}
	items := scout.items(&scout.asked[1])
	if last := items[len(items)-1]; last.Text() != "look behind the tree" {
		t.Errorf("the sub-agent reads %q", last.Text())
	}
	for _, e := range h.parent.Snapshot().Items {
		if strings.Contains(e.Text(), "behind the tree") {
			t.Errorf("the parent reads %q", e.Text())
		}
	}
}
