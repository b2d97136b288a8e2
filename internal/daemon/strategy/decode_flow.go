package strategy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/spelling"
)

var flowKeys = map[kind][]string{
	sequence:  {"type", "name", "description", "steps"},
	broadcast: {"type", "name", "description", "steps", "separator"},
	cycle: {
		"type", "name", "description", "steps",
		"cycles", "observer", "breakCycleSignals", "breakCycleSignalMatch",
	},
}

// kindOf returns the kind of flow that a word in a strategy means. CommaAgents uses "sequential";
// "sequence" is an alias.
func kindOf(word string) (kind, bool) {
	if word == "sequence" {
		return sequence, true
	}
	k := kind(word)
	_, ok := flowKeys[k]
	return k, ok
}

// root reads the flow of a strategy. A single agent is a sequence with one step.
func (d *decoder) root(n *jsontree.Node) *node {
	f := d.step(n, "flow", 0)
	if d.err == nil && f.kind == step {
		f = &node{kind: sequence, name: string(sequence), steps: []*node{f}}
	}
	return f
}

// step reads the name of an agent, {agent: …} or a flow.
func (d *decoder) step(n *jsontree.Node, key string, depth int) *node {
	if d.nodes++; d.nodes > maxSteps {
		d.fail(n.At, key, "", "the flow has more than %d steps", maxSteps)
	}
	if depth > maxNest {
		d.fail(n.At, key, "", "flows are nested deeper than %d", maxNest)
	}
	if d.err != nil {
		return nil
	}
	o := object{d: d, node: n, key: key}
	if n.Kind == jsontree.Text {
		return &node{kind: step, name: n.Text, agent: d.agentNamed(n, key)}
	}
	if n.Kind != jsontree.Object {
		d.fail(n.At, key, "", "must be the name of an agent or a flow, not %s", n.Show())
		return nil
	}
	if _, ok := o.member("agent"); ok {
		return d.agentStep(n, key)
	}
	if t := o.memberOf("type", jsontree.Text); t != nil {
		k, ok := kindOf(t.Text)
		if !ok {
			d.fail(t.At, o.path("type"), "", "%q is not one of sequential, cycle, broadcast", clip(t.Text))
			return nil
		}
		return d.flow(k, n, key, depth)
	}
	return d.shortFlow(o, depth)
}

// shortFlow reads a flow in the short form {cycle: {steps: …}} or {sequential: [a, b]}.
func (d *decoder) shortFlow(o object, depth int) *node {
	const hint = "write {agent: NAME}, {type: cycle, steps: […]} or {cycle: {steps: […]}}; the types are sequential, cycle and broadcast"
	if d.err != nil {
		return nil
	}
	if len(o.node.Members) != 1 {
		d.fail(o.node.At, o.key, hint, "type is missing")
		return nil
	}
	m := &o.node.Members[0]
	k, ok := kindOf(m.Key)
	if !ok {
		if near := spelling.Nearest(m.Key, []string{"sequential", "sequence", "cycle", "broadcast", "agent", "type"}); near != "" {
			d.fail(m.At, o.key, "did you mean "+near+"?", "unknown key %q", clip(m.Key))
		}
		d.fail(m.At, o.key, hint, "type is missing")
		return nil
	}
	key := o.path(m.Key)
	if m.Value.Kind == jsontree.List {
		return d.flow(k, &jsontree.Node{
			Kind: jsontree.Object, At: m.At, Members: []jsontree.Member{{Key: "steps", At: m.At, Value: m.Value}},
		}, key, depth)
	}
	if t := (object{d: d, node: &m.Value, key: key}); m.Value.Kind == jsontree.Object {
		if typ, ok := t.member("type"); ok {
			d.fail(typ.At, t.path("type"), "remove one of them", "%s already gives the type of the flow", m.Key)
		}
	}
	return d.flow(k, &m.Value, key, depth)
}

func (d *decoder) agentStep(n *jsontree.Node, key string) *node {
	o := d.object(n, key, []string{"agent", "name", "description"}, nil)
	a := o.memberOf("agent", jsontree.Text)
	if a == nil {
		return nil
	}
	s := &node{kind: step, name: a.Text, agent: d.agentNamed(a, o.path("agent")), description: o.text("description")}
	if _, ok := o.member("name"); ok {
		s.name = o.checkLine("name", o.requiredText("name", ""))
	}
	return s
}

// agentNamed returns the name of an existing agent.
func (d *decoder) agentNamed(n *jsontree.Node, key string) string {
	if d.agents[n.Text] {
		return n.Text
	}
	d.fail(n.At, key, spelling.Hint(n.Text, slices.Sorted(maps.Keys(d.agents)), "the agents are"), "unknown agent %q", clip(n.Text))
	return ""
}

func (d *decoder) flow(k kind, n *jsontree.Node, key string, depth int) *node {
	o := d.object(n, key, flowKeys[k], refusedFlow)
	if d.err != nil {
		return nil
	}
	f := &node{kind: k, name: string(k), description: o.text("description")}
	if _, ok := o.member("name"); ok {
		f.name = o.checkLine("name", o.requiredText("name", ""))
	}
	list, ok := o.member("steps")
	if !ok {
		d.fail(n.At, key, "", "steps is missing")
		return nil
	}
	f.steps = d.steps(list, o.path("steps"), depth)
	if k == cycle {
		d.cycleEnd(f, o)
	}
	if k == broadcast {
		f.separator = "\n\n"
		if _, ok := o.member("separator"); ok {
			f.separator = o.text("separator")
		}
	}
	d.checkDistinct(f, n.At, key)
	return f
}

func (d *decoder) steps(n *jsontree.Node, key string, depth int) []*node {
	switch {
	case n.Kind != jsontree.List:
		d.fail(n.At, key, "", "must be a list, not %s", n.Show())
	case len(n.Items) == 0:
		d.fail(n.At, key, "", "a flow needs at least one step")
	}
	var steps []*node
	for i := range n.Items {
		if d.err != nil {
			return nil
		}
		steps = append(steps, d.step(&n.Items[i], fmt.Sprintf("%s[%d]", key, i), depth+1))
	}
	return steps
}

// cycleEnd reads the end conditions of a cycle.
func (d *decoder) cycleEnd(f *node, o object) {
	if f.kind != cycle || d.err != nil {
		return
	}
	if n := o.memberOf("observer", jsontree.Text); n != nil {
		f.observer = d.agentNamed(n, o.path("observer"))
	}
	f.signals, f.match = o.textList("breakCycleSignals"), matchSubstring
	_, given := o.member("breakCycleSignals")
	switch {
	case given && len(f.signals) == 0:
		n, _ := o.member("breakCycleSignals")
		d.fail(n.At, o.path("breakCycleSignals"), "omit it to use "+quoted(defaultSignals), "the list is empty")
	case !given && f.observer != "":
		f.signals = defaultSignals
	}
	if n := o.memberOf("breakCycleSignalMatch", jsontree.Text); n != nil {
		if f.match = signalMatch(n.Text); !slices.Contains(signalMatches, f.match) {
			d.fail(n.At, o.path("breakCycleSignalMatch"), "", "%q is not one of substring, first-line, any-line, exact", clip(n.Text))
		}
		if len(f.signals) == 0 {
			d.fail(n.At, o.path("breakCycleSignalMatch"), "set an observer or breakCycleSignals", "the cycle has no signals to match")
		}
	}
	d.checkSignals(f, o)
	d.cycleCount(f, o)
}

// checkSignals rejects signals that no text can contain.
func (d *decoder) checkSignals(f *node, o object) {
	if f.match == matchSubstring {
		return
	}
	for i, s := range f.signals {
		if strings.TrimSpace(s) != s || f.match != matchExact && strings.ContainsAny(s, "\n") {
			n, _ := o.member("breakCycleSignals")
			d.fail(n.Items[i].At, fmt.Sprintf("%s[%d]", o.path("breakCycleSignals"), i), "remove the surrounding blanks and line breaks: signals are compared with trimmed lines", "%q can never match with %s", clip(s), f.match)
		}
	}
}

// cycleCount reads the number of cycles. By default, a cycle with an observer runs until a signal,
// and a cycle without an observer runs once.
func (d *decoder) cycleCount(f *node, o object) {
	n, ok := o.member("cycles")
	switch {
	case !ok && f.observer != "":
		f.cycles = endless
	case !ok:
		f.cycles = 1
		if len(f.signals) > 0 {
			d.fail(o.node.At, o.key, "set cycles: N, or Infinity", "breakCycleSignals has no effect in a cycle that runs once")
		}
	case n.Kind == jsontree.Text && n.Text == "Infinity":
		f.cycles = endless
	case n.Kind == jsontree.Number:
		f.cycles = o.number("cycles", n)
	default:
		d.fail(n.At, o.path("cycles"), "", `must be a whole number from 1, or "Infinity", not %s`, n.Show())
	}
	if f.cycles == endless && len(f.signals) == 0 {
		d.fail(o.node.At, o.key, "add an observer, or add breakCycleSignals that the last step can output", "the cycle could never end")
	}
}

// checkDistinct rejects a broadcast in which the same agent would run twice at the same time.
func (d *decoder) checkDistinct(f *node, at int, key string) {
	if f.kind != broadcast || d.err != nil {
		return
	}
	in := map[string]int{}
	for i, s := range f.steps {
		for _, name := range (&Flow{root: s}).Agents() {
			if first, found := in[name]; found {
				d.fail(at, key, "define a second agent and use it in one of the steps", "agent %s is in steps %d and %d, which run at the same time", name, first, i)
			}
			in[name] = i
		}
	}
}

func quoted(list []string) string {
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", s)
	}
	return b.String()
}
