package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/spelling"
	"github.com/holdfast-dev/holdfast/internal/truncate"
)

// maxText is the maximum length of a text in Claude's dialect, in characters.
const maxText = 10_000

// decodeOutput parses the JSON object that a command printed or an HTTP hook returned. Fields are
// decoded for any event. The merge later finds those that the event does not support. Notices
// describe fields that have no effect. The error reports an invalid value. In that case, only a
// block, deny or stop in the output applies. If there is one, it becomes the output, and the error
// becomes a notice.
func decodeOutput(d string, e Event, stdout []byte) (*Output, []string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(stdout, &fields); err != nil {
		return nil, nil, fmt.Errorf("the output is not a JSON object: %w", err)
	}
	a := &outputReader{dialect: d, event: e, out: &Output{}}
	if d == "" {
		a.dialect = dialectClaude
	}
	a.read("", fields, a.topLevel())
	a.out.Block = a.block
	switch a.out.Decision {
	case decisionBlock:
		a.out.Block = true
	case decisionApprove:
		a.out.Block = a.block && a.dialect == dialectClaude // in the Open Agent SDK's dialect, decision wins
	}
	switch out := a.out.refusal(); {
	case a.err != nil && out != nil:
		return out, append(a.notices, a.err.Error()+"; only a block or deny in the output applies"), nil
	case a.err != nil:
		return nil, a.notices, a.err
	}
	return a.out, a.notices, nil
}

// refusal returns an output with only the block, deny and stop of o, or nil if o has none of them.
func (o *Output) refusal() *Output {
	r := &Output{Block: o.blocks(), Stop: o.Stop, StopReason: o.StopReason, Message: o.Message, Reason: o.Reason}
	if o.Permission == decisionDeny {
		r.Permission, r.PermissionReason, r.Interrupt = o.Permission, o.PermissionReason, o.Interrupt
	}
	if !r.Block && !r.Stop && r.Permission == "" {
		return nil
	}
	return r
}

const (
	decisionBlock   = "block"
	decisionApprove = "approve"
	decisionDeny    = "deny"
)

// isAsync reports whether stdout is {"async": true}, and returns its asyncTimeout (in
// milliseconds), or 0.
func isAsync(stdout []byte) (timeout time.Duration, ok bool) {
	var first struct {
		Async        bool    `json:"async"`
		AsyncTimeout float64 `json:"asyncTimeout"`
	}
	if !bytes.HasPrefix(bytes.TrimSpace(stdout), []byte("{")) || json.Unmarshal(stdout, &first) != nil || !first.Async {
		return 0, false
	}
	ms := min(max(first.AsyncTimeout, 0), float64(maxTimeout.Milliseconds()))
	return time.Duration(ms * float64(time.Millisecond)), true
}

// outputReader decodes one output.
type outputReader struct {
	dialect string
	event   Event
	out     *Output
	block   bool
	notices []string
	err     error // the first error
}

// fieldDecoder decodes the value of one field.
type fieldDecoder func(path string, raw json.RawMessage)

func (a *outputReader) read(path string, fields map[string]json.RawMessage, known map[string]fieldDecoder) {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		sub := name
		if path != "" {
			sub = path + "." + name
		}
		take, ok := known[name]
		switch raw := fields[name]; {
		case !ok && len(a.notices) < maxNotices:
			a.notice("unknown field %.60q in the output; %s", sub, spelling.Hint(name, slices.Sorted(maps.Keys(known)), "the fields are"))
		case ok && !isNull(raw):
			take(sub, raw)
		}
	}
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// topLevel returns the fields other than hookSpecificOutput.
func (a *outputReader) topLevel() map[string]fieldDecoder {
	o := a.out
	known := map[string]fieldDecoder{
		"message":                  a.text(&o.Message),
		"block":                    a.flag(&a.block),
		"decision":                 a.decision,
		"reason":                   a.text(&o.Reason),
		"systemMessage":            a.text(&o.SystemMessage),
		"additionalContext":        a.text(&o.Context),
		"permissionDecision":       a.permission,
		"permissionDecisionReason": a.text(&o.PermissionReason),
		"updatedInput":             a.object(&o.Input),
		"updatedMCPToolOutput":     a.anyJSON(&o.ToolOutput),
		"permissionUpdate":         a.update,
		"notification":             a.notification,
		"continue":                 a.continue_,
		"stopReason":               a.text(&o.StopReason),
		"suppressOutput":           a.flag(&o.SuppressOutput),
		"terminalSequence":         a.terminal,
		"hookSpecificOutput":       a.specific,
	}
	if a.dialect == dialectClaude {
		known["systemMessage"] = a.text(&o.Warning)
		known["async"] = func(string, json.RawMessage) {}
		known["asyncTimeout"] = func(string, json.RawMessage) {}
	}
	return known
}

// maxNotices is the maximum number of notices about one output.
const maxNotices = 20

func (a *outputReader) notice(format string, args ...any) {
	switch len(a.notices) {
	case maxNotices:
		return
	case maxNotices - 1:
		format, args = "more problems of this output are not listed", nil
	}
	a.notices = append(a.notices, fmt.Sprintf(format, args...))
}

// into unmarshals a value. A wrong type becomes the output's error.
func (a *outputReader) into(path string, raw json.RawMessage, v any, want string) bool {
	if err := json.Unmarshal(raw, v); err != nil {
		a.fail("%s: want %s, not %s", path, want, truncate.String(string(raw), maxQuoted))
		return false
	}
	return true
}

func (a *outputReader) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, args...)
	}
}

func (a *outputReader) text(into *string) fieldDecoder {
	return func(path string, raw json.RawMessage) {
		if a.into(path, raw, into, "a string") && a.dialect == dialectClaude {
			*into = a.cut(path, *into)
		}
	}
}

// cut shortens a text that is too long.
func (a *outputReader) cut(path, text string) string {
	short := cut(text, maxText)
	if short != text {
		a.notice("%s was cut to %d characters", path, maxText)
	}
	return short
}

func (a *outputReader) flag(into *bool) fieldDecoder {
	return func(path string, raw json.RawMessage) { a.into(path, raw, into, "true or false") }
}

func (a *outputReader) continue_(path string, raw json.RawMessage) {
	on := true
	a.into(path, raw, &on, "true or false")
	a.out.Stop = !on
}

func (a *outputReader) stringField(into *string, words ...string) fieldDecoder {
	return func(path string, raw json.RawMessage) {
		var s string
		if !a.into(path, raw, &s, "a string") {
			return
		}
		if !slices.Contains(words, s) {
			a.fail("%s: unknown value %s; want one of %q", path, truncate.String(string(raw), maxQuoted), words)
			return
		}
		*into = s
	}
}

// decision decodes the top-level decision. Another word for a block, such as "deny", is an error,
// but it still blocks.
func (a *outputReader) decision(path string, raw json.RawMessage) {
	if a.stringField(&a.out.Decision, decisionApprove, decisionBlock)(path, raw); refuses(raw) {
		a.block = true
	}
}

func (a *outputReader) permission(path string, raw json.RawMessage) {
	var s string
	if a.stringField(&s, permissions...)(path, raw); refuses(raw) {
		s = decisionDeny
	}
	a.permit(s)
}

// refuses reports whether a value is "deny" or "block", in upper or lower case.
func refuses(raw json.RawMessage) bool {
	var s string
	return json.Unmarshal(raw, &s) == nil && (strings.EqualFold(s, decisionDeny) || strings.EqualFold(s, decisionBlock))
}

// permissions are the possible permissions, from weakest to strongest.
var permissions = []string{"allow", "ask", "defer", decisionDeny}

// permit keeps the strongest permission if an output contains several.
func (a *outputReader) permit(s string) {
	if p := &a.out.Permission; strength(s) > strength(*p) {
		*p = s
	}
}

// object stores an object unchanged.
func (a *outputReader) object(into *json.RawMessage) fieldDecoder {
	return func(path string, raw json.RawMessage) {
		var fields map[string]json.RawMessage
		if a.into(path, raw, &fields, "an object") {
			*into = slices.Clone(raw)
		}
	}
}

func (a *outputReader) anyJSON(into *json.RawMessage) fieldDecoder {
	return func(_ string, raw json.RawMessage) { *into = slices.Clone(raw) }
}

func (a *outputReader) texts(into *[]string) fieldDecoder {
	return func(path string, raw json.RawMessage) { a.into(path, raw, into, "a list of strings") }
}

// notification decodes a notification, which needs a title and a body.
func (a *outputReader) notification(path string, raw json.RawMessage) {
	var fields map[string]json.RawMessage
	if !a.into(path, raw, &fields, "an object") {
		return
	}
	var n UserNotification
	a.read(path, fields, map[string]fieldDecoder{"title": a.text(&n.Title), "body": a.text(&n.Body), "level": a.text(&n.Level)})
	if n.Title == "" || n.Body == "" {
		a.notice("%s is not shown: it needs a title and a body", path)
		return
	}
	n.Level = noteLevel(n.Level)
	a.out.Notification = &n
}

// noteLevel returns a valid level.
func noteLevel(level string) string {
	switch level {
	case "warning", "error":
		return level
	}
	return "info"
}

// maxQuoted is the maximum length of a wrong value in an error, in bytes.
const maxQuoted = 60
