// Package strategy describes what a run runs: agents, and the flow that their words
// take. A strategy is a YAML or JSON file.
//
//	name: review
//	version: "1"
//	agents:
//	  writer:  {type: llm, model: anthropic/claude-sonnet-4-6, systemPrompt: …, tools: [Read, Edit]}
//	  checker: {type: command, command: go test ./...}
//	  person:  {type: user, prompt: "good enough?"}
//	flow:
//	  cycle:
//	    steps: [writer, checker]
//	    observer: person
//	    cycles: 3
//
// [Parse] reads it strictly; [Flow.Run] runs it over a function that makes one step,
// and knows nothing of agents. Each step has a path that does not depend on time, so
// that a flow that was interrupted is run again from its start with the steps that
// are on record answered from the record.
package strategy

import (
	"context"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/transcript"
)

// Type is what an agent is.
type Type string

// The types of agents.
const (
	User    Type = "user"    // a person: its words are the input of a client
	LLM     Type = "llm"     // a model with tools; "model" is the same
	Command Type = "command" // a command line, held and judged like any
)

// Strategy is what a file says.
type Strategy struct {
	Name        string
	Version     string
	Description string
	Agents      []Agent // in the order of the file
	Flow        Flow
	Source      json.RawMessage // canonical JSON of all of it
	Path        string          // of the file, absolute; "" when there was none
}

// Agent describes one agent.
type Agent struct {
	Name string // [a-z0-9][a-z0-9_-]*, at most 40
	Type Type

	Model        string   // LLM: PROVIDER/MODEL; "" is the daemon's default
	SystemPrompt string   // LLM: instead of the default one
	Tools        []string // LLM: only these; nil is all
	MaxSteps     int      // LLM: model calls of one step; 0 is no bound
	Command      string   // Command: the line
	Stdin        bool     // Command: the step's input is its standard input
	Prompt       string   // User: what the person is asked
}

// Step asks an agent to answer an input.
type Step struct {
	Path  string // unique in the flow and the same every time: "0", "1.r2.0", "2.observer"
	Name  string // for people: the agent's name, or that of the flow's step
	Agent string
	Input string
}

// Output is what came of a step.
type Output struct {
	Text   string
	Finish string
	Usage  transcript.Usage
	Cost   float64
}

// Do makes a step. It is called once for each path; concurrently in a broadcast.
type Do func(ctx context.Context, s Step) (Output, error)

// Flow is a node of the tree: an agent's name, a sequence, a cycle or a broadcast.
type Flow struct{}

// Run runs the flow on an input and returns the last output. An error of a step is
// wrapped with the names of the flow and of the step. Usage and Cost are of all steps.
func (f *Flow) Run(ctx context.Context, input string, do Do) (Output, error) { panic("not yet") }

// Tree is the flow as JSON, for strategy_started's flowTree.
func (f *Flow) Tree() json.RawMessage { panic("not yet") }

// Parse reads a strategy; name is told in errors, and its ending says which language
// it is (.yaml, .yml, .json; otherwise JSON is tried first). Errors wrap ErrInvalid and
// say where: a line, or a path of keys.
func Parse(name string, b []byte) (*Strategy, error) { panic("not yet") }

// Load reads a file, at most 1 MiB.
func Load(path string) (*Strategy, error) { panic("not yet") }

// Single is the strategy of a plain run: one agent.
func Single(a Agent) *Strategy { panic("not yet") }
