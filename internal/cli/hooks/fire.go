package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/runtext"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// hookPrinter records the output of each hook while the hooks run.
type hookPrinter struct {
	hook.Runner
	mu      sync.Mutex
	results map[string]hook.RunResult // by digest
}

func (w *hookPrinter) wrap(r hook.Runner) hook.Runner {
	w.Runner, w.results = r, map[string]hook.RunResult{}
	return w
}

// Run implements [hook.Runner].
func (w *hookPrinter) Run(ctx context.Context, d *hook.Definition, in *hook.Input) (hook.RunResult, error) {
	a, err := w.Runner.Run(ctx, d, in)
	w.mu.Lock()
	w.results[d.Digest] = a
	w.mu.Unlock()
	return a, err
}

// Close closes the wrapped runner.
func (w *hookPrinter) Close() error {
	if c, ok := w.Runner.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// eventDoc is the output of all hooks of one event, in JSON.
type eventDoc struct {
	Event   hook.Event   `json:"event"`
	Hooks   []hookRunDoc `json:"hooks"`
	Outcome outcomeDoc   `json:"outcome"`
}

type hookRunDoc struct {
	record.HookRun
	Output map[string]any `json:"said,omitempty"`
	Notice string         `json:"notice,omitempty"`
}

// outcomeDoc is a hook outcome in JSON, without empty fields.
type outcomeDoc struct {
	Blocked    bool                    `json:"blocked"`
	By         string                  `json:"by,omitempty"`
	Reason     string                  `json:"reason,omitempty"`
	Permission string                  `json:"permission,omitempty"`
	Input      json.RawMessage         `json:"input,omitempty"`
	ToolOutput json.RawMessage         `json:"tool_output,omitempty"`
	Context    []textDoc               `json:"context,omitempty"`
	Notices    []textDoc               `json:"notices,omitempty"`
	Notes      []hook.UserNotification `json:"notifications,omitempty"`
	Updates    []string                `json:"policy,omitempty"`
	Stop       bool                    `json:"stop,omitempty"`
}

type textDoc struct {
	Hook string `json:"by"`
	Text string `json:"text"`
}

// fire runs the hooks of an event and prints their output.
func (w *hookPrinter) fire(ctx context.Context, r *hook.Registry, in hook.Input) eventDoc {
	out := r.Fire(ctx, in)
	d := eventDoc{Event: in.Event, Hooks: []hookRunDoc{}, Outcome: newOutcomeDoc(&out)}
	if out.Ran == nil {
		return d
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, run := range out.Ran.Hooks {
		a := w.results[run.Digest]
		d.Hooks = append(d.Hooks, hookRunDoc{HookRun: run, Output: withoutEmptyFields(a.Output), Notice: a.Notice})
	}
	return d
}

func newOutcomeDoc(out *hook.Outcome) outcomeDoc {
	d := outcomeDoc{Input: out.Input, ToolOutput: out.ToolOutput, Notes: out.Notifications, Stop: out.Stop != nil}
	d.Permission, d.By, d.Reason = out.Permission, out.PermissionHook, out.PermissionReason
	d.Blocked = out.Permission == "deny"
	for _, s := range []*hook.Text{out.Stop, out.Block} {
		if s != nil {
			d.Blocked, d.By, d.Reason = true, s.Hook, s.Text
		}
	}
	texts := func(list []hook.Text) (docs []textDoc) {
		for _, s := range list {
			docs = append(docs, textDoc{s.Hook, s.Text})
		}
		return docs
	}
	d.Context, d.Notices = texts(out.Context), texts(out.Notices)
	for _, u := range out.Updates {
		d.Updates = append(d.Updates, updateText(u))
	}
	return d
}

func updateText(u hook.PermissionUpdate) string {
	if u.Mode != "" {
		return "mode " + u.Mode
	}
	return u.Behavior + " " + strings.Join(u.Rules, ", ")
}

// withoutEmptyFields returns a hook's output without empty fields.
func withoutEmptyFields(o *hook.Output) map[string]any {
	if o == nil {
		return nil
	}
	fields := map[string]any{}
	v := reflect.ValueOf(*o)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			name := v.Type().Field(i).Name
			fields[strings.ToLower(name[:1])+name[1:]] = f.Interface()
		}
	}
	return fields
}

// printFired prints the output of each hook and the merged outcome.
func printFired(p *command.Program, d *eventDoc) {
	t := p.Out.Style
	for _, r := range d.Hooks {
		state := t.Green("ok")
		switch {
		case r.Error != "":
			state = t.Red("failed")
		case r.Effect != "":
			state = t.Yellow(term.Escape(r.Effect))
		}
		if r.Exit != nil {
			state += t.Dim(fmt.Sprintf("  exit %d", *r.Exit))
		}
		p.Out.Line("%s  %s%s", term.Truncate(r.Name, t.Columns()-30), state, t.Dim("  "+term.Elapsed(time.Duration(r.Millis)*time.Millisecond)))
		for _, text := range []string{r.Error, r.Notice} {
			if text != "" {
				p.Out.Line("    %s", term.Escape(term.OneLine(text)))
			}
		}
		if len(r.Output) > 0 {
			if b, err := term.MarshalJSON(r.Output, false); err == nil {
				p.Out.Line("    %s", t.Dim(string(b)))
			}
		}
	}
	printOutcome(p, d.Hooks, &d.Outcome)
}

// printOutcome prints an outcome, except for failures, which were already printed.
func printOutcome(p *command.Program, ran []hookRunDoc, o *outcomeDoc) {
	t := p.Out.Style
	line := func(what, text string) {
		if text != "" {
			p.Out.Line("%s %s", t.Dim(term.Column(what, 8)), term.Escape(term.OneLine(text)))
		}
	}
	verdict := "no hook blocks this"
	switch {
	case o.Blocked:
		verdict = "blocked by " + runtext.HookLabel(o.By)
	case o.Permission != "":
		verdict = o.Permission + " by " + runtext.HookLabel(o.By)
	}
	if o.Reason != "" {
		verdict += ": " + o.Reason
	}
	if o.Stop {
		verdict += " (ends the turn)"
	}
	line("outcome", verdict)
	for _, r := range []struct {
		what string
		raw  json.RawMessage
	}{{"input", o.Input}, {"output", o.ToolOutput}} {
		var b bytes.Buffer
		if len(r.raw) > 0 && json.Compact(&b, r.raw) == nil {
			line(r.what, b.String())
		}
	}
	for _, s := range o.Context {
		line("context", s.Text)
	}
	for _, s := range o.Notices {
		if !slices.ContainsFunc(ran, func(r hookRunDoc) bool { return r.Error != "" && strings.Contains(s.Text, r.Error) }) {
			line("notice", runtext.HookLabel(s.Hook)+": "+s.Text)
		}
	}
	for _, n := range o.Notes {
		line("notify", strings.TrimPrefix(n.Title+": "+n.Body, ": "))
	}
	for _, u := range o.Updates {
		line("policy", u)
	}
}
