// Package question prints approval requests, questions and MCP forms, and asks for answers at the
// terminal. It shows everything that a call would do, and accepts only a clear answer.
package question

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// Choices returns the questions of the model in a request; for other requests it returns nil.
func Choices(q *approval.Request) []forms.Choice {
	if q.Tool != forms.AskTool || !q.Person() {
		return nil
	}
	return forms.Choices(q.Requests[0].Input)
}

// Form returns the MCP form in a request; for other requests it returns nil.
func Form(q *approval.Request) *forms.Form {
	if len(q.Requests) != 1 || !q.Requests[0].Form || !q.Requests[0].Person {
		return nil
	}
	return forms.FormOf(q.Requests[0].Input)
}

// PrintApproval prints everything that a call would do and why it needs approval. It omits nothing
// and shows invisible characters.
func PrintApproval(p *term.Printer, q approval.Request, now time.Time) {
	t := p.Style
	if list, plan, form := Choices(&q), q.Plan(), Form(&q); list != nil || plan != "" || form != nil {
		printForPerson(p, q, list, plan, form, now)
		return
	}
	printHead(p, t.Yellow("permission")+" "+t.Bold(oneLine(q.Tool)), q)
	for i, r := range q.Requests {
		if len(q.Requests) > 1 {
			p.Line("  %s", t.Dim(fmt.Sprintf("%d of %d", i+1, len(q.Requests))))
		}
		printRequest(p, r)
	}
	printFact(p, "in", q.Cwd, plain)
	printFact(p, "why", ReasonLine(q), plain)
	if q.SandboxOpens() == nil { // the request already shows what the sandbox refused
		printFact(p, "sandbox", q.Sandbox, plain)
	}
	printUntil(p, q, now)
}

// printForPerson prints a request that only a user can answer: a plan, questions of the model, or
// an MCP form.
func printForPerson(p *term.Printer, q approval.Request, list []forms.Choice, plan string, form *forms.Form, now time.Time) {
	t := p.Style
	switch {
	case form != nil:
		printForm(p, q, form)
	case plan != "":
		printHead(p, t.Yellow("plan"), q)
		printPlan(p, plan)
	default:
		printAsks(p, q, len(list), now)
		for i, c := range list {
			printChoice(p, i, len(list), c)
		}
		return
	}
	printUntil(p, q, now)
}

// printAsks prints that the model asks questions.
func printAsks(p *term.Printer, q approval.Request, n int, now time.Time) {
	of := ""
	if n > 1 {
		of = "  " + term.Count(n, "question")
	}
	printHead(p, p.Yellow("the agent asks")+of, q)
	printUntil(p, q, now)
}

func printUntil(p *term.Printer, q approval.Request, now time.Time) {
	if q.Expires != nil {
		printFact(p, "until", expiry(*q.Expires, now), plain)
	}
}

// printHead prints the first line of a request, with the name of a sub-agent.
func printHead(p *term.Printer, text string, q approval.Request) {
	if q.Agent != "" {
		text += p.Dim("  (agent " + oneLine(q.Agent) + ")")
	}
	if p.TTY {
		text = strings.Join(term.Wrap(text, p.Columns()-2), "\n  ")
	}
	p.Line("%s", text)
}

// oneLine returns an untrusted text as one line that is safe for a terminal.
func oneLine(s string) string { return term.EscapeStrict(term.OneLine(s)) }

// printRequest prints one effect that a call would have.
func printRequest(p *term.Printer, r policy.Request) {
	t := p.Style
	if r.Opens() || r.Confined && r.Operation == policy.OpConnect {
		printOpening(p, r)
		return
	}
	printFact(p, "what", operationVerb(r.Operation), plain)
	printExact(p, "exact", r.Resource, t.Bold)
	if r.Unsandboxed {
		printFact(p, "where", "outside the sandbox, without confinement", t.Yellow)
	}
	switch shown := r.Display; {
	case shown == "" || shown == r.Resource:
		if r.Operation != policy.OpCommand {
			printInput(p, r.Input)
		}
	case r.Operation == policy.OpWrite:
		printChange(p, r)
	default:
		printText(p, shown)
	}
}

// printOpening prints the access that a command needs and the sandbox refuses.
func printOpening(p *term.Printer, r policy.Request) {
	var in struct{ Command, Refused string }
	_ = json.Unmarshal(r.Input, &in) // missing fields are not printed
	printFact(p, "refused", in.Refused, plain)
	what := "let commands use " + r.Resource + ", and run this again:"
	switch {
	case r.Address != "":
		what = "connect to " + r.Resource + " at the private address " + r.Address
	case r.Operation == policy.OpConnect:
		what = "connect to " + r.Resource
	case r.Operation == policy.OpWrite && r.Base == "absent":
		what = "let commands write " + r.Resource + ", which will be created, and run this again:"
	case r.Operation == policy.OpWrite:
		what = "let commands write " + r.Resource + ", and run this again:"
	}
	printExact(p, "what", what, p.Bold)
	printExact(p, "command", in.Command, plain)
}

// printInput prints a call's input, field by field.
func printInput(p *term.Printer, raw json.RawMessage) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return
	}
	if b, err := json.MarshalIndent(v, "", "  "); err == nil {
		printText(p, string(b))
	}
}

// ReasonLine returns the reason for an approval request in one line: the rule or guard that
// requires approval, where it is defined, and the mode.
func ReasonLine(q approval.Request) string {
	why := cmp.Or(q.ReasonText, q.AskedBy)
	if r := q.Rule; r != nil && r.File != "" && !strings.Contains(why, filepath.Base(r.File)) {
		why += fmt.Sprintf(" (%s:%d)", r.File, r.Line)
	}
	if q.Reason == record.ReasonOverride {
		why = "denied for this session; the agent asks for one exception: " + why
	}
	if m := string(q.Mode); m != "" && !strings.Contains(why, m+" mode") {
		why += ", mode " + m
	}
	return why
}

// expiry returns when a request expires.
func expiry(at, now time.Time) string {
	left := at.Sub(now)
	if left <= 0 {
		return "timed out; the call is denied"
	}
	return at.Local().Format("15:04:05") + ", in " + term.Elapsed(left.Round(time.Second)) + "; then the call is denied"
}

// operationVerb describes an operation.
func operationVerb(op policy.Operation) string {
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
	return string(op)
}

// Subject returns in a few words what a request is about, for a list.
func Subject(q approval.Request) string {
	if len(q.Requests) == 0 {
		return q.Tool
	}
	if list := Choices(&q); list != nil {
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

// ScopeText returns a scope in words, with its rule.
func ScopeText(s approval.Scope) string {
	if s.Rule == "" {
		return s.Text
	}
	return s.Rule + "  " + s.Text
}

// AnswerText describes an answer in one line, such as "allow by ann (cli): because".
func AnswerText(a approval.Answer) string {
	s := string(a.Decision) + " by " + cmp.Or(a.Actor, "an unknown user")
	if a.Via != "" {
		s += " (" + a.Via + ")"
	}
	if a.Scope != "" {
		s += ", for " + a.Scope
	}
	switch a.SaveTo {
	case layernames.Local, layernames.Project:
		s += ", always in this project"
	case layernames.User:
		s += ", always"
	}
	if a.Message != "" {
		s += ": " + a.Message
	}
	return s
}
