package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/internal/savedrule"
	"github.com/holdfast-dev/holdfast/internal/shortid"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// approvalDoc is an approval request in JSON, with its answer if it has one.
type approvalDoc struct {
	approval.Request
	Answer      *approval.Answer   `json:"answer,omitempty"`
	SavePreview *savedrule.Preview `json:"always,omitempty"` // the rules that --always would save, and the files for them
	Saved       *savedrule.Result  `json:"kept,omitempty"`   // what --always saved
}

func (c *listCmd) Run(ctx context.Context, p *command.Program) error {
	sessions, closeStore, err := p.OpenStore(ctx, c.Store)
	if err != nil {
		return err
	}
	defer closeStore()
	id := ""
	if c.Session != "" {
		m, err := sessions.Find(ctx, c.Session)
		if err != nil {
			return err
		}
		id = m.ID
	}
	open, err := runlog.Pending(ctx, sessions, id)
	if err != nil {
		return err
	}
	slices.SortStableFunc(open, func(a, b approval.Request) int { return a.AskedAt.Compare(b.AskedAt) })
	if c.JSON {
		return p.Out.JSON(struct {
			Approvals []approval.Request `json:"approvals"`
		}{append([]approval.Request{}, open...)}, p.Out.TTY)
	}
	if len(open) == 0 {
		p.Err.Line("no pending approvals")
		return nil
	}
	ids, err := c.ids(ctx, p, sessions, open)
	if err != nil {
		return err
	}
	rows := [][]string{{"ID", "TOOL", "WHAT", "AGE", "UNTIL", "SESSION"}}
	for _, q := range open {
		until := "-"
		if q.Expires != nil {
			until = q.Expires.Local().Format(time.TimeOnly)
		}
		rows = append(rows, []string{ids(q.ID), q.Tool, question.Subject(q), term.Age(p.Clock().Sub(q.AskedAt)), until, ids(q.Session)})
	}
	p.Out.Table(rows, 2)
	return nil
}

// ids returns the function that shortens the ids of approvals and sessions for a terminal.
func (c *listCmd) ids(ctx context.Context, p *command.Program, sessions *session.Sessions, open []approval.Request) (func(string) string, error) {
	ofSessions, err := command.ShortIDs(ctx, p, sessions)
	if err != nil || !p.Out.TTY {
		return ofSessions, err
	}
	all, err := approval.Pending(ctx, sessions, "") // an id must be unique among all of them, not only those of a session
	var ids []string
	for _, q := range append(all, open...) {
		ids = append(ids, q.ID)
	}
	ofApprovals := shortid.Of(ids, nil)
	return func(id string) string { return cmp.Or(ofApprovals[id], ofSessions(id)) }, err
}

// withApproval opens the store, finds the approval request and calls do.
func (a approvalArg) withApproval(ctx context.Context, p *command.Program, url string, do func(*session.Sessions, approvalDoc) error) error {
	sessions, closeStore, err := p.OpenStore(ctx, url)
	if err != nil {
		return err
	}
	defer closeStore()
	q, ans, err := approval.Find(ctx, sessions, a.ID)
	if errors.Is(err, approval.ErrNoRequest) && outcome.Hint(err) == "" {
		return &outcome.Failure{
			Message: fmt.Sprintf("no approval with id %q", a.ID), Result: outcome.NotFound, Cause: err,
			Advice: "holdfast approvals list",
		}
	}
	if err != nil {
		return err
	}
	return do(sessions, approvalDoc{Request: q, Answer: ans})
}

func (c *showCmd) Run(ctx context.Context, p *command.Program) error {
	return c.withApproval(ctx, p, c.Store, func(s *session.Sessions, d approvalDoc) error {
		if d.Answer == nil {
			d.SavePreview = savePreview(ctx, p, s, &d.Request)
		}
		if c.JSON {
			return p.Out.JSON(d, p.Out.TTY)
		}
		t := p.Out.Style
		question.PrintApproval(p.Out, d.Request, p.Clock())
		p.Out.Line("  %s  %s", t.Dim("session"), term.Escape(d.Session))
		for i, s := range d.Scopes {
			name := "scope  "
			if i > 0 {
				name = "       "
			}
			p.Out.Line("  %s  %s", t.Dim(name), term.EscapeStrict(question.ScopeText(s)))
		}
		printSavePreview(p.Out, d.SavePreview)
		if a := d.Answer; a != nil {
			p.Out.Line("  %s  %s", t.Dim("answer "), term.EscapeStrict(question.AnswerText(*a)))
			return nil
		}
		p.Err.Line("%s %s, or holdfast approvals deny", p.Err.Bold("hint:"), allowLine(d.Request))
		return nil
	})
}

// allowLine returns the command that allows the call.
func allowLine(q approval.Request) string {
	var line strings.Builder
	line.WriteString("holdfast approvals allow " + q.ID)
	if q.Plan() != "" {
		line.WriteString(" [--mode acceptEdits]")
	}
	for i := range question.Choices(&q) {
		fmt.Fprintf(&line, ` --answer "%d=…"`, i+1)
	}
	return line.String()
}

func (f *answerFlags) answer(p *command.Program, id string, once, always approval.Decision) (approval.Answer, error) {
	message, err := p.Environment().Mask(f.Message)
	if err != nil {
		return approval.Answer{}, err
	}
	a := approval.Answer{
		RequestID: id, Decision: once, Scope: f.Scope, SaveTo: f.SaveTo, Message: message, Via: "cli",
		Actor: p.ActorName(f.By), At: p.Clock(),
	}
	if f.ForSession || f.SaveTo != "" {
		a.Decision = always
	} else if f.Scope != "" {
		return a, outcome.Invalid("--scope needs --for-session or --always", "add --for-session, or --always LAYER")
	}
	return a, nil
}

func (c *allowCmd) Run(ctx context.Context, p *command.Program) error {
	return c.withApproval(ctx, p, c.Store, func(s *session.Sessions, d approvalDoc) error {
		a, err := c.answer(p, d.ID, approval.Allow, approval.AllowSession)
		if err == nil {
			a.Input, err = c.input(d.Request)
		}
		if err != nil {
			return err
		}
		return decide(ctx, p, s, d, a, c.Store, c.JSON)
	})
}

// input returns the changed input for the call: the mode for a plan, the answers to the model's
// questions, or the fields of a form.
func (c *allowCmd) input(q approval.Request) (json.RawMessage, error) {
	list, plan, form := question.Choices(&q), q.Plan(), question.Form(&q)
	switch {
	case len(c.Field) > 0 && form == nil:
		return nil, outcome.Invalid("--field applies only to MCP forms, and approval "+q.ID+" is for "+q.Tool, "omit the flag")
	case c.Mode != "" && plan == "":
		return nil, outcome.Invalid("--mode applies only to plans, and approval "+q.ID+" is for "+q.Tool, "omit the flag")
	case len(c.Answer) > 0 && list == nil:
		return nil, outcome.Invalid("--answer applies only to questions, and approval "+q.ID+" is for "+q.Tool, "omit the flag")
	case c.Mode != "":
		return q.PlanInput(policy.Mode(c.Mode))
	case form != nil:
		in, err := question.ReadFields(q, form, c.Field)
		if err != nil {
			return nil, outcome.Invalid(err.Error(), "holdfast approvals allow "+q.ID+" --field NAME=VALUE")
		}
		return in, nil
	case list == nil:
		return nil, nil
	}
	answers := map[string][]string{}
	for _, text := range c.Answer {
		number, value, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > len(list) {
			return nil, outcome.Invalid(fmt.Sprintf("--answer %s: want N=TEXT with N from 1 to %d", text, len(list)), "holdfast approvals show "+q.ID)
		}
		answers[list[n-1].Question] = append(answers[list[n-1].Question], value)
	}
	in, err := q.AnswersInput(answers)
	if err == nil {
		_, _, err = forms.ReadAnswers(q.Requests[0].Input, in)
	}
	if err != nil {
		return nil, outcome.Invalid(err.Error(), allowLine(q))
	}
	return in, nil
}

func (c *denyCmd) Run(ctx context.Context, p *command.Program) error {
	return c.withApproval(ctx, p, c.Store, func(s *session.Sessions, d approvalDoc) error {
		a, err := c.answer(p, d.ID, approval.Deny, approval.DenySession)
		if err != nil {
			return err
		}
		a.Stop = c.Stop
		return decide(ctx, p, s, d, a, c.Store, c.JSON)
	})
}

// resolve records an answer. If a daemon serves the store, the answer goes through the daemon, so
// that a waiting run gets it at once. The daemon records the caller's own name, so an answer under
// another name is written to the store instead, where the run finds it a little later.
func resolve(ctx context.Context, p *command.Program, s *session.Sessions, d approvalDoc, a approval.Answer, store string) (approval.Answer, *savedrule.Result, error) {
	if err := dial.RefuseInsideRun(p, "answer its own approvals"); err != nil {
		return a, nil, err
	}
	c, _ := dial.DaemonForStore(ctx, p, store)
	if c == nil {
		return resolveLocal(ctx, p, s, d, a)
	}
	defer c.Close()
	if c.Info().Caller.Agent {
		return a, nil, &outcome.Failure{Message: "an agent of this daemon cannot answer its own approvals", Result: outcome.Denied, Advice: "answer it in a terminal outside the agent"}
	}
	if a.Actor != p.ActorName("") {
		return resolveLocal(ctx, p, s, d, a)
	}
	done, err := c.Decide(ctx, d.ID, api.Decision{
		Decision: a.Decision, Scope: a.Scope, SaveTo: a.SaveTo, Message: a.Message, Stop: a.Stop, Input: a.Input, Digest: d.Digest,
	})
	if lost, ok := errors.AsType[*api.Problem](err); ok && lost.Winner != nil {
		return a, nil, &approval.AnsweredError{First: *lost.Winner}
	}
	if err != nil || done.Answer == nil {
		return a, nil, err
	}
	return *done.Answer, done.Saved, nil
}

// resolveLocal writes the answer to the store. Form values must not contain a key, because only the
// process that runs the call can use a key and mask it in the record.
func resolveLocal(ctx context.Context, p *command.Program, s *session.Sessions, d approvalDoc, a approval.Answer) (approval.Answer, *savedrule.Result, error) {
	if question.Form(&d.Request) != nil {
		masked, err := p.Environment().Mask(string(a.Input))
		if err != nil {
			return a, nil, err
		}
		if masked != string(a.Input) {
			return a, nil, &outcome.Failure{
				Message: "the form contains something that looks like a key, which would be stored", Result: outcome.Denied,
				Advice: "answer in the terminal of the run, or through the daemon that runs it",
			}
		}
	}
	plan, err := saveRule(ctx, p, s, &d.Request, &a)
	if err != nil {
		return a, nil, err
	}
	won, err := approval.Resolve(ctx, s, d.Session, a)
	if err != nil || plan == nil {
		return won, nil, err
	}
	kept, err := plan.Write()
	if err != nil {
		err = fmt.Errorf("the answer applies to the session, but could not be saved in the settings: %w", err)
	}
	return won, kept, err
}

// decide records an answer and prints how to resume the session if it is not running.
func decide(ctx context.Context, p *command.Program, s *session.Sessions, d approvalDoc, a approval.Answer, store string, asJSON bool) error {
	won, kept, err := resolve(ctx, p, s, d, a, store)
	if lost, ok := errors.AsType[*approval.AnsweredError](err); ok {
		return &outcome.Failure{
			Message: fmt.Sprintf("approval %s was already answered: %s", d.ID, question.AnswerText(lost.First)), Result: outcome.Approval, Cause: err,
		}
	}
	if err != nil {
		return err
	}
	d.Answer, d.Saved = &won, kept
	if asJSON {
		return p.Out.JSON(d, p.Out.TTY)
	}
	p.Err.Line("%s  %s: %s", d.ID, term.Escape(d.Tool), term.Escape(question.AnswerText(won)))
	if kept != nil {
		question.PrintSaved(p.Err, kept)
	}
	if held, err := s.Lease(ctx, d.Session); err == nil && held == nil {
		p.Err.Line("%s session %s is not running; resume it: holdfast run %s--resume %s", p.Err.Bold("hint:"), d.Session, command.StoreArg(store), d.Session)
	}
	return nil
}
