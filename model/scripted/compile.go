package scripted

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// script is a validated script file.
type script struct {
	scriptFile
	steps  []step
	byMark map[string]int // index by mark
}

// step is a [scriptStep] with precomputed values.
type step struct {
	scriptStep
	mark         string // its name, or "#" and its number, starting at 1
	when, expect *match
	uses         []transcript.ToolUse // some without an id
	fail         model.Error
}

type match struct {
	stepMatch
	user, notification, result *regexp.Regexp
}

// scriptError is an error in a script, with its position: names like ".steps" and "[2]".
type scriptError struct {
	path []string
	err  error
}

func (f *scriptError) Error() string {
	at := strings.TrimPrefix(strings.Join(f.path, ""), ".")
	if at == "" {
		return f.err.Error()
	}
	return at + ": " + f.err.Error()
}

func scriptErrorf(format string, args ...any) *scriptError {
	return &scriptError{err: fmt.Errorf(format, args...)}
}

func (f *scriptError) at(name string) *scriptError {
	if f != nil {
		f.path = append([]string{name}, f.path...)
	}
	return f
}

func compile(p scriptFile) (*script, *scriptError) {
	s := &script{scriptFile: p, byMark: map[string]int{}}
	if s.Name == "" {
		s.Name = "play"
	}
	switch {
	case len(p.Steps) == 0:
		return nil, scriptErrorf("steps are missing")
	case p.Context < 0:
		return nil, scriptErrorf("must not be negative").at(".context")
	case p.MaxOutput < 0:
		return nil, scriptErrorf("must not be negative").at(".max_output")
	case p.Chunk < 0:
		return nil, scriptErrorf("must not be negative").at(".chunk")
	}
	if f := p.Delay.check(); f != nil {
		return nil, f.at(".delay")
	}
	for i, st := range p.Steps {
		c, f := compileStep(st, i)
		if _, twice := s.byMark[c.mark]; f == nil && twice {
			f = scriptErrorf("duplicate step name %q", c.mark).at(".name")
		}
		if f != nil {
			return nil, f.at(fmt.Sprintf("[%d]", i)).at(".steps")
		}
		s.byMark[c.mark] = i
		s.steps = append(s.steps, c)
	}
	for i, st := range s.steps {
		f := s.checkAfter(st.when).at(".when")
		if f == nil {
			f = s.checkAfter(st.expect).at(".expect")
		}
		if f != nil {
			return nil, f.at(fmt.Sprintf("[%d]", i)).at(".steps")
		}
	}
	return s, nil
}

func (s *script) checkAfter(m *match) *scriptError {
	if m == nil || m.After == "" {
		return nil
	}
	if _, ok := s.byMark[m.After]; !ok {
		return scriptErrorf("unknown step %q", m.After).at(".after")
	}
	return nil
}

func compileStep(s scriptStep, i int) (c step, f *scriptError) {
	c = step{scriptStep: s, mark: s.Name}
	switch {
	case s.Name == "":
		c.mark = fmt.Sprintf("#%d", i+1)
	case s.Name[0] == '#':
		return c, scriptErrorf("must not start with #").at(".name")
	}
	switch s.Finish {
	case "", transcript.FinishStop, transcript.FinishToolUse, transcript.FinishMaxTokens,
		transcript.FinishRefusal:
	default:
		return c, scriptErrorf("%q is not one of stop, tool_use, max_tokens, refusal", s.Finish).at(".finish")
	}
	if s.Chunk < 0 {
		return c, scriptErrorf("must not be negative").at(".chunk")
	}
	if s.Delay != nil {
		if f := s.Delay.check(); f != nil {
			return c, f.at(".delay")
		}
	}
	if s.Text == "" && s.Thinking == "" && len(s.ToolUses) == 0 && s.Error == nil {
		return c, scriptErrorf("a step needs text, thinking, tool_uses or error")
	}
	if c.when, f = compileMatch(s.When); f != nil {
		return c, f.at(".when")
	}
	if c.expect, f = compileMatch(s.Expect); f != nil {
		return c, f.at(".expect")
	}
	ids := map[string]bool{}
	for k, u := range s.ToolUses {
		part, f := u.compile()
		if f == nil && u.ID != "" && ids[u.ID] {
			f = scriptErrorf("duplicate id in this step").at(".id")
		}
		if f != nil {
			return c, f.at(fmt.Sprintf("[%d]", k)).at(".tool_uses")
		}
		ids[u.ID] = true
		c.uses = append(c.uses, part)
	}
	if s.Error != nil {
		if c.fail, f = s.Error.compile(); f != nil {
			return c, f.at(".error")
		}
	}
	return c, nil
}

func (d scriptDelay) check() *scriptError {
	switch {
	case d.Before < 0:
		return scriptErrorf("must not be negative").at(".before")
	case d.Chunk < 0:
		return scriptErrorf("must not be negative").at(".chunk")
	}
	return nil
}

func compileMatch(m *stepMatch) (*match, *scriptError) {
	if m == nil {
		return nil, nil
	}
	if *m == (stepMatch{}) {
		return nil, scriptErrorf("a condition is missing; any: true matches everything")
	}
	c := &match{stepMatch: *m}
	for _, e := range []struct {
		key, text string
		to        **regexp.Regexp
	}{{".user_matches", m.UserMatches, &c.user}, {".told_matches", m.NotificationMatches, &c.notification}, {".result_matches", m.ResultMatches, &c.result}} {
		if e.text == "" {
			continue
		}
		re, err := regexp.Compile(e.text)
		if err != nil {
			return nil, (&scriptError{err: err}).at(e.key)
		}
		*e.to = re
	}
	return c, nil
}

func (u scriptToolUse) compile() (transcript.ToolUse, *scriptError) {
	part := transcript.ToolUse{ID: u.ID, Name: u.Tool, Input: json.RawMessage("{}")}
	switch {
	case u.Tool == "":
		return part, scriptErrorf("a tool is missing")
	case u.Input != nil && u.RawInput != "":
		return part, scriptErrorf("input is already set").at(".raw_input")
	case u.RawInput != "" && json.Valid([]byte(u.RawInput)):
		part.Input = json.RawMessage(u.RawInput)
	case u.RawInput != "": // in the form in which the adapters store it: the text, marked as malformed
		part.Input, _ = json.Marshal(u.RawInput) // a string is always valid
		part.Extra = map[string]json.RawMessage{"malformed": json.RawMessage("true")}
	case u.Input != nil:
		v, err := appendJSON(nil, u.Input)
		if err != nil {
			return part, (&scriptError{err: fmt.Errorf("not valid as JSON: %w", err)}).at(".input")
		}
		part.Input = v
	}
	return part, nil
}

// appendJSON writes a YAML value as JSON, with keys in their order.
func appendJSON(b []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case yaml.MapSlice:
		b = append(b, '{')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(jsonscan.AppendString(b, fmt.Sprint(item.Key)), ':')
			if b, err = appendJSON(b, item.Value); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendJSON(b, e); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case string:
		return jsonscan.AppendString(b, v), nil
	}
	text, err := jsonscan.Marshal(v)
	return append(b, text...), err
}

func (e scriptFailure) compile() (model.Error, *scriptError) {
	kind, status := model.ErrorKind(e.Kind), 0
	switch kind {
	case "":
		return model.Error{}, scriptErrorf("a kind is missing")
	case model.ErrorRateLimit:
		status = 429
	case model.ErrorOverloaded:
		status = 529
	case model.ErrorAuth:
		status = 401
	case model.ErrorNotFound:
		status = 404
	case model.ErrorTooLong:
		status = 400
	case model.ErrorInvalid, "invalid":
		kind, status = model.ErrorInvalid, 400
	case model.ErrorMalformed, "malformed":
		kind = model.ErrorMalformed
	case model.ErrorNetwork, model.ErrorRefused:
	default:
		return model.Error{}, scriptErrorf("%q is not one of rate_limit, overloaded, network, auth, invalid, "+
			"context_too_long, refused, not_found, malformed", e.Kind).at(".kind")
	}
	switch {
	case e.RetryAfter < 0:
		return model.Error{}, scriptErrorf("must not be negative").at(".retry_after")
	case e.AfterChunks < 0:
		return model.Error{}, scriptErrorf("must not be negative").at(".after_chunks")
	case e.Times < 0:
		return model.Error{}, scriptErrorf("must not be negative").at(".times")
	}
	if e.Status != 0 {
		status = e.Status
	}
	message := e.Message
	if message == "" {
		message = "an error from the script"
	}
	return model.Error{Kind: kind, Provider: provider, Status: status, RetryAfter: e.RetryAfter, Message: message}, nil
}
