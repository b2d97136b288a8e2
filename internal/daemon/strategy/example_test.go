package strategy_test

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
)

const review = `
name: review
version: "1"
agents:
  writer:  {model: anthropic/claude-sonnet-4-6, tools: [Read, Edit]}
  checker: {type: command, command: go test ./...}
flow:
  cycle:
    steps: [writer]
    observer: checker
    cycles: 3
    breakCycleSignals: [ok]
    breakCycleSignalMatch: first-line
`

func ExampleParse() {
	s, err := strategy.Parse("review.yaml", []byte(review))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range s.Agents {
		fmt.Printf("%s %s %q %q\n", a.Name, a.Type, a.Tools, a.Command)
	}
	fmt.Println(string(s.Flow.Tree()))
	// Output:
	// writer llm ["Read" "Edit"] ""
	// checker command [] "go test ./..."
	// {"type":"cycle","name":"cycle","steps":[{"agent":"writer"}],"cycles":3,"observer":"checker","breakCycleSignals":["ok"],"breakCycleSignalMatch":"first-line"}
}

func ExampleFlow_Run() {
	s, err := strategy.Parse("review.yaml", []byte(review))
	if err != nil {
		fmt.Println(err)
		return
	}
	verdicts := map[string]string{"r1.observer": "FAIL\none test", "r2.observer": "ok\tall tests"}
	out, err := s.Flow.Run(context.Background(), "add a flag", func(_ context.Context, st strategy.Step) (strategy.Output, error) {
		fmt.Printf("%-11s %s <- %q\n", st.Path, st.Agent, st.Input)
		if said, ok := verdicts[st.Path]; ok {
			return strategy.Output{Text: said}, nil
		}
		return strategy.Output{Text: "written in " + st.Path}, nil
	})
	fmt.Println(out.Text, err)
	// Output:
	// r1.0        writer <- "add a flag"
	// r1.observer checker <- "written in r1.0"
	// r2.0        writer <- "FAIL\none test"
	// r2.observer checker <- "written in r2.0"
	// written in r2.0 <nil>
}

func ExampleSingle() {
	s := strategy.Single(strategy.Agent{Name: "main", Type: strategy.LLM, Model: "ollama/qwen3"})
	fmt.Println(string(s.Source))
	// Output:
	// {"name":"main","version":"1","agents":{"main":{"type":"llm","model":"ollama/qwen3"}},"flow":{"type":"sequential","name":"main","steps":[{"agent":"main"}]}}
}
