package hooks

import (
	"context"
	"strings"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

func (c *trustHooksCmd) Run(ctx context.Context, p *command.Program) error {
	list, err := p.Trust()
	if err != nil {
		return err
	}
	s, err := p.FolderSettings(c.Dir)
	if err != nil {
		return err
	}
	found := folderHooks(s)
	for _, h := range found {
		if h.Digest == "" {
			return &outcome.Failure{Message: settings.OriginText(h.Origin) + ": " + h.Reason, Advice: "fix the hook or remove it", Result: outcome.Usage}
		}
	}
	if !c.JSON {
		showHooks(p, s, found)
	}
	if err := c.confirm(ctx, p, s, len(found)); err != nil {
		return err
	}
	ok, err := list.AddHooks(s, p.Clock())
	if err != nil {
		return err
	}
	if !ok {
		return outcome.Invalid(s.Project+" has no hooks to trust", "define hooks in "+s.Project+"/.holdfast/settings.json")
	}
	if c.JSON {
		return p.Out.JSON(trustDoc{Folder: s.Project, Hooks: trustedHooks(found)}, p.Out.TTY)
	}
	p.Err.Line("%s of %s: trusted in their current form", term.Count(len(found), "hook"), term.Escape(s.Project))
	return nil
}

// folderHooks returns the hooks that the folder's settings define.
func folderHooks(s *settings.Settings) []*settings.Hook {
	var list []*settings.Hook
	for i := range s.Hooks {
		if l := s.Hooks[i].Origin.Layer; l == layernames.Project || l == layernames.Local {
			list = append(list, &s.Hooks[i])
		}
	}
	return list
}

func trustedHooks(list []*settings.Hook) []settings.TrustedHook {
	var docs []settings.TrustedHook
	for _, h := range list {
		docs = append(docs, settings.TrustedHook{
			Event: string(h.Event), Matcher: h.Matcher, Name: settings.HookName(&h.Definition), Digest: h.Digest,
		})
	}
	return docs
}

// showHooks prints everything that the hooks would run. It does not shorten commands, and makes
// invisible characters visible.
func showHooks(p *command.Program, s *settings.Settings, list []*settings.Hook) {
	t := p.Err.Style
	for _, h := range list {
		event := string(h.Event)
		if h.Matcher != "" {
			event += " " + h.Matcher
		}
		state := ""
		if h.Status != settings.HookTrusted {
			state = "  " + t.Yellow(string(h.Status))
		}
		p.Err.Line("%s%s  %s", t.Bold(term.EscapeStrict(event)), state, t.Dim(term.Escape(settings.OriginText(h.Origin))))
		what := h.URL
		if h.Type() == "command" {
			what = commandText(&h.Definition)
		}
		for line := range strings.SplitSeq(what, "\n") {
			p.Err.Line("    %s", term.EscapeStrict(line))
		}
		d := newHookDoc(s, h)
		if d.Sandbox != "" && d.Sandbox != "read" {
			p.Err.Line("    %s", t.Yellow("sandbox "+string(d.Sandbox)))
		}
		if len(h.Env) > 0 {
			p.Err.Line("    %s", t.Yellow(term.EscapeStrict("knows of "+strings.Join(h.Env, ", "))))
		}
	}
}

// commandText returns a hook's command line, or its program and arguments.
func commandText(d *hook.Definition) string {
	if d.Args == nil {
		return d.Command
	}
	words := []string{term.Quote(d.Command)}
	for _, a := range d.Args {
		words = append(words, term.Quote(a))
	}
	return strings.Join(words, " ")
}

// confirm asks the user at the terminal. Without a terminal, --yes is required.
func (c *trustHooksCmd) confirm(ctx context.Context, p *command.Program, s *settings.Settings, n int) error {
	if c.Yes || n == 0 {
		return nil
	}
	ok, err := question.Confirm(ctx, p, "trust these hooks in their current form?", "holdfast trust --hooks-only --yes "+term.Quote(s.Project))
	if err != nil || ok {
		return err
	}
	return outcome.Invalid("nothing was trusted", "")
}
