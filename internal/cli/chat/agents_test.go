package chat

import (
	"strings"
	"testing"
)

const twoAgents = `
steps:
  - when: {user: ask them}
    text: I ask two agents.
    tool_uses:
      - {tool: Agent, input: {description: count the files, prompt: part one}}
      - {tool: Agent, input: {description: read the tests, prompt: part two}}
  - {when: {user: part one}, delay: {before: 1h}, text: never}
  - {when: {user: part two}, delay: {before: 1h}, text: never}
  - {when: {tool: Agent}, text: "All is done: {{last_result}}"}
  - {when: {user: once more}, text: Nothing more.}
`

// One sub-agent gets a message, and is stopped, while the others continue. Those that have ended can
// be opened, also after the next turn and in another conversation of the session.
func TestAgents(t *testing.T) {
	x := talk(t, twoAgents, nil)
	x.says("ask them")
	working := func(n int) bool {
		for _, a := range x.u.conv.State().Agents {
			if !a.Ended {
				n--
			}
		}
		return n == 0
	}
	for len(x.u.conv.State().Agents) < 2 || !working(2) {
		x.step()
	}
	x.says("/tell nobody hello")
	x.until("name one of the sub-agents that work: general-purpose, general-purpose-2")
	x.says("/tell general-purpose-2 look there")
	x.until("message to general-purpose: look there")
	x.says("/agents")
	s := x.until("sub-agents")
	for !strings.Contains(s, "working · ") {
		x.step()
		s = x.screen()
	}
	x.press("enter")
	x.until("the other agents continue")
	x.types("message")
	x.press("enter")
	x.until("> /tell general-purpose")
	x.press("ctrl-u")
	x.says("/stop general-purpose-2")
	for !working(1) {
		x.step()
	}
	x.says("/stop general-purpose")
	s = x.until("── ")
	if !strings.Contains(s, "All is done: The user stopped the sub-agent.") || strings.Count(s, "general-purpose was stopped by") != 2 {
		t.Errorf("the screen is\n%s", s)
	}
	x.says("once more")
	x.until("Nothing more.")
	x.says("/agents")
	for s = x.screen(); !strings.Contains(s, "general-purpose-2"); s = x.screen() {
		x.step()
	}
	if strings.Count(s, "failed · ") != 2 {
		t.Errorf("the screen is\n%s", s)
	}
	x.press("enter")
	x.until("▌ part ")
	x.press("esc")
	x.says("/tell general-purpose hello")
	x.until("no sub-agent works")
}
