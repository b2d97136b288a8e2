package agent_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/transcript"
)

// A kind can name all tools of an MCP server.
func TestKindToolsByServer(t *testing.T) {
	for _, tt := range []struct {
		only, without []string
		want          string
	}{
		{nil, nil, "look mcp__a__x mcp__a__y mcp__ab__x"},
		{[]string{"look", "mcp__a"}, nil, "look mcp__a__x mcp__a__y"},
		{[]string{"mcp__a__*"}, []string{"mcp__a__y"}, "mcp__a__x"},
		{[]string{"mcp__a__y"}, nil, "mcp__a__y"},
		{[]string{"mcp__*", "mcp__", "mcp__c"}, nil, ""},
		{nil, []string{"mcp__a"}, "look mcp__ab__x"},
		{nil, []string{"mcp__*"}, "look"},
	} {
		scout := play(t, step{text: "found it"})
		d := kind("scout")
		d.Tools, d.DisallowedTools = tt.only, tt.without
		h := newSubagentEnv(t, agent.Options{Tools: registry(t, hasContent("look", ""), hasContent("mcp__a__x", ""), hasContent("mcp__a__y", ""), hasContent("mcp__ab__x", ""))},
			[]step{{uses: []transcript.ToolUse{delegate("c1", "scout", "find it", "")}}, {text: "thanks"}},
			map[string]*fake{"scout": scout}, d)
		events(t, h.parent, "begin")
		var got []string
		for _, s := range scout.asked[0].Tools {
			got = append(got, s.Name)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v without %v: %v", tt.only, tt.without, got)
		}
	}
	d := kind("scout")
	d.Servers = []string{"a"}
	if _, err := agent.NewSubagents(&agent.SubagentOptions{Definitions: []agent.Definition{d}}); err == nil || !strings.Contains(err.Error(), "MCP servers") {
		t.Error(err)
	}
}
