package feed

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/deltas"
)

// Limits of what is kept for subscribers that join later.
const (
	maxText   = 2 << 20  // of an answer, in bytes; of a longer one, nothing is kept
	maxOutput = 64 << 10 // of the output of a call, in bytes; the last ones are kept
)

// live is what the agents of a session write now.
//
//	model_started ─► deltas … ─► model_finished ─► the record with the answer
//	 begins it          kept        complete          removes it
type live struct {
	answers []*answer
	outputs []*output
}

// answer is the answer of an agent so far.
type answer struct {
	agent    string
	began    event.ModelStarted
	text     deltas.Text
	complete bool // the next record contains it, or says that the call failed
}

// output is the output of a running call so far.
type output struct {
	agent string
	of    event.SubagentEvent // without its event, for a call of a sub-agent
	use   string
	text  []byte
}

// published applies a published event.
func (l *live) published(agent string, e event.Event) {
	switch d := e.(type) {
	case event.ModelStarted:
		l.drop(agent)
		l.answers = append(l.answers, &answer{agent: agent, began: d})
	case event.TextDelta, event.ThinkingDelta, event.ToolInputDelta:
		if a := l.answer(agent); a != nil {
			if a.text.Add(d); a.text.Size() > maxText {
				l.drop(agent)
			}
		}
	case event.ModelFinished:
		if a := l.answer(agent); a != nil {
			a.complete = true
		}
	case event.ModelRetrying, event.ModelSwitched:
		l.drop(agent)
	case event.ToolOutputDelta, event.ToolFinished:
		l.output(agent, event.SubagentEvent{}, d)
	case event.SubagentEvent:
		inner := d.Event
		d.Event = nil
		l.output(agent, d, inner)
	}
}

// appended applies an append to the log of the session.
func (l *live) appended() {
	l.answers = slices.DeleteFunc(l.answers, func(a *answer) bool { return a.complete })
}

func (l *live) answer(agent string) *answer {
	for _, a := range l.answers {
		if a.agent == agent {
			return a
		}
	}
	return nil
}

func (l *live) drop(agent string) {
	l.answers = slices.DeleteFunc(l.answers, func(a *answer) bool { return a.agent == agent })
}

// output adds output to a call of the agent, or of its sub-agent of. The end of a call removes it.
func (l *live) output(agent string, of event.SubagentEvent, e event.Event) {
	if ended, ok := e.(event.ToolFinished); ok {
		l.outputs = slices.DeleteFunc(l.outputs, func(o *output) bool { return o.use == ended.Use && o.of.Session == of.Session })
		return
	}
	d, ok := e.(event.ToolOutputDelta)
	if !ok {
		return
	}
	i := slices.IndexFunc(l.outputs, func(o *output) bool { return o.use == d.Use && o.of.Session == of.Session })
	if i < 0 {
		i = len(l.outputs)
		l.outputs = append(l.outputs, &output{agent: agent, of: of, use: d.Use})
	}
	o := l.outputs[i]
	o.text = append(o.text, d.Text...)
	if len(o.text) > 2*maxOutput {
		o.text = append(o.text[:0], o.tail()...)
	}
}

// tail returns the kept part of the output.
func (o *output) tail() string {
	return strings.ToValidUTF8(string(o.text[max(0, len(o.text)-maxOutput):]), "")
}

// texts returns deltas that contain everything so far.
func (l *live) texts() []*Event {
	var list []*Event
	add := func(agent string, d event.Event) {
		list = append(list, &Event{Kind: Delta, Agent: agent, Delta: d})
	}
	for _, a := range l.answers {
		add(a.agent, a.began)
		for _, d := range a.text.Events() {
			add(a.agent, d)
		}
	}
	for _, o := range l.outputs {
		var d event.Event = event.ToolOutputDelta{Use: o.use, Text: o.tail()}
		if o.of.Session != "" {
			of := o.of
			of.Event = d
			d = of
		}
		add(o.agent, d)
	}
	return list
}
