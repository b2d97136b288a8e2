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
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// hookWatch looks on while hooks run, to tell what each of them said.
type hookWatch struct {
	hook.Runner
	mu   sync.Mutex
	said map[string]hook.Answer // by digest
}

func (w *hookWatch) over(r hook.Runner) hook.Runner {
	w.Runner, w.said = r, map[string]hook.Answer{}
	return w
}

// Run implements [hook.Runner].
func (w *hookWatch) Run(ctx context.Context, d *hook.Definition, in *hook.Input) (hook.Answer, error) {
	a, err := w.Runner.Run(ctx, d, in)
	w.mu.Lock()
	w.said[d.Digest] = a
	w.mu.Unlock()
	return a, err
}

// Close closes what is watched.
func (w *hookWatch) Close() error {
	if c, ok := w.Runner.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// firedDoc is what the hooks of one event said, in JSON.
type firedDoc struct {
	Event   hook.Event `json:"event"`
	Hooks   []ranDoc   `json:"hooks"`
	Outcome outcomeDoc `json:"outcome"`
}

type ranDoc struct {
	record.HookRun
	Said   map[string]any `json:"said,omitempty"`
	Notice string         `json:"notice,omitempty"`
}

// outcomeDoc is an outcome in JSON: only what was said.
type outcomeDoc struct {
	Blocked    bool            `json:"blocked"`
	By         string          `json:"by,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Permission string          `json:"permission,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	ToolOutput json.RawMessage `json:"tool_output,omitempty"`
	Context    []saidDoc       `json:"context,omitempty"`
	Notices    []saidDoc       `json:"notices,omitempty"`
	Notes      []hook.Note     `json:"notifications,omitempty"`
	Updates    []string        `json:"policy,omitempty"`
	Stop       bool            `json:"stop,omitempty"`
}

type saidDoc struct {
	By   string `json:"by"`
	Text string `json:"text"`
}

// fire fires an event and tells what came of it.
func (w *hookWatch) fire(ctx context.Context, r *hook.Registry, in hook.Input) firedDoc {
	out := r.Fire(ctx, in)
	d := firedDoc{Event: in.Event, Hooks: []ranDoc{}, Outcome: newOutcomeDoc(&out)}
	if out.Ran == nil {
		return d
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, run := range out.Ran.Hooks {
		a := w.said[run.Digest]
		d.Hooks = append(d.Hooks, ranDoc{HookRun: run, Said: plain(a.Output), Notice: a.Notice})
	}
	return d
}

func newOutcomeDoc(out *hook.Outcome) outcomeDoc {
	d := outcomeDoc{Input: out.Input, ToolOutput: out.ToolOutput, Notes: out.Notes, Stop: out.Stop != nil}
	d.Permission, d.By, d.Reason = out.Permission, out.PermissionBy, out.PermissionReason
	d.Blocked = out.Permission == "deny"
	for _, s := range []*hook.Said{out.Stop, out.Block} {
		if s != nil {
			d.Blocked, d.By, d.Reason = true, s.By, s.What
		}
	}
	texts := func(list []hook.Said) (docs []saidDoc) {
		for _, s := range list {
			docs = append(docs, saidDoc{s.By, s.What})
		}
		return docs
	}
	d.Context, d.Notices = texts(out.Context), texts(out.Notices)
	for _, u := range out.Updates {
		d.Updates = append(d.Updates, updateText(u))
	}
	return d
}

func updateText(u hook.Update) string {
	if u.Mode != "" {
		return "mode " + u.Mode
	}
	return u.Behavior + " " + strings.Join(u.Rules, ", ")
}

// plain is what a hook answered, without what it did not say.
func plain(o *hook.Output) map[string]any {
	if o == nil {
		return nil
	}
	said := map[string]any{}
	v := reflect.ValueOf(*o)
	for i := range v.NumField() {
		if f := v.Field(i); !f.IsZero() {
			name := v.Type().Field(i).Name
			said[strings.ToLower(name[:1])+name[1:]] = f.Interface()
		}
	}
	return said
}

// printFired prints what each hook said, and what that means together.
func printFired(p *command.Program, d *firedDoc) {
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
		p.Out.Line("%s  %s%s", term.Fit(r.Name, t.Columns()-30), state, t.Dim("  "+term.Elapsed(time.Duration(r.Millis)*time.Millisecond)))
		for _, text := range []string{r.Error, r.Notice} {
			if text != "" {
				p.Out.Line("    %s", term.Escape(term.OneLine(text)))
			}
		}
		if len(r.Said) > 0 {
			if b, err := term.MarshalJSON(r.Said, false); err == nil {
				p.Out.Line("    %s", t.Dim(string(b)))
			}
		}
	}
	printTogether(p, d.Hooks, &d.Outcome)
}

// printTogether prints an outcome; failures have been told.
func printTogether(p *command.Program, ran []ranDoc, o *outcomeDoc) {
	t := p.Out.Style
	tell := func(what, text string) {
		if text != "" {
			p.Out.Line("%s %s", t.Dim(term.Column(what, 8)), term.Escape(term.OneLine(text)))
		}
	}
	verdict := "nothing stands in the way"
	switch {
	case o.Blocked:
		verdict = "blocked by " + view.HookLabel(o.By)
	case o.Permission != "":
		verdict = o.Permission + " by " + view.HookLabel(o.By)
	}
	if o.Reason != "" {
		verdict += ": " + o.Reason
	}
	if o.Stop {
		verdict += " (ends the turn)"
	}
	tell("outcome", verdict)
	for _, r := range []struct {
		what string
		raw  json.RawMessage
	}{{"input", o.Input}, {"output", o.ToolOutput}} {
		var b bytes.Buffer
		if len(r.raw) > 0 && json.Compact(&b, r.raw) == nil {
			tell(r.what, b.String())
		}
	}
	for _, s := range o.Context {
		tell("context", s.Text)
	}
	for _, s := range o.Notices {
		if !slices.ContainsFunc(ran, func(r ranDoc) bool { return r.Error != "" && strings.Contains(s.Text, r.Error) }) {
			tell("notice", view.HookLabel(s.By)+": "+s.Text)
		}
	}
	for _, n := range o.Notes {
		tell("notify", strings.TrimPrefix(n.Title+": "+n.Body, ": "))
	}
	for _, u := range o.Updates {
		tell("policy", u)
	}
}
