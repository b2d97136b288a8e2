package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// CommandLists are lists of commands; see [CommandLists.Policy]. An entry is the name of a program
// ("rm"), the specifier of a rule ("git push:*", "npm run *"), or a whole rule
// ("Bash(git push:*)").
type CommandLists struct {
	Allow   []string
	Deny    []string // entries that override Allow; one denied command is enough to deny the line
	Default Effect   // effect for a line with a command that neither list contains; may be NoOpinion
	Cwd     string
	Home    string
}

// commandPolicy decides about command lines by the commands that they would run, at any depth
// (agentkit's command policies). It denies a line that contains a denied command. It asks about a
// line that cannot be parsed, or denies it if the default is deny. It allows a line whose commands
// are all allowed, unless the line redirects output to a file. It has no opinion on requests that
// are not commands.
type commandPolicy struct {
	allow, deny []commandEntry
	rest        Effect
	home        string
}

// commandEntry is one entry: a program name, or a pattern for command lines.
type commandEntry struct {
	text    string
	program string
	line    linePattern
}

// Policy compiles the lists. Empty lists without a default, an entry that cannot be parsed, and an
// unknown default are errors that wrap [ErrInvalid].
func (o CommandLists) Policy() (Policy, error) {
	c := &commandPolicy{rest: o.Default, home: o.Home}
	switch {
	case !slices.Contains([]Effect{NoOpinion, Allow, Deny, Ask}, o.Default):
		return nil, fmt.Errorf("%w: unknown default %q for commands; hint: use allow, deny or ask", ErrInvalid, o.Default)
	case len(o.Allow) == 0 && len(o.Deny) == 0 && o.Default == NoOpinion:
		return nil, fmt.Errorf("%w: the list of commands is empty; hint: name a program, or omit the list", ErrInvalid)
	}
	read := &shellparse.Options{Dir: o.Cwd, Home: o.Home}
	for _, list := range []struct {
		name  string
		texts []string
		to    *[]commandEntry
	}{{"deny", o.Deny, &c.deny}, {"allow", o.Allow, &c.allow}} {
		for _, text := range list.texts {
			e, wrong := newCommandEntry(text, read)
			if wrong != nil {
				return nil, fmt.Errorf("%w: %s of commands: %q: %w", ErrInvalid, list.name, text, wrong)
			}
			*list.to = append(*list.to, e)
		}
	}
	return c, nil
}

func newCommandEntry(text string, o *shellparse.Options) (commandEntry, *parseError) {
	e := commandEntry{text: text}
	spec := strings.TrimSpace(text)
	if spec == "" {
		return e, &parseError{"the entry is empty", `write a program's name, or "git push:*"`}
	}
	if wrong := checkInvisible(spec); wrong != nil {
		return e, wrong
	}
	if inner, ok := strings.CutPrefix(spec, "Bash("); ok {
		if spec, wrong := closeSpec(inner); wrong != nil {
			return e, wrong
		} else if strings.TrimSpace(spec) == "" {
			return e, &parseError{"the parentheses are empty", `write a program's name, or "git push:*"`}
		} else {
			return e.read(spec, o)
		}
	}
	if _, wrong := closeSpec(spec + ")"); wrong != nil {
		return e, wrong
	}
	return e.read(spec, o)
}

func (e commandEntry) read(spec string, o *shellparse.Options) (commandEntry, *parseError) {
	if !strings.ContainsAny(spec, " \t\n*\\'\"|&;<>()$`=:") {
		e.program = spec
		return e, nil
	}
	var wrong *parseError
	e.line, wrong = newLinePattern(spec, o)
	return e, wrong
}

// denies reports whether the entry matches a command in any of its forms.
func (e *commandEntry) denies(c *shellparse.Command, lines []string) bool {
	if e.program != "" {
		return c.Name == e.program || c.Program == e.program
	}
	return slices.ContainsFunc(lines, e.line.match)
}

// permits reports whether the entry matches a command as it is written. A program name also matches
// the path of the system's program with that name.
func (e *commandEntry) permits(c *shellparse.Command) bool {
	if e.program != "" {
		return c.Program == e.program || c.Name == e.program && shellparse.IsSystemProgram(c.Program)
	}
	return e.line.match(c.Line) || e.line.match(c.LineByName())
}

// Evaluate decides about a command line.
func (c *commandPolicy) Evaluate(r Request) Verdict { return c.judge(newRequestView(r, c.home, nil)) }

func (c *commandPolicy) judge(s *requestView) Verdict {
	if s.reading == nil {
		return Verdict{}
	}
	for i := range s.reading.Commands {
		for j := range c.deny {
			if e := &c.deny[j]; e.denies(&s.reading.Commands[i], s.lines[i]) {
				return e.verdict(Deny, "command %s is denied by %s", s.reading.Commands[i].Line, e.text)
			}
		}
	}
	line := oneSpace(strings.TrimSpace(s.Resource))
	for j := range c.deny {
		if e := &c.deny[j]; e.program == "" && e.line.whole && e.line.match(line) {
			return e.verdict(Deny, "command %s is denied by %s", line, e.text)
		}
	}
	if !s.reading.Static() {
		if len(c.deny) == 0 && len(c.allow) == 0 {
			return Verdict{Effect: c.rest, Reason: "the command cannot be parsed reliably: " + s.reading.Unclear[0]}
		}
		if c.rest == Deny {
			return Verdict{Effect: Deny, Reason: "the command cannot be parsed reliably: " + s.reading.Unclear[0]}
		}
		return Verdict{Effect: Ask, Reason: "the command cannot be parsed reliably: " + s.reading.Unclear[0]}
	}
	return c.judgeUndenied(s)
}

// judgeUndenied decides about a line without a denied command.
func (c *commandPolicy) judgeUndenied(s *requestView) Verdict {
	var by *commandEntry
	for i := range s.reading.Commands {
		cmd := &s.reading.Commands[i]
		j := slices.IndexFunc(c.allow, func(e commandEntry) bool { return e.permits(cmd) })
		switch {
		case j >= 0 && !setsDangerous(cmd.Assigns):
			if by == nil {
				by = &c.allow[j]
			}
		case passesOn(s.reading.Commands, i):
		case c.rest == NoOpinion:
			return Verdict{}
		default:
			return Verdict{Effect: c.rest, Reason: "no entry matches the command " + cmd.Line}
		}
	}
	switch {
	case by == nil:
		return Verdict{Effect: c.rest}
	case slices.ContainsFunc(s.paths, isRedirectTarget):
		return Verdict{} // the lists do not cover the files to which output is written
	}
	return by.verdict(Allow, "command %s is allowed by %s", s.reading.Commands[0].Line, by.text)
}

// isRedirectTarget reports whether a redirection of the line writes to a path.
func isRedirectTarget(p requestPath) bool {
	return p.from == shellparse.FromRedirect && p.access&shellparse.Write != 0 && !isHarmlessDevice(p.path)
}

func (e *commandEntry) verdict(effect Effect, format string, args ...any) Verdict {
	return Verdict{Effect: effect, Reason: fmt.Sprintf(format, args...), Rule: &Origin{Rule: e.text}}
}
