package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool/mcp"
)

// elicit puts what a server asks to the person: as a question of the call that the server
// works on, which is on record as any other. Fields are filled in at the terminal after a
// yes; elsewhere a yes takes what the server proposes, and where it proposes nothing for
// a field that it needs, it is told that nobody has decided.
func (b *toolbox) elicit(ctx context.Context, e mcp.Elicitation) (mcp.Answer, error) {
	content, open := proposed(e.Fields)
	if len(open) > 0 && b.form == nil {
		b.program.warn("the MCP server %s asks for %s, and nobody is at a terminal to fill it in", e.Server, strings.Join(open, ", "))
		return mcp.Answer{Action: mcp.Cancel}, errNoForm
	}
	if e.Call == nil || e.Call.Ask == nil {
		return mcp.Answer{Action: mcp.Cancel}, errNoForm
	}
	resource := "answer " + e.Server
	if e.Mode == mcp.ModeURL {
		resource = "visit " + e.URL
	}
	err := e.Call.Ask(ctx, policy.Request{
		Tool: e.Call.Tool, Session: e.Call.Session, Resource: resource, Shown: elicitText(&e), Input: e.Call.Input, Person: true,
	})
	switch {
	case ctx.Err() != nil:
		return mcp.Answer{Action: mcp.Cancel}, context.Cause(ctx)
	case err != nil:
		return mcp.Answer{Action: mcp.Decline}, nil //nolint:nilerr // that is the answer
	case e.Mode == mcp.ModeURL:
		return mcp.Answer{Action: mcp.Accept}, nil
	case b.form != nil && len(e.Fields) > 0:
		return b.form(ctx, &e)
	}
	raw, err := json.Marshal(content)
	return mcp.Answer{Action: mcp.Accept, Content: raw}, err
}

// proposed are the defaults, and the names of the fields that need a person's words.
func proposed(fields []mcp.Field) (content map[string]json.RawMessage, open []string) {
	content = map[string]json.RawMessage{}
	for _, f := range fields {
		switch {
		case f.Default != nil:
			content[f.Name] = f.Default
		case f.Required:
			open = append(open, f.Name)
		}
	}
	return content, open
}

// elicitText is what a server asks, for a person to read.
func elicitText(e *mcp.Elicitation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s asks: %s\n", e.Server, e.Message)
	if e.Mode == mcp.ModeURL {
		b.WriteString("a yes tells it that you visit " + e.URL + "\n")
	}
	for _, f := range e.Fields {
		b.WriteString("  " + fieldText(&f) + "\n")
	}
	return b.String()
}

func fieldText(f *mcp.Field) string {
	text := orElse(f.Title, f.Name)
	if f.Description != "" {
		text += ": " + f.Description
	}
	var more []string
	if f.Required {
		more = append(more, "needed")
	}
	if f.Default != nil {
		more = append(more, "default "+string(f.Default))
	}
	if f.Secret {
		more = append(more, "LOOKS LIKE A SECRET: a server should not ask for one")
	}
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return text
}

// form has the person fill in the fields. An empty line takes the default, or leaves out
// what is not needed.
func (a *asker) form(ctx context.Context, e *mcp.Elicitation) (mcp.Answer, error) {
	content := map[string]json.RawMessage{}
	for i := range e.Fields {
		f := &e.Fields[i]
		for j, o := range f.Options {
			a.out.line("  %s %s", a.out.term.bold(strconv.Itoa(j+1)), exact(orElse(o.Title, o.Value)))
		}
		for {
			line, ok, err := a.prompt(ctx, exact(fieldText(f))+": ")
			if err != nil || !ok {
				return mcp.Answer{Action: mcp.Cancel}, err
			}
			value, why := fieldValue(f, strings.TrimSpace(line))
			if why != "" {
				a.out.line("%s", a.out.term.dim(exact(why)))
				continue
			}
			if value != nil {
				content[f.Name] = value
			}
			break
		}
	}
	raw, err := json.Marshal(content)
	return mcp.Answer{Action: mcp.Accept, Content: raw}, err
}

// fieldValue reads what a person wrote; why says what is wrong with it.
func fieldValue(f *mcp.Field, line string) (value json.RawMessage, why string) {
	write := func(v any) (json.RawMessage, string) {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, err.Error()
		}
		return raw, ""
	}
	option := func(word string) (string, bool) {
		if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(f.Options) {
			return f.Options[n-1].Value, true
		}
		for _, o := range f.Options {
			if o.Value == word || strings.EqualFold(o.Title, word) {
				return o.Value, true
			}
		}
		return "", false
	}
	if line == "" {
		if f.Required && f.Default == nil {
			return nil, "this is needed"
		}
		return f.Default, ""
	}
	switch f.Type {
	case "integer", "number":
		if _, err := strconv.ParseFloat(line, 64); err != nil || f.Type == "integer" && strings.ContainsAny(line, ".eE") || !json.Valid([]byte(line)) {
			return nil, "want a number"
		}
		return json.RawMessage(line), ""
	case "boolean":
		switch strings.ToLower(line) {
		case "y", "yes", "true":
			return write(true)
		case "n", "no", "false":
			return write(false)
		}
		return nil, "want yes or no"
	case "choice":
		if v, ok := option(line); ok {
			return write(v)
		}
		return nil, "choose one by its number"
	case "choices":
		list := []string{}
		for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ',' || r == ' ' }) {
			v, ok := option(word)
			if !ok {
				return nil, "choose some by their numbers: 1, 3"
			}
			list = append(list, v)
		}
		return write(list)
	}
	return write(line)
}
