package cli

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

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

func newApprovalsCmd(p *Program) *cobra.Command {
	return p.group("approvals", "List and answer the questions that wait.",
		p.command(&approvalsListCmd{}, "list", "List the questions that wait for an answer, oldest first.", "ls"),
		p.command(&approvalsShowCmd{}, "show", "Show a question with everything it would do."),
		p.command(&approvalsAllowCmd{}, "allow", "Answer yes; the run goes on, or can be resumed."),
		p.command(&approvalsDenyCmd{}, "deny", "Answer no."),
	)
}

// questionDoc is a question in JSON, with its answer when it has one.
type questionDoc struct {
	approval.Question
	Answer *approval.Answer `json:"answer,omitempty"`
}

// approvalsListCmd is `holdfast approvals list`.
type approvalsListCmd struct {
	Session string
	storeFlags
	jsonFlag
}

func (c *approvalsListCmd) declare(b *builder) {
	b.flag(&c.Session, "session", "", "SESSION", "Only of this session and its sub-agents.")
	b.include(&c.storeFlags)
	b.include(&c.jsonFlag)
}

func (c *approvalsListCmd) run(ctx context.Context, p *Program) error {
	sessions, closeStore, err := p.openStore(ctx, c.Store)
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
	pending := approval.PendingOf
	if id == "" {
		pending = approval.Pending
	}
	open, err := pending(ctx, sessions, id)
	if err != nil {
		return err
	}
	slices.SortStableFunc(open, func(a, b approval.Question) int { return a.AskedAt.Compare(b.AskedAt) })
	if c.JSON {
		return p.out.JSON(struct {
			Approvals []approval.Question `json:"approvals"`
		}{append([]approval.Question{}, open...)}, p.out.TTY)
	}
	if len(open) == 0 {
		p.err.Line("no question waits for an answer")
		return nil
	}
	rows := [][]string{{"ID", "TOOL", "WHAT", "AGE", "UNTIL", "SESSION"}}
	for _, q := range open {
		until := "-"
		if q.Expires != nil {
			until = q.Expires.Local().Format(time.TimeOnly)
		}
		rows = append(rows, []string{q.ID, q.Tool, subject(q), term.Age(p.Now().Sub(q.AskedAt)), until, q.Session})
	}
	p.out.Table(rows, 2)
	return nil
}

// approvalArg names one question.
type approvalArg struct {
	ID string
}

func (c *approvalArg) declare(b *builder) {
	b.arg(&c.ID, "id", "The question's id, or the beginning of it.")
}

// with opens the store, finds the question and calls do.
func (a approvalArg) with(ctx context.Context, p *Program, url string, do func(*session.Sessions, questionDoc) error) error {
	sessions, closeStore, err := p.openStore(ctx, url)
	if err != nil {
		return err
	}
	defer closeStore()
	q, ans, err := approval.Find(ctx, sessions, a.ID)
	if errors.Is(err, approval.ErrNoQuestion) {
		return &failure{
			msg: fmt.Sprintf("there is no question %q", a.ID), out: outcome.NotFound, err: err,
			hint: "holdfast approvals list",
		}
	}
	if err != nil {
		return err
	}
	return do(sessions, questionDoc{q, ans})
}

// approvalsShowCmd is `holdfast approvals show`.
type approvalsShowCmd struct {
	approvalArg
	storeFlags
	jsonFlag
}

func (c *approvalsShowCmd) declare(b *builder) {
	b.include(&c.approvalArg)
	b.include(&c.storeFlags)
	b.include(&c.jsonFlag)
}

func (c *approvalsShowCmd) run(ctx context.Context, p *Program) error {
	return c.with(ctx, p, c.Store, func(_ *session.Sessions, d questionDoc) error {
		if c.JSON {
			return p.out.JSON(d, p.out.TTY)
		}
		t := p.out.Style
		printQuestion(p.out, d.Question, p.Now())
		p.out.Line("  %s  %s", t.Dim("session"), term.Escape(d.Session))
		for i, s := range d.Scopes {
			name := "scope  "
			if i > 0 {
				name = "       "
			}
			p.out.Line("  %s  %s", t.Dim(name), term.EscapeStrict(scopeText(s)))
		}
		if a := d.Answer; a != nil {
			p.out.Line("  %s  %s", t.Dim("answer "), term.EscapeStrict(answerText(*a)))
			return nil
		}
		p.err.Line("%s %s, or deny", p.err.Bold("hint:"), allowLine(d.Question))
		return nil
	})
}

// allowLine is the command that says yes.
func allowLine(q approval.Question) string {
	var line strings.Builder
	line.WriteString("holdfast approvals allow " + q.ID)
	if q.Plan() != "" {
		line.WriteString(" [--mode acceptEdits]")
	}
	for i := range q.Choices() {
		fmt.Fprintf(&line, ` --answer "%d=…"`, i+1)
	}
	return line.String()
}

// scopeText is a scope in words, with the rule that it is.
func scopeText(s approval.Scope) string {
	if s.Rule == "" {
		return s.Text
	}
	return s.Rule + "  " + s.Text
}

// answerText tells an answer in one line: "allow by ann (cli): because".
func answerText(a approval.Answer) string {
	s := string(a.Decision) + " by " + cmp.Or(a.By, "somebody")
	if a.Via != "" {
		s += " (" + a.Via + ")"
	}
	if a.Scope != "" {
		s += ", for " + a.Scope
	}
	if a.Message != "" {
		s += ": " + a.Message
	}
	return s
}

// answerFlags are shared by allow and deny.
type answerFlags struct {
	ForSession bool
	Scope      string
	Message    string
	By         string
}

func (c *answerFlags) declare(b *builder) {
	b.group = "Answer"
	b.flag(&c.ForSession, "for-session", "", "", "For the session, not only once.")
	b.flag(&c.Scope, "scope", "", "RULE", "With --for-session: what it covers, as a rule; default exactly this request.")
	b.flag(&c.Message, "message", "m", "TEXT", "Why; a no tells the model.")
	b.flag(&c.By, "by", "", "NAME", "Who answers; default $USER.")
}

func (f *answerFlags) answer(p *Program, id string, once, always approval.Decision) (approval.Answer, error) {
	message, err := p.masked(f.Message)
	if err != nil {
		return approval.Answer{}, err
	}
	a := approval.Answer{
		Question: id, Decision: once, Scope: f.Scope, Message: message, Via: "cli",
		By: cmp.Or(f.By, p.env("USER"), p.env("LOGNAME"), "person"), At: p.Now(),
	}
	if f.ForSession {
		a.Decision = always
	} else if f.Scope != "" {
		return a, usage("--scope says what a decision for the session covers", "add --for-session")
	}
	return a, nil
}

// approvalsAllowCmd is `holdfast approvals allow`.
type approvalsAllowCmd struct {
	approvalArg
	answerFlags
	Mode   string
	Answer []string
	Field  []string
	storeFlags
	jsonFlag
}

func (c *approvalsAllowCmd) declare(b *builder) {
	b.include(&c.approvalArg)
	b.include(&c.answerFlags)
	b.group = "Answer"
	b.flag(&c.Mode, "mode", "", "MODE", "Of a plan: the mode in which it is carried out, default or acceptEdits.", "default", "acceptEdits")
	b.flag(&c.Answer, "answer", "", "N=TEXT", "Of questions to you: the answer to the Nth, the label of an option or other words; may be repeated.")
	b.flag(&c.Field, "field", "", "NAME=VALUE", "Of what an MCP server asks: a field and its value; may be repeated. What is not named is what is proposed.")
	b.group = ""
	b.include(&c.storeFlags)
	b.include(&c.jsonFlag)
}

func (c *approvalsAllowCmd) run(ctx context.Context, p *Program) error {
	return c.with(ctx, p, c.Store, func(s *session.Sessions, d questionDoc) error {
		a, err := c.answer(p, d.ID, approval.Allow, approval.AllowSession)
		if err == nil {
			a.Input, err = c.input(d.Question)
		}
		if err != nil {
			return err
		}
		return p.decide(ctx, s, d, a, c.Store, c.JSON)
	})
}

// input is what the call is to run with: the mode of a plan, the answers to questions, the
// fields of a form.
func (c *approvalsAllowCmd) input(q approval.Question) (json.RawMessage, error) {
	list, plan, form := q.Choices(), q.Plan(), q.Form()
	switch {
	case len(c.Field) > 0 && form == nil:
		return nil, usage("--field is for what an MCP server asks, and question "+q.ID+" is about "+q.Tool, "leave it out")
	case c.Mode != "" && plan == "":
		return nil, usage("--mode is for a plan, and question "+q.ID+" is about "+q.Tool, "leave it out")
	case len(c.Answer) > 0 && list == nil:
		return nil, usage("--answer is for questions to you, and question "+q.ID+" is about "+q.Tool, "leave it out")
	case c.Mode != "":
		return approval.Planned(q, policy.Mode(c.Mode))
	case form != nil:
		in, err := readFields(q, form, c.Field)
		if err != nil {
			return nil, usage(err.Error(), "holdfast approvals allow "+q.ID+" --field NAME=VALUE")
		}
		return in, nil
	case list == nil:
		return nil, nil
	}
	answers := map[string][]string{}
	for _, text := range c.Answer {
		number, said, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || n > len(list) {
			return nil, usage(fmt.Sprintf("--answer %s: want N=TEXT, N from 1 to %d", text, len(list)), "holdfast approvals show "+q.ID)
		}
		answers[list[n-1].Question] = append(answers[list[n-1].Question], said)
	}
	in, err := approval.Answered(q, answers)
	if err == nil {
		_, _, err = approval.ReadAnswers(q.Requests[0].Input, in)
	}
	if err != nil {
		return nil, usage(err.Error(), allowLine(q))
	}
	return in, nil
}

// approvalsDenyCmd is `holdfast approvals deny`.
type approvalsDenyCmd struct {
	approvalArg
	answerFlags
	Stop bool
	storeFlags
	jsonFlag
}

func (c *approvalsDenyCmd) declare(b *builder) {
	b.include(&c.approvalArg)
	b.include(&c.answerFlags)
	b.group = "Answer"
	b.flag(&c.Stop, "stop", "", "", "End the turn as well.")
	b.group = ""
	b.include(&c.storeFlags)
	b.include(&c.jsonFlag)
}

func (c *approvalsDenyCmd) run(ctx context.Context, p *Program) error {
	return c.with(ctx, p, c.Store, func(s *session.Sessions, d questionDoc) error {
		a, err := c.answer(p, d.ID, approval.Deny, approval.DenySession)
		if err != nil {
			return err
		}
		a.Stop = c.Stop
		return p.decide(ctx, s, d, a, c.Store, c.JSON)
	})
}

// resolve records an answer: through the daemon, when one serves the store, so that a
// run that waits there hears of it at once. The daemon writes down whom it takes the
// caller for, so an answer in somebody else's name goes to the store, where the run
// looks a little later.
func (p *Program) resolve(ctx context.Context, s *session.Sessions, d questionDoc, a approval.Answer, store string) (approval.Answer, error) {
	if err := p.notFromRun("answer its questions"); err != nil {
		return a, err
	}
	c := p.dial(ctx, store)
	if c == nil {
		return p.resolveHere(ctx, s, d, a)
	}
	defer c.Close()
	if c.Info().Caller.Agent {
		return a, &failure{msg: "an agent of this daemon cannot answer its questions", out: outcome.Denied, hint: "answer it from a terminal of your own"}
	}
	if a.By != p.who("") {
		return p.resolveHere(ctx, s, d, a)
	}
	done, err := c.Decide(ctx, d.ID, api.Decision{
		Decision: a.Decision, Scope: a.Scope, Message: a.Message, Stop: a.Stop, Input: a.Input, Digest: d.Digest,
	})
	if lost, ok := errors.AsType[*api.Problem](err); ok && lost.Winner != nil {
		return a, &approval.AnsweredError{Winner: *lost.Winner}
	}
	if err != nil || done.Answer == nil {
		return a, err
	}
	return *done.Answer, nil
}

// resolveHere writes an answer down as it is. So what a person fills in may hold no key: only
// the process that runs the call can use it and mask it on record.
func (p *Program) resolveHere(ctx context.Context, s *session.Sessions, d questionDoc, a approval.Answer) (approval.Answer, error) {
	if d.Form() != nil {
		masked, err := p.masked(string(a.Input))
		if err != nil {
			return a, err
		}
		if masked != string(a.Input) {
			return a, &failure{
				msg: "what is filled in holds something that looks like a key, and would be written down", out: outcome.Denied,
				hint: "answer where the run is: at its terminal, or through the daemon that it runs in",
			}
		}
	}
	return approval.Resolve(ctx, s, d.Session, a)
}

// decide records an answer and says who goes on.
func (p *Program) decide(ctx context.Context, s *session.Sessions, d questionDoc, a approval.Answer, store string, asJSON bool) error {
	won, err := p.resolve(ctx, s, d, a, store)
	if lost, ok := errors.AsType[*approval.AnsweredError](err); ok {
		return &failure{
			msg: fmt.Sprintf("question %s was answered already: %s", d.ID, answerText(lost.Winner)), out: outcome.Approval, err: err,
		}
	}
	if err != nil {
		return err
	}
	d.Answer = &won
	if asJSON {
		return p.out.JSON(d, p.out.TTY)
	}
	p.err.Line("%s  %s: %s", d.ID, term.Escape(d.Tool), term.Escape(answerText(won)))
	if held, err := s.Held(ctx, d.Session); err == nil && held == nil {
		p.err.Line("%s nobody runs session %s; go on: holdfast run %s--resume %s", p.err.Bold("hint:"), d.Session, storeArg(store), d.Session)
	}
	return nil
}
