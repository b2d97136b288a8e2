package team_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/tool/team"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

func ExampleNew() {
	m, err := scripted.New([]byte(`
steps:
  - {when: {user: beans}, tool_uses: [{tool: Agent, input: {description: dig, prompt: Dig the bed., name: ann}}]}
  - {when: {told: Dig the bed}, text: The bed is dug.}
  - {when: {told: is idle}, text: Ann is done.}
  - {when: {tool: Agent}, text: Ann works.}
`), nil)
	if err != nil {
		log.Fatal(err)
	}
	t := team.New(nil)
	subs, err := agent.NewSubagents(&agent.SubagentOptions{Named: t.Join, Resumed: t.Resume})
	if err != nil {
		log.Fatal(err)
	}
	tools, err := t.Tools()
	if err != nil {
		log.Fatal(err)
	}
	registry, err := tool.NewRegistry(append(tools, subs.Tool())...)
	if err != nil {
		log.Fatal(err)
	}
	lead, err := agent.New(m, &agent.Options{Sessions: session.New(memory.New(), nil), Tools: registry, Subagents: subs})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = lead.Close() }()
	for e, err := range lead.Work(context.Background(), transcript.Text{Text: "Grow beans."}) {
		if err != nil {
			log.Fatal(err)
		}
		if r, ok := e.(event.Result); ok {
			fmt.Println(strings.HasSuffix(r.Text, "Ann is done."))
		}
	}
	// Output: true
}
