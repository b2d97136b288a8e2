package strategy

import "encoding/json"

// Flow is a tree of sequences, cycles and broadcasts, nested to any depth, with agents at the
// leaves. The zero Flow does nothing and returns its input.
type Flow struct{ root *node }

// SingleStep reports whether the flow is only one step.
func (f Flow) SingleStep() bool {
	r := f.root
	return r != nil && r.kind == sequence && len(r.steps) == 1 && r.steps[0].kind == step
}

// kind is the kind of a node.
type kind string

const (
	step      kind = "agent"
	sequence  kind = "sequential" // each step gets the output of the previous one
	cycle     kind = "cycle"      // a repeated sequence
	broadcast kind = "broadcast"  // all steps get the same input and run at the same time
)

// endless is the number of rounds of a cycle that ends only with a signal.
const endless = -1

// defaultSignals are the signals of a cycle that has an observer but no signals in the file.
var defaultSignals = []string{"end cycle", "stop", "done"}

type node struct {
	kind        kind
	name        string
	description string
	agent       string  // of a step
	steps       []*node // of a flow

	cycles   int    // the number of rounds of a cycle: at least 1, or endless
	observer string // of a cycle: an agent, or ""
	signals  []string
	match    signalMatch

	separator string // of a broadcast
}

// Agents returns the agents in the order of their first use.
func (f *Flow) Agents() []string {
	var names []string
	seen := map[string]bool{}
	add := func(name string) {
		if name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	f.root.walk(func(n *node) { add(n.agent) }, func(n *node) { add(n.observer) })
	return names
}

// walk visits the nodes of a flow. It calls before for each node before it visits the node's steps,
// and after when it has visited them.
func (n *node) walk(before, after func(*node)) {
	if n == nil {
		return
	}
	before(n)
	for _, s := range n.steps {
		s.walk(before, after)
	}
	after(n)
}

// shape is the JSON form of a node, as in CommaAgents' strategies, with defaults filled in.
type shape struct {
	Agent       string      `json:"agent,omitempty"`
	Type        kind        `json:"type,omitempty"`
	Name        string      `json:"name,omitempty"`
	Description string      `json:"description,omitempty"`
	Steps       []shape     `json:"steps,omitempty"`
	Cycles      any         `json:"cycles,omitempty"`
	Observer    string      `json:"observer,omitempty"`
	Signals     []string    `json:"breakCycleSignals,omitempty"`
	Match       signalMatch `json:"breakCycleSignalMatch,omitempty"`
	Separator   *string     `json:"separator,omitempty"`
}

func (n *node) shape() shape {
	s := shape{Type: n.kind, Name: n.name, Description: n.description}
	for _, inner := range n.steps {
		s.Steps = append(s.Steps, inner.shape())
	}
	switch n.kind {
	case step:
		s.Type, s.Agent = "", n.agent
		if n.name == n.agent {
			s.Name = ""
		}
	case cycle:
		s.Observer, s.Signals = n.observer, n.signals
		if len(n.signals) > 0 {
			s.Match = n.match
		}
		s.Cycles = n.cycles
		if n.cycles == endless {
			s.Cycles = "Infinity"
		}
	case broadcast:
		s.Separator = &n.separator
	}
	return s
}

// Tree returns the flow as JSON for the field flowTree of strategy_started. Each node is an object
// with type, name and steps as in a strategy file, and with the defaults filled in.
func (f *Flow) Tree() json.RawMessage {
	if f.root == nil {
		return json.RawMessage("{}")
	}
	return compact(f.root.shape())
}
