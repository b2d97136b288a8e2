package hook

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// entry is a checked and compiled definition. It is immutable except for the field done.
type entry struct {
	Definition
	info       eventInfo
	kind       string
	by         string // its name in notices
	key        string // a string that is equal for two hooks that do the same thing; "" for functions
	match      *matcher
	cond       *condition
	explicit   bool // the definition sets a timeout
	limit      time.Duration
	failClosed bool        // a failure is treated as a block
	done       atomic.Bool // set when a hook with Once runs
}

// newEntry checks a definition and fills in defaults.
func (r *Registry) newEntry(d Definition) (*entry, error) {
	if err := d.canonicalize(); err != nil {
		return nil, err
	}
	info, _ := d.Event.info()
	e := &entry{Definition: d, info: info, kind: d.Type(), explicit: d.Timeout > 0}
	if err := r.check(e); err != nil {
		return nil, err
	}
	var err error
	if e.match, err = newMatcher(&e.Definition); err != nil {
		return nil, err
	}
	if e.cond, err = newCondition(&e.Definition, r.o.Rules); err != nil {
		return nil, err
	}
	e.fill(r.o.Strict)
	return e, nil
}

// functionName returns the name that Go gives a function: "main.checkBash", "main.run.func1".
func functionName(f function) string {
	if f == nil {
		return ""
	}
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return name[strings.LastIndexByte(name, '/')+1:]
}

// canonicalize replaces the event's name by Claude Code's, and sets the dialect from the spelling
// if it is not set.
func (d *Definition) canonicalize() error {
	event, dialect, err := parseEvent(string(d.Event))
	switch {
	case err != nil:
		return err
	case dialect == dialectSeed && d.Dialect == dialectClaude:
		return &Error{What: fmt.Sprintf("%s is not the spelling of the dialect %q", d.Event, dialectClaude), Advice: "write " + string(event)}
	}
	d.Event = event
	if d.Dialect == "" {
		d.Dialect = dialect
	}
	info, _ := event.info()
	switch {
	case d.Dialect != dialectClaude && d.Dialect != dialectSeed:
		return &Error{What: fmt.Sprintf("unknown dialect %q", d.Dialect), Advice: `write "claude" or "seed"`}
	case d.Dialect == dialectSeed && info.Seed == "":
		return &Error{What: fmt.Sprintf("the Open Agent SDK has no event %s", event), Advice: fmt.Sprintf("use the dialect %q", dialectClaude)}
	}
	return nil
}

func (r *Registry) check(e *entry) error {
	for _, check := range [...]func(*entry) error{checkKind, checkFields, checkValues, checkFailure} {
		if err := check(e); err != nil {
			return err
		}
	}
	if e.kind != typeFunction && r.o.Runner == nil {
		return &Error{What: "the registry has no Runner for " + e.kind + " hooks", Advice: "set Options.Runner, for example to hook.NewCommands"}
	}
	return nil
}

// checkKind requires exactly one of a function, a command and a URL.
func checkKind(e *entry) error {
	var has []string
	if e.Func != nil {
		has = append(has, typeFunction)
	}
	if strings.TrimSpace(e.Command) != "" {
		has = append(has, typeCommand)
	}
	if e.URL != "" {
		has = append(has, typeHTTP)
	}
	switch len(has) {
	case 0:
		return &Error{What: "the hook has nothing to run", Advice: "give it a function, a command or a URL"}
	case 1:
		return nil
	}
	return &Error{What: "the hook has a " + strings.Join(has, " and a "), Advice: "split it into separate hooks"}
}

// checkFields rejects fields that have no effect on hooks of this type.
func checkFields(e *entry) error {
	for _, f := range []struct {
		name string
		set  bool
		of   []string
	}{
		{"Args", e.Args != nil, []string{typeCommand}},
		{"Sandbox", e.Sandbox != "", []string{typeCommand}},
		{"Headers", len(e.Headers) > 0, []string{typeHTTP}},
		{"Env", len(e.Env) > 0, []string{typeCommand, typeHTTP}},
	} {
		if f.set && !slices.Contains(f.of, e.kind) {
			return &Error{Field: f.name, What: "it has no effect on a " + e.kind + " hook", Advice: "remove it"}
		}
	}
	if e.If != "" && e.info.Matches != "tool_name" {
		return &Error{Field: "If", What: fmt.Sprintf("%s is not a tool event, so the hook would never run", e.Event), Advice: "remove it"}
	}
	return nil
}

func checkValues(e *entry) error {
	switch e.Sandbox {
	case "", sandboxRead, sandboxWrite, sandboxOff:
	default:
		return &Error{Field: "Sandbox", What: fmt.Sprintf("unknown sandbox value %q", e.Sandbox), Advice: "write read, write or off"}
	}
	if e.Timeout < 0 {
		return &Error{Field: "Timeout", What: fmt.Sprintf("invalid timeout %v", e.Timeout), Advice: "use a time greater than 0, or omit it for the default"}
	}
	return nil
}

// checkFailure rejects unknown values of OnFailure. It also rejects "block" for async hooks, for
// events that cannot be blocked, and for events where a block keeps the agent from stopping,
// because a failed hook gives no reason to continue.
func checkFailure(e *entry) error {
	refuse := func(why string) error {
		return &Error{Field: "OnFailure", What: why, Advice: `write "continue", or omit it`}
	}
	switch e.OnFailure {
	case "", failContinue:
		return nil
	case failBlock:
	default:
		return refuse(fmt.Sprintf("unknown onFailure value %q", e.OnFailure))
	}
	switch {
	case e.Async:
		return refuse("the failure of an async hook cannot block")
	case !e.info.Blocks && !e.info.Guards:
		return refuse(fmt.Sprintf("%s cannot be blocked", e.Event))
	case slices.Contains([]Event{Stop, SubagentStop, TaskCompleted, TeammateIdle}, e.Event):
		return refuse(fmt.Sprintf("a failure on %s would keep the agent going", e.Event))
	}
	return nil
}

func (e *entry) fill(strict bool) {
	if e.kind == typeCommand && e.Sandbox == "" {
		e.Sandbox = sandboxRead
	}
	if e.Name == "" {
		e.Name = map[string]string{typeFunction: functionName(e.Func), typeCommand: e.Command, typeHTTP: e.URL}[e.kind]
	}
	e.by = oneLine(e.Name, maxName)
	e.limit = e.timeLimit()
	e.failClosed = e.CanBlock(strict)
	if e.kind != typeFunction {
		e.key = e.identity()
	}
}

// maxEnd is the maximum timeout of a SessionEnd hook.
const maxEnd = time.Minute

func (e *entry) timeLimit() time.Duration {
	limit := e.TimeLimit()
	if e.Event == SessionEnd {
		limit = min(limit, maxEnd)
	}
	return limit
}

// identity returns a string that is equal for hooks that run the same thing in the same way. The
// settings that select the hooks (matcher, if) and their timeouts are not part of it.
func (e *entry) identity() string {
	var b strings.Builder
	for _, s := range []string{
		e.kind, string(e.Dialect), e.Command, e.URL, string(e.Sandbox),
		strconv.FormatBool(e.Async), strconv.FormatBool(e.failClosed), strconv.FormatBool(e.Args != nil),
	} {
		b.WriteString(strconv.Quote(s))
	}
	fmt.Fprintf(&b, "%q%q%q", e.Args, slices.Sorted(slices.Values(e.Env)), e.Headers)
	return b.String()
}

const maxName = 120

// oneLine returns the first line of s, cut to limit characters.
func oneLine(s string, limit int) string {
	line, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if utf8.RuneCountInString(line) > limit {
		line, more = string([]rune(line)[:limit]), true
	}
	if more {
		line += " …"
	}
	return line
}

// field returns the value that the event's matchers compare.
func (in *Input) field(name string) string {
	switch name {
	case "tool_name":
		return in.Tool.Name
	case "source":
		return in.Source
	case "reason":
		return in.Reason
	case "trigger":
		return in.Trigger
	case "error":
		return in.End.Error
	case "agent_type":
		return in.AgentType
	case "file_path":
		return in.File.Path
	case "notification_type":
		return in.Note.Type
	case "load_reason":
		return in.File.LoadReason
	case "command_name":
		return in.Command.Name
	case "mcp_server_name":
		return in.Question.Server
	}
	return ""
}
