package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
)

// question prints everything that a call would do, and why that is asked; nothing
// is left out, and nothing invisible stays invisible.
func (p *printer) question(q approval.Question, now time.Time) {
	t := p.term
	if list, plan, form := q.Choices(), q.Plan(), q.Form(); list != nil || plan != "" || form != nil {
		p.forPerson(q, list, plan, form, now)
		return
	}
	p.line("%s %s%s", t.yellow("permission"), t.bold(exact(q.Tool)), t.dim(agentOf(q)))
	for i, r := range q.Requests {
		if len(q.Requests) > 1 {
			p.line("  %s", t.dim(fmt.Sprintf("%d of %d", i+1, len(q.Requests))))
		}
		p.request(r)
	}
	fact := func(name, text string) {
		if text != "" {
			p.line("  %s  %s", t.dim(fmt.Sprintf("%-7s", name)), exact(text))
		}
	}
	if q.Cwd != "" {
		fact("in", q.Cwd)
	}
	fact("why", whyAsked(q))
	fact("sandbox", q.Sandbox)
	p.until(q, now)
}

// forPerson prints what only a person decides about: a plan, questions of the model, or what
// an MCP server asks.
func (p *printer) forPerson(q approval.Question, list []approval.Choice, plan string, form *approval.Form, now time.Time) {
	t := p.term
	switch {
	case form != nil:
		p.form(q, form)
	case plan != "":
		p.line("%s%s", t.yellow("plan"), t.dim(agentOf(q)))
		p.plan(plan)
	default:
		p.asks(q, len(list), now)
		for i, c := range list {
			p.choice(i, len(list), c)
		}
		return
	}
	p.until(q, now)
}

// asks says that the model has questions.
func (p *printer) asks(q approval.Question, n int, now time.Time) {
	of := ""
	if n > 1 {
		of = "  " + count(n, "question")
	}
	p.line("%s%s%s", p.term.yellow("the agent asks"), of, p.term.dim(agentOf(q)))
	p.until(q, now)
}

func (p *printer) until(q approval.Question, now time.Time) {
	if q.Expires != nil {
		p.line("  %s  %s", p.term.dim("until  "), exact(expiry(*q.Expires, now)))
	}
}

func agentOf(q approval.Question) string {
	if q.Agent == "" {
		return ""
	}
	return "  (agent " + exact(q.Agent) + ")"
}

// request prints one effect that the call would have.
func (p *printer) request(r policy.Request) {
	t := p.term
	p.line("  %s  %s", t.dim("what   "), operation(r.Operation))
	if r.Unsandboxed {
		p.line("  %s  %s", t.dim("where  "), t.yellow("outside the sandbox: nothing holds it"))
	}
	lines := strings.Split(exact(r.Resource), "\n")
	p.line("  %s  %s", t.dim("exact  "), t.bold(lines[0]))
	for _, l := range lines[1:] {
		p.line("           %s", t.bold(l))
	}
	switch {
	case r.Shown != "" && r.Shown != r.Resource:
		for l := range strings.Lines(r.Shown) {
			p.line("  %s", p.diffLine(exact(strings.TrimRight(l, "\n"))))
		}
	case r.Operation != policy.OpCommand:
		p.input(r.Input)
	}
}

func (p *printer) diffLine(l string) string {
	switch {
	case strings.HasPrefix(l, "+"):
		return p.term.green(l)
	case strings.HasPrefix(l, "-"):
		return p.term.red(l)
	}
	return p.term.dim(l)
}

// input prints a call's input, member by member.
func (p *printer) input(raw json.RawMessage) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return
	}
	for l := range strings.Lines(string(b)) {
		p.line("    %s", exact(strings.TrimRight(l, "\n")))
	}
}

// whyAsked is the reason in one line: what asks, where that is written, and the mode.
func whyAsked(q approval.Question) string {
	why := orElse(q.Why, q.By)
	if r := q.Rule; r != nil && r.File != "" && !strings.Contains(why, filepath.Base(r.File)) {
		why += fmt.Sprintf(" (%s:%d)", r.File, r.Line)
	}
	if q.Reason == policy.ReasonOverride {
		why = "it was denied for this session, and asks for one exception: " + why
	}
	if m := string(q.Mode); m != "" && !strings.Contains(why, m+" mode") {
		why += ", mode " + m
	}
	return why
}

// expiry says when a question's time is up.
func expiry(at, now time.Time) string {
	left := at.Sub(now)
	if left <= 0 {
		return "its time has run out: the answer is no"
	}
	return at.Local().Format("15:04:05") + ", in " + took(left.Round(time.Second)) + "; then the answer is no"
}

// operation says in words what kind of effect is asked for.
func operation(op policy.Operation) string {
	switch op {
	case policy.OpRead:
		return "read a file (fs.read)"
	case policy.OpWrite:
		return "write a file (fs.write)"
	case policy.OpExec:
		return "run a program (fs.exec)"
	case policy.OpCommand:
		return "run a command (command.execute)"
	case policy.OpConnect:
		return "connect to a host (net.connect)"
	case policy.OpMCP:
		return "call a tool of an MCP server (mcp.call)"
	case policy.OpSecret:
		return "read a secret (secret.read)"
	case "":
		return "use a tool"
	}
	return exact(string(op))
}

// subject is what a question is about, in a few words for a list.
func subject(q approval.Question) string {
	if len(q.Requests) == 0 {
		return q.Tool
	}
	if list := q.Choices(); list != nil {
		return list[0].Question
	}
	if plan := strings.TrimSpace(q.Plan()); plan != "" {
		first, _, _ := strings.Cut(plan, "\n")
		return first
	}
	s := q.Requests[0].Resource
	if rel, err := filepath.Rel(q.Cwd, s); err == nil && q.Cwd != "" && filepath.IsAbs(s) && !strings.HasPrefix(rel, "..") {
		s = rel
	}
	if n := len(q.Requests) - 1; n > 0 {
		s += fmt.Sprintf(" and %d more", n)
	}
	return s
}
