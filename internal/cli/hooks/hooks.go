package hooks

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// hookDoc is a hook in JSON.
type hookDoc struct {
	Event     hook.Event          `json:"event"`
	Dialect   string              `json:"dialect"`
	Matcher   string              `json:"matcher,omitempty"`
	If        string              `json:"if,omitempty"`
	Type      string              `json:"type"`
	Command   string              `json:"command,omitempty"`
	Args      []string            `json:"args,omitempty"`
	URL       string              `json:"url,omitempty"`
	Timeout   float64             `json:"timeout"` // seconds
	OnFailure string              `json:"on_failure"`
	Sandbox   string              `json:"sandbox,omitempty"`
	Async     bool                `json:"async,omitempty"`
	Once      bool                `json:"once,omitempty"`
	Status    settings.HookStatus `json:"status"`
	Why       string              `json:"why,omitempty"`
	Origin    policy.Origin       `json:"origin"`
	Digest    string              `json:"digest"`
}

func newHookDoc(s *settings.Settings, h *settings.Hook) hookDoc {
	strict := s.StrictHooks.Value
	d := hookDoc{
		Event: h.Event, Dialect: h.Dialect, Matcher: h.Matcher, If: h.If, Type: h.Type(), Command: h.Command, Args: h.Args, URL: h.URL,
		Timeout: h.TimeLimit().Seconds(), OnFailure: onFailure(&h.Definition, strict), Async: h.Async, Once: h.Once,
		Status: h.Status, Why: h.Reason, Origin: h.Origin, Digest: h.Digest,
	}
	if d.Dialect == "" {
		d.Dialect = "claude"
	}
	d.Sandbox = s.HookAccess(&h.Definition)
	return d
}

// onFailure describes what happens if the hook fails.
func onFailure(d *hook.Definition, strict bool) string {
	if d.CanBlock(strict) {
		return "block"
	}
	return "continue"
}

func (c *listCmd) Run(_ context.Context, p *command.Program) error {
	s, err := c.Load(p, false)
	if err != nil {
		return err
	}
	if c.JSON {
		docs := []hookDoc{}
		for i := range s.Hooks {
			docs = append(docs, newHookDoc(s, &s.Hooks[i]))
		}
		return p.Out.JSON(map[string]any{"hooks": docs}, p.Out.TTY)
	}
	for i := range s.Hooks {
		printHook(p.Out, s, &s.Hooks[i])
	}
	if len(s.Hooks) == 0 {
		p.Err.Line("no hooks here")
	}
	if _, hint := s.HookNotice(); hint != "" {
		p.Err.Line("%s %s", p.Err.Bold("hint:"), term.Escape(hint))
	}
	return nil
}

// printHook prints a hook on two lines. If the hook does not run, a third line has the reason.
func printHook(p *term.Printer, s *settings.Settings, h *settings.Hook) {
	t, d := p.Style, newHookDoc(s, h)
	style := map[settings.HookStatus]func(string) string{
		settings.HookTrusted: t.Green, settings.HookUntrusted: t.Yellow, settings.HookModified: t.Yellow, settings.HookDisabled: t.Dim,
	}[h.Status]
	event := h.Event.Spelled(h.Dialect)
	if h.Matcher != "" {
		event += " " + h.Matcher
	}
	p.Line("%s %s", style(term.Column(string(h.Status), 9)), t.Bold(term.Escape(term.OneLine(event))))
	p.Line("          %s", term.Truncate(settings.HookName(&h.Definition), t.Columns()-10))
	facts := []string{d.Type, "at most " + timeoutText(h.TimeLimit()), "on failure " + string(d.OnFailure)}
	if d.Sandbox != "" {
		facts = append(facts, "sandbox "+string(d.Sandbox))
	}
	if d.If != "" {
		facts = append(facts, "if "+d.If)
	}
	if d.Async {
		facts = append(facts, "async")
	}
	if d.Once {
		facts = append(facts, "once")
	}
	p.Line("          %s", t.Dim(term.Escape(term.OneLine(strings.Join(facts, " · ")))))
	p.Line("          %s", t.Dim(term.Escape(settings.OriginText(h.Origin))))
	if h.Reason != "" {
		p.Line("          %s", style(term.Escape(term.OneLine(h.Reason))))
	}
}

// timeoutText formats a timeout: "5 s", "1.5 s", "10 min".
func timeoutText(d time.Duration) string {
	switch {
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%g s", d.Seconds())
}
