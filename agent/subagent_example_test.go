package agent_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/tool"
)

func ExampleNewSubagents() {
	m, err := scripted.New([]byte(`
steps:
  - {when: {system: You count}, text: There are three.}
  - {when: {user: how many}, tool_uses: [{tool: Agent, input: {description: count, prompt: Count the files.}}]}
  - {text: "It said: {{last_result}}"}
`), nil)
	if err != nil {
		log.Fatal(err)
	}
	subs, err := agent.NewSubagents(&agent.SubagentOptions{
		Definitions: []agent.Definition{{Name: "counter", Description: "Counts things.", Prompt: "You count."}},
	})
	if err != nil {
		log.Fatal(err)
	}
	registry, err := tool.NewRegistry(subs.Tool())
	if err != nil {
		log.Fatal(err)
	}
	a, err := agent.New(m, &agent.Options{Tools: registry, Subagents: subs})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	res, err := a.Prompt(context.Background(), "how many files are there?")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.TrimSpace(res.Text))
	// Output: It said: There are three.
}
