package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
)

// asker puts questions to the person at the terminal. It shows exactly what
// would happen and takes nothing but a clear answer.
type asker struct {
	in    io.Reader
	out   *printer
	cwd   string
	close func()
	lines chan string // nil until the first question; closed at the end of input
}

// asker returns nil when nobody is there to ask. The caller closes it.
func (p *Program) asker(cwd string) *asker {
	out, done := p.screen()
	if out == nil {
		return nil
	}
	return &asker{in: p.Stdin, out: out, cwd: cwd, close: done}
}

// ask shows a question and waits for the answer; the end of ctx is a no that
// stops the turn.
func (a *asker) ask(ctx context.Context, q approval.Question) (approval.Answer, error) {
	pr := a.out
	pr.progress().work("")
	a.show(q)
	for {
		pr.text(pr.term.bold("allow this once? ") + "[y]es · [n]o, or n and why · [s]top: ")
		line, ok, err := a.line(ctx)
		if err != nil {
			//nolint:nilerr // the interrupt is the answer
			return approval.Answer{Decision: approval.Deny, By: "interrupt", Message: "interrupted while a person was asked", Stop: true}, nil
		}
		pr.shape.setMidLine(false) // the person's own newline moved the cursor
		if !ok {
			return approval.Answer{Decision: approval.Deny, By: "nobody", Message: "input ended before there was an answer"}, nil
		}
		if ans, ok := answer(line); ok {
			return ans, nil
		}
		pr.line("please answer y, n or s")
	}
}

// answer reads what a person typed. Only a plain yes is a yes.
func answer(line string) (approval.Answer, bool) {
	word, why, _ := strings.Cut(strings.TrimSpace(line), " ")
	why = strings.TrimSpace(why)
	switch strings.ToLower(strings.TrimRight(word, ",:")) {
	case "y", "yes":
		if why == "" {
			return approval.Answer{Decision: approval.Allow, By: "person"}, true
		}
	case "n", "no":
		return approval.Answer{Decision: approval.Deny, By: "person", Message: why}, true
	case "s", "stop":
		return approval.Answer{Decision: approval.Deny, By: "person", Message: why, Stop: true}, true
	}
	return approval.Answer{}, false
}

// line reads one line of input, or gives up when ctx ends.
func (a *asker) line(ctx context.Context) (string, bool, error) {
	if a.lines == nil {
		a.lines = make(chan string)
		go readLines(a.in, a.lines) // ends with its input, or with the process
	}
	select {
	case s, ok := <-a.lines:
		return s, ok, nil
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	}
}

func readLines(r io.Reader, lines chan<- string) {
	defer close(lines)
	br := bufio.NewReader(r)
	for {
		s, err := br.ReadString('\n')
		if err != nil {
			return // a line without its end is no answer
		}
		lines <- strings.TrimRight(s, "\r\n")
	}
}

// show prints everything that the call would do; nothing is left out.
func (a *asker) show(q approval.Question) {
	pr, t := a.out, a.out.term
	pr.line("")
	pr.line("%s %s", t.yellow("permission"), t.bold(exact(q.Tool)))
	for i, r := range q.Requests {
		if len(q.Requests) > 1 {
			pr.line("  %s", t.dim(fmt.Sprintf("%d of %d", i+1, len(q.Requests))))
		}
		pr.line("  %s  %s", t.dim("what  "), operation(r.Operation))
		lines := strings.Split(exact(r.Resource), "\n")
		pr.line("  %s  %s", t.dim("exact "), t.bold(lines[0]))
		for _, l := range lines[1:] {
			pr.line("          %s", t.bold(l))
		}
		if r.Shown != "" && r.Shown != r.Resource {
			for l := range strings.Lines(r.Shown) {
				pr.line("  %s", a.diffLine(exact(strings.TrimRight(l, "\n"))))
			}
		} else if r.Operation != policy.OpCommand {
			a.input(r.Input)
		}
	}
	pr.line("  %s  %s", t.dim("in    "), exact(a.cwd))
	pr.line("  %s  %s", t.dim("why   "), exact(orElse(q.Why, "mode "+string(q.Mode))))
}

func (a *asker) diffLine(l string) string {
	t := a.out.term
	switch {
	case strings.HasPrefix(l, "+"):
		return t.green(l)
	case strings.HasPrefix(l, "-"):
		return t.red(l)
	}
	return t.dim(l)
}

// input prints the call's input, member by member.
func (a *asker) input(raw json.RawMessage) {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return
	}
	for l := range strings.Lines(string(b)) {
		a.out.line("    %s", exact(strings.TrimRight(l, "\n")))
	}
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
	}
	return exact(string(op))
}
