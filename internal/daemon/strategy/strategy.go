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
//
// docs/reference/strategies.md describes the file. The package runs no agent and starts no
// program: that is package internal/daemon/runs.
package strategy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// ErrInvalid is what errors of a strategy that cannot be read wrap.
var ErrInvalid = errors.New("invalid strategy")

// Error says what is wrong with a strategy, and where. It wraps [ErrInvalid].
type Error struct {
	File         string // as it was given to Parse or Load
	Line, Column int    // from 1, the column in characters; 0 when there is no place
	Key          string // path of keys: "agents.writer.tools[1]"; "" for the whole
	Detail       string
	Do           string // what to do about it, or ""
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

// Hint is what to do about it, or "".
func (e *Error) Hint() string { return e.Do }

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
	// Source is canonical JSON of all of it: Parse reads it to the same strategy,
	// without any other file.
	Source json.RawMessage
	Path   string // of the file, absolute; "" when there was none
}

// Agent returns the agent of a name, or false.
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
	SystemPrompt string   // LLM: instead of the default one
	Tools        []string // LLM: only these; nil is all, and not nil but empty is none
	MaxSteps     int      // LLM: model calls of one step; 0 is no bound
	Command      string   // Command: the line
	Stdin        bool     // Command: the step's input is its standard input
	Prompt       string   // User: what the person is asked
}

// Single is the strategy of a plain run: one agent, which gets the input and gives
// the result. Its only step has the path "0".
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
