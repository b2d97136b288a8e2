package sessions

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
)

type compactDoc struct {
	Session      string  `json:"session"`
	Compacted    bool    `json:"compacted"`
	Items        int     `json:"items"`
	ItemsBefore  int     `json:"items_before"`
	Tokens       int     `json:"tokens,omitempty"` // estimated
	TokensBefore int     `json:"tokens_before,omitempty"`
	CostUSD      float64 `json:"cost_usd,omitempty"`
}

// compactView collects the results of a compaction.
type compactView struct {
	p   *command.Program
	doc compactDoc
}

func (v *compactView) Observe(_ string, e event.Event) {
	switch e := e.(type) {
	case event.CompactionStarted:
		v.p.Err.Progress().Show("compacting")
	case event.TranscriptRewritten:
		v.doc.TokensBefore, v.doc.Tokens = e.TokensBefore, e.TokensAfter
	case event.UsageUpdated:
		v.doc.CostUSD = e.CostUSD
	case event.SessionOpened:
		for _, n := range e.Notices {
			v.p.Warn("%s", n)
		}
	}
}

func (c *compactCmd) Run(ctx context.Context, p *command.Program) error {
	return c.WithSession(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		a, made, v, err := c.agent(ctx, p, s, m)
		if made != nil {
			defer made.Close()
		}
		if err != nil {
			return err
		}
		before, after, err := a.Compact(ctx, c.Instructions)
		p.Err.Progress().Show("")
		err = errors.Join(withHint(err), a.Suspend())
		if err != nil {
			return err
		}
		v.doc.Session, v.doc.ItemsBefore, v.doc.Items = m.ID, before, after
		v.doc.Compacted = v.doc.TokensBefore > 0
		return v.print(c.JSON)
	})
}

// withHint adds a hint to the error for a session that cannot be compacted now.
func withHint(err error) error {
	if errors.Is(err, agent.ErrRunning) {
		return outcome.Invalid("the session has a pending approval", "list pending approvals: holdfast approvals list")
	}
	return err
}

// agent creates an agent for the session. It has no tools, because it only compacts.
func (c *compactCmd) agent(ctx context.Context, p *command.Program, s *session.Sessions, m session.Meta) (*agent.Agent, *compose.Parts, *compactView, error) {
	files, err := p.SettingsFiles(c.Settings)
	if err != nil {
		return nil, nil, nil, err
	}
	spec := &runspec.Spec{
		Model: c.Model, ModelOptions: runspec.ModelOptions{BaseURL: c.BaseURL}, Hooks: runspec.Hooks{Disabled: c.NoHooks}, Tools: []string{},
		Permissions: runspec.Permissions{Settings: files},
	}
	cwd := m.CWD
	if info, err := os.Stat(cwd); cwd == "" || err != nil || !info.IsDir() { // the folder was on another machine, or no longer exists
		if cwd, err = p.Folder(""); err != nil {
			return nil, nil, nil, err
		}
	}
	made, err := compose.Make(ctx, &compose.Request{Env: p.Environment(), Spec: spec, Cwd: cwd})
	if err != nil {
		return nil, made, nil, err
	}
	v := &compactView{p: p}
	o := made.Options
	o.Sessions, o.Session = s, session.RestoreOptions{SessionID: m.ID, MustExist: true, Takeover: c.Takeover}
	o.LoopObservers = append(o.LoopObservers, v)
	a, err := agent.New(made.Models.Primary, &o)
	if err != nil {
		return nil, made, nil, err
	}
	made.Attach(a)
	return a, made, v, nil
}

func (v *compactView) print(asJSON bool) error {
	d := v.doc
	if asJSON {
		return v.p.Out.JSON(d, false)
	}
	if !d.Compacted {
		v.p.Err.Line("nothing to compact in session %s (%s)", term.Escape(d.Session), term.Count(d.Items, "message"))
		return nil
	}
	cost := ""
	if d.CostUSD > 0 {
		cost = fmt.Sprintf(", cost %.4f USD", d.CostUSD)
	}
	v.p.Err.Line("compacted session %s: %s became %d, about %d tokens became %d%s", term.Escape(d.Session), term.Count(d.ItemsBefore, "message"), d.Items, d.TokensBefore, d.Tokens, cost)
	return nil
}
