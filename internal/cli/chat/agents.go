package chat

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/internal/term/pick"
)

// namedAgent is a sub-agent with the name that the user types. The second agent of a name gets the
// number 2.
type namedAgent struct {
	*conversation.Agent
	name string
}

// agents returns the sub-agents that the conversation has seen, oldest first.
func (u *ui) agents() (list []namedAgent) {
	count := map[string]int{}
	for _, a := range u.conv.Agents() {
		name := cmp.Or(a.Name, a.Use)
		if count[name]++; count[name] > 1 {
			name = fmt.Sprintf("%s-%d", name, count[name])
		}
		list = append(list, namedAgent{a, name})
	}
	return list
}

// openAgents lists the sub-agents, those that work first, and then the newest. One that has ended is
// opened; for one that works the user chooses what to do.
func (u *ui) openAgents(string) {
	u.later(func(ctx context.Context) func() {
		page, err := u.s.Subagents(ctx) // those from before the records that were read
		return func() {
			if err != nil {
				u.fail("agents", err)
				return
			}
			list := u.agents()
			slices.Reverse(list)
			slices.SortStableFunc(list, func(a, b namedAgent) int { return boolInt(a.Ended) - boolInt(b.Ended) })
			for _, m := range page.Items {
				if !slices.ContainsFunc(list, func(a namedAgent) bool { return a.Session == m.ID }) {
					old := &conversation.Agent{
						Session: m.ID, Prompt: cmp.Or(m.Title, m.FirstPrompt), Started: m.CreatedAt, Ended: true, Took: m.UpdatedAt.Sub(m.CreatedAt),
					}
					list = append(list, namedAgent{old, "agent"})
				}
			}
			u.chooseAgent(list)
		}
	})
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (u *ui) chooseAgent(list []namedAgent) {
	var items []pick.Item
	for _, a := range list {
		items = append(items, pick.Item{Text: term.OneLine(a.name), Detail: u.look.Agent(a.Agent, u.now()), Value: a.Session, Preview: func(w, _ int) []string {
			return folded(term.Escape(a.Prompt), w)
		}})
	}
	if len(items) == 0 {
		u.say("there are no sub-agents")
		return
	}
	u.choose("sub-agents", items, func(it pick.Item) {
		i := slices.IndexFunc(list, func(a namedAgent) bool { return a.Session == it.Value })
		if a := list[i]; a.Ended {
			u.openAgent(a)
		} else {
			u.chooseForAgent(a)
		}
	})
}

// chooseForAgent lets the user choose what to do with an agent that works.
func (u *ui) chooseForAgent(a namedAgent) {
	items := []pick.Item{
		{Text: "open", Detail: "everything that it did so far"},
		{Text: "message", Detail: "send it a message: /tell " + term.OneLine(a.name) + " TEXT"},
		{Text: "stop", Detail: "the other agents continue"},
	}
	u.choose(term.OneLine(a.name), items, func(it pick.Item) {
		switch it.Text {
		case "open":
			u.openAgent(a)
		case "message":
			u.box.Set(edit.Entry{Text: "/tell " + a.name + " "})
		case "stop":
			u.stopAgent(a.name)
		}
	})
}

// openAgent shows everything that an agent did.
func (u *ui) openAgent(a namedAgent) {
	u.later(func(ctx context.Context) func() {
		blocks, err := u.s.Blocks(ctx, a.Session)
		return func() {
			if err != nil {
				u.fail(a.name, err)
				return
			}
			u.openBlocks(term.OneLine(a.name), blocks)
		}
	})
}

// tell sends a message to one sub-agent: "AGENT TEXT".
func (u *ui) tell(args string) {
	a, text := u.workingAgent(args)
	switch {
	case a == nil:
	case text == "":
		u.say("usage: /tell " + term.OneLine(a.name) + " TEXT")
	default:
		u.try("tell "+a.name, func(ctx context.Context) error { return u.s.Tell(ctx, a.Session, text) })
	}
}

// stopAgent stops one sub-agent.
func (u *ui) stopAgent(name string) {
	if a, rest := u.workingAgent(name); a != nil && rest == "" {
		u.try("stop "+a.name, func(ctx context.Context) error { return u.s.StopAgent(ctx, a.Session) })
	} else if a != nil {
		u.say("usage: /stop " + term.OneLine(a.name))
	}
}

// workingAgent returns the agent that works and whose name begins the arguments, and what follows the
// name. If there is none, it says which ones work.
func (u *ui) workingAgent(args string) (found *namedAgent, rest string) {
	var names []string
	for _, a := range u.agents() {
		if a.Ended {
			continue
		}
		names = append(names, a.name)
		more, ok := strings.CutPrefix(args, a.name)
		if ok && (more == "" || more[0] == ' ') && (found == nil || len(a.name) > len(found.name)) {
			found, rest = &a, strings.TrimSpace(more)
		}
	}
	switch {
	case found != nil:
	case len(names) == 0:
		u.say("no sub-agent works; a message without /tell is for the agent itself")
	default:
		u.say("name one of the sub-agents that work: " + term.OneLine(strings.Join(names, ", ")))
	}
	return found, rest
}
