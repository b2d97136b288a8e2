package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// replayDoc compares the recorded and the current decision about one call, in JSON.
type replayDoc struct {
	Use        string        `json:"use_id"`
	Differs    bool          `json:"differs"`
	Recorded   policy.Effect `json:"then"`
	RecordedBy string        `json:"then_by"`
	Answer     string        `json:"answer,omitempty"` // the answer to an approval request, if there was one
	policycheck.Explanation
}

func (c *replayCmd) Run(ctx context.Context, p *command.Program) error {
	if c.PermissionMode != "" {
		if err := policy.Mode(c.PermissionMode).Check(); err != nil {
			return outcome.Invalid(err.Error(), "")
		}
	}
	return c.WithSession(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		today, err := p.LoadSettings(m.CWD, c.Settings)
		if err != nil {
			return err
		}
		r, err := newReplay(p, today, policy.Mode(c.PermissionMode))
		if err != nil {
			return err
		}
		if !c.JSON {
			p.SettingsNotices(today)
		}
		calls, differ := 0, 0
		for rec, err := range s.Records(ctx, m.ID, session.Range{}) {
			if err != nil {
				return err
			}
			d, ok, err := r.record(ctx, rec)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			calls++
			if d.Differs {
				differ++
			}
			if d.Differs || c.All {
				if err := c.print(p, d); err != nil {
					return err
				}
			}
		}
		if !c.JSON {
			p.Err.Line("%s, %d would be decided differently", term.Count(calls, "call"), differ)
		}
		return nil
	})
}

func (c *replayCmd) print(p *command.Program, d *replayDoc) error {
	if c.JSON {
		return p.Out.JSON(d, false)
	}
	t := p.Out.Style
	then := view.EffectText(t, d.Recorded) + " by " + term.Escape(d.RecordedBy)
	if d.Answer != "" {
		then += ", answered " + term.Escape(d.Answer)
	}
	p.Out.Line("%s  %s", t.Bold(term.Escape(d.Tool)), term.Escape(term.OneLine(strings.Join(d.Exact, ", "))))
	p.Out.Line("  %s %s", t.Dim("then"), then)
	p.Out.Line("  %s  %s by %s: %s", t.Dim("now"), view.EffectText(t, d.Verdict), term.Escape(d.By), term.Escape(term.OneLine(d.Reason)))
	return nil
}

// replay decides the calls of a log again, record by record.
type replay struct {
	guards    *policy.Guards
	cwd       string
	home      string
	searchURL string
	mode      policy.Mode // "" means the mode that was in force at each call
	settings  *settings.Settings

	uses  map[string]transcript.ToolUse
	asked map[string]approval.Request
}

func newReplay(p *command.Program, today *settings.Settings, mode policy.Mode) (*replay, error) {
	config, err := today.Policy()
	if err != nil {
		return nil, err
	}
	config.Now, config.NewID = p.Clock, func() string { return "" } // no new ids are needed, because the grants in the log have ids
	if mode != "" {
		config.Mode = mode
		if err := today.CheckMode(mode); err != nil {
			return nil, err
		}
	}
	all, err := policy.New(&config)
	return &replay{
		guards: all, cwd: today.Cwd(), home: p.UserHome(), searchURL: cmp.Or(today.WebSearch.URL.Value, p.Getenv(tools.EnvSearchURL)), mode: mode, settings: today,
		uses: map[string]transcript.ToolUse{}, asked: map[string]approval.Request{},
	}, err
}

// record reads a record. For a decision in the log it returns what the decision would be now.
func (r *replay) record(ctx context.Context, rec session.Record) (*replayDoc, bool, error) {
	if rec.Payload == nil { // erased
		return nil, false, nil
	}
	bad := func(err error) error { return fmt.Errorf("record %d (%s): %w", rec.Seq, rec.Kind, err) }
	switch rec.Kind {
	case session.KindItem:
		it, err := record.ReadItem(rec.Payload)
		if err != nil {
			return nil, false, bad(err)
		}
		for _, u := range it.Item.Uses() {
			r.uses[u.ID] = u
		}
	case record.KindApprovalAsked:
		var q approval.Request
		if err := json.Unmarshal(rec.Payload, &q); err != nil {
			return nil, false, bad(err)
		}
		r.asked[q.Use] = q
	case record.KindPolicyChanged:
		var c policy.Change
		err := c.Parse(rec.Payload)
		if err == nil && c.Mode == "" {
			err = r.guards.Apply(c)
		}
		if err != nil {
			return nil, false, bad(err)
		}
	case record.KindTurnClosed:
		var t record.TurnClosed
		if err := json.Unmarshal(rec.Payload, &t); err != nil {
			return nil, false, bad(err)
		}
		r.guards.EndTurn(t.Turn)
	case record.KindDecision:
		var then policy.Decision
		if err := json.Unmarshal(rec.Payload, &then); err != nil {
			return nil, false, bad(err)
		}
		d, err := r.decideAgain(ctx, &then)
		return d, d != nil, err
	}
	return nil, false, nil
}

// decideAgain decides a past call again; it returns nil if the input of the call is not known.
func (r *replay) decideAgain(ctx context.Context, then *policy.Decision) (*replayDoc, error) {
	use, ok := r.uses[then.Use]
	if !ok || then.By == "input" {
		return nil, nil
	}
	if err := r.setMode(then.Mode); err != nil {
		return nil, err
	}
	requests := r.asked[then.Use].Requests // commands are decided for the folder in which they started
	if requests == nil {
		call := policycheck.Call{Tool: use.Name, Input: use.Input, Cwd: r.cwd, Home: r.home, Search: r.searchURL}
		if then.Input != nil {
			call.Input = then.Input
		}
		var err error
		if requests, err = call.Requests(); err != nil {
			return nil, nil //nolint:nilerr // the tool rejected the input then, and would reject it now
		}
	}
	now := r.guards.Guard(use.Name).Judge(ctx, requests, nil)
	d := &replayDoc{Use: then.Use, Recorded: then.Effect, RecordedBy: then.By, Explanation: policycheck.Explain(&now, requests, r.cwd)}
	if then.PersonAsked || then.By == "nobody" {
		d.Recorded, d.RecordedBy, d.Answer = policy.Ask, askingLink(then), fmt.Sprintf("%s by %s", then.Effect, then.By)
	}
	d.Differs = d.Recorded != d.Verdict
	return d, nil
}

// askingLink returns the link of the chain that required approval.
func askingLink(then *policy.Decision) string {
	for _, s := range then.Contributions {
		if s.Effect == policy.Ask {
			return s.Policy
		}
	}
	return "mode " + string(then.Mode)
}

func (r *replay) setMode(mode policy.Mode) error {
	if r.mode != "" || mode == "" || mode == r.guards.Mode() {
		return nil
	}
	if err := r.settings.CheckMode(mode); err != nil {
		mode = policy.ModeDefault // a run would fall back to this mode
	}
	return r.guards.Apply(policy.Change{Mode: mode})
}
