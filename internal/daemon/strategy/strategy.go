// Package strategy describes what a run executes: the agents, and how the output of one agent flows
// to others. A strategy is a YAML or JSON file.
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
// [Parse] reads it strictly. [Flow.Run] runs it with a function that performs one step; it knows
// nothing about agents. Each step has a path that is the same whenever the flow runs. So an
// interrupted flow can run again from its start: recorded steps return their recorded outputs.
//
// docs/reference/strategies.md describes the file. The package runs no agent and starts no program;
// package internal/daemon/runs does.
package strategy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// ErrInvalid is wrapped by all errors about an invalid strategy.
var ErrInvalid = errors.New("invalid strategy")

// Error says what is wrong with a strategy, and where. It wraps [ErrInvalid].
type Error struct {
	File         string // the name that was passed to Parse or Load
	Line, Column int    // counted from 1, the column in characters; 0 if there is no position
	Key          string // path of keys: "agents.writer.tools[1]"; "" for the whole file
	Detail       string
	Do           string // how to fix the error, or ""
}

func (e *Error) Error() string {
	at := e.File
	if e.Line > 0 {
		at = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
	}
	if at != "" {
		at += ": "
	}
	if e.Key != "" {
		at += e.Key + ": "
	}
	return at + e.Detail
}

// Unwrap returns [ErrInvalid].
func (e *Error) Unwrap() error { return ErrInvalid }

// Hint returns how to fix the error, or "".
func (e *Error) Hint() string { return e.Do }

// Type is the type of an agent.
type Type string

// The types of agents.
const (
	User    Type = "user"    // the user acts as the agent: a client sends the text that the agent returns
	LLM     Type = "llm"     // a model with tools; "model" is the same
	Command Type = "command" // a command line; it runs in the sandbox and the policy checks it like any other command
)

// Strategy is the content of a strategy file.
type Strategy struct {
	Name        string
	Version     string
	Description string
	Agents      []Agent // in the order of the file
	Flow        Flow
	// Source is canonical JSON of the whole strategy. Parse reads it into the same strategy without
	// any other file.
	Source json.RawMessage
	Path   string // absolute path of the file; "" if there is none
}

// Agent returns the agent with this name, or false.
func (s *Strategy) Agent(name string) (Agent, bool) {
	i := slices.IndexFunc(s.Agents, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return Agent{}, false
	}
	return s.Agents[i], true
}

// Agent describes one agent.
type Agent struct {
	Name        string // [a-z0-9][a-z0-9_-]*, at most 40
	Type        Type
	Description string // for people

	Model        string   // LLM: PROVIDER/MODEL; "" is the daemon's default
	SystemPrompt string   // LLM: replaces the default prompt
	Tools        []string // LLM: the tools it may use; nil allows all tools, an empty list allows none
	MaxSteps     int      // LLM: maximum number of model calls of one step; 0 is no limit
	Command      string   // Command: the command line
	Stdin        bool     // Command: the process gets the step's input as its standard input
	Prompt       string   // User: the prompt for the user
}

// Single returns the strategy of a run without a strategy file: a single agent gets the input and
// returns the result. The path of its only step is "0".
func Single(a Agent) *Strategy {
	s := &Strategy{
		Name:    a.Name,
		Version: "1",
		Agents:  []Agent{a},
		Flow:    Flow{root: &node{kind: sequence, name: a.Name, steps: []*node{{kind: step, name: a.Name, agent: a.Name}}}},
	}
	s.Source = s.source()
	return s
}
