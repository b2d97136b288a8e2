package question

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/tool/mcp"
)

// printForm prints an MCP form.
func printForm(p *term.Printer, q approval.Request, f *forms.Form) {
	t := p.Style
	printHead(p, t.Yellow("the MCP server "+oneLine(f.Server)+" asks"), q)
	printIndented(p, "  ", f.Message, t.Bold)
	fields, err := f.Fields()
	if err != nil {
		p.Line("  %s", term.EscapeStrict(err.Error()))
	}
	for i := range fields {
		printIndented(p, "  ", term.OneLine(tools.FieldText(&fields[i])), plain)
		printOptions(p, &fields[i])
	}
}

func printOptions(p *term.Printer, f *forms.Field) {
	for j, o := range f.Options {
		p.PrintIndented("    "+p.Bold(strconv.Itoa(j+1))+"  ", 7, oneLine(optionText(o)), plain)
	}
}

func optionText(o forms.FieldOption) string {
	if o.Title == "" || o.Title == o.Value {
		return o.Value
	}
	return o.Title + " (" + o.Value + ")"
}

// askForm asks the user to fill in a form and stores the answer in ans.
func (a *Asker) askForm(ctx context.Context, q approval.Request, f *forms.Form, ans *approval.Answer) error {
	t := a.Out.Style
	keys := []term.Key{{"f", "fill in the form"}, {"n", "no answer"}, {"s", "no answer, and stop"}}
	if len(f.MissingFields()) == 0 {
		keys = append([]term.Key{{"y", "accept the proposed values"}}, keys...)
	}
	fields, err := f.Fields()
	if err != nil {
		return err
	}
	for {
		a.ShowKeys(keys...)
		key, ok, err := a.Key(ctx)
		if !ok || err != nil {
			return a.closedAnswer(ok, err, ans)
		}
		switch {
		case key == 'y' && len(f.MissingFields()) == 0:
			a.Echo("accept the proposed values")
			ans.Decision = approval.Allow
			return nil
		case key == 'f':
			a.Echo("fill in the form")
			if done, err := a.fillFields(ctx, q, fields, ans); done || err != nil {
				return err
			}
		case key == 'n' || key == 's':
			_, err := a.deny(ctx, key, "no answer", "", ans)
			return err
		default:
			a.Echo("")
			a.Out.Line("%s", t.Dim("press one of the keys above"))
		}
	}
}

// fillFields asks for the fields and shows all values before they are sent. The result done is true
// if the user has sent or declined the form.
func (a *Asker) fillFields(ctx context.Context, q approval.Request, fields []forms.Field, ans *approval.Answer) (done bool, err error) {
	for {
		content, ok, err := a.askFields(ctx, fields)
		if err != nil {
			return false, err
		}
		if !ok {
			return true, a.closedAnswer(false, nil, ans)
		}
		with := *ans
		with.Decision = approval.Allow
		if with.Input, err = Form(&q).Input(content); err != nil {
			return false, err
		}
		if err := q.Check(with); err != nil { // fields whose values are not valid together
			a.Out.Line("%s", a.Out.Dim(term.EscapeStrict(term.OneLine(err.Error()))))
			return false, nil
		}
		var answers [][2]string
		for i := range fields {
			if v := content[fields[i].Name]; v != nil {
				answers = append(answers, [2]string{fields[i].Name, tools.ValueText(&fields[i], v)})
			}
		}
		again, done, err := a.confirmAnswers(ctx, answers, ans)
		if done || err != nil {
			return done, err
		}
		if !again {
			*ans = with
			return true, nil
		}
	}
}

// askFields asks for one field after the other. If the user enters an empty line, the field gets its
// default. An optional field without a default is omitted. It returns false at the end of the
// input.
func (a *Asker) askFields(ctx context.Context, fields []forms.Field) (map[string]json.RawMessage, bool, error) {
	content := map[string]json.RawMessage{}
	for i := range fields {
		f := &fields[i]
		printOptions(a.Out, f)
		for {
			line, ok, err := a.Prompt(ctx, oneLine(tools.FieldText(f))+": ")
			if err != nil || !ok {
				return nil, false, err
			}
			value, why := fieldValue(f, strings.TrimSpace(line))
			if why != "" {
				a.Out.Line("%s", a.Out.Dim(term.EscapeStrict(why)))
				continue
			}
			if value != nil {
				content[f.Name] = value
			}
			break
		}
	}
	return content, true, nil
}

// Form asks the user to fill in an MCP form. It does not record the answers.
func (a *Asker) Form(ctx context.Context, e *mcp.Elicitation) (mcp.Answer, error) {
	done, err := a.Lock(ctx)
	if err != nil {
		return mcp.Answer{Action: mcp.Cancel}, err
	}
	defer done()
	a.Flush()
	content, ok, err := a.askFields(ctx, e.Fields)
	if err != nil || !ok {
		return mcp.Answer{Action: mcp.Cancel}, err
	}
	raw, err := json.Marshal(content)
	return mcp.Answer{Action: mcp.Accept, Content: raw}, err
}

// fieldValue parses a value; why describes what is wrong with it.
func fieldValue(f *forms.Field, line string) (value json.RawMessage, why string) {
	write := func(v any) (json.RawMessage, string) {
		raw, err := json.Marshal(v)
		if err == nil {
			err = f.Check(raw)
		}
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
			return nil, "this field is required"
		}
		return f.Default, ""
	}
	switch f.Type {
	case "integer", "number":
		if !json.Valid([]byte(line)) {
			return nil, "want a number"
		}
		return write(json.RawMessage(line))
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
		return nil, "choose one option by its number"
	case "choices":
		list := []string{}
		for part := range strings.SplitSeq(line, ",") {
			words := []string{strings.TrimSpace(part)}
			if _, ok := option(words[0]); !ok {
				words = strings.Fields(part)
			}
			for _, word := range words {
				v, ok := option(word)
				if !ok {
					return nil, "choose options by their numbers, such as 1, 3"
				}
				if !slices.Contains(list, v) {
					list = append(list, v)
				}
			}
		}
		return write(list)
	}
	return write(line)
}

// ReadFields builds the content of a form from NAME=VALUE pairs. Fields without a pair keep the
// proposed value.
func ReadFields(q approval.Request, f *forms.Form, given []string) (json.RawMessage, error) {
	fields, err := f.Fields()
	if err != nil {
		return nil, err
	}
	content := map[string]json.RawMessage{}
	if err := json.Unmarshal(f.Content, &content); err != nil {
		return nil, err
	}
	values := map[string][]string{}
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("--field %s: want NAME=VALUE", text)
		}
		values[name] = append(values[name], value)
	}
	for i := range fields {
		field := &fields[i]
		list, there := values[field.Name]
		delete(values, field.Name)
		switch {
		case !there:
			continue
		case len(list) > 1 && field.Type != "choices":
			return nil, fmt.Errorf("--field %s can be given only once", field.Name)
		}
		value, why := fieldValue(field, strings.Join(list, ","))
		if why != "" {
			return nil, fmt.Errorf("--field %s: %s", field.Name, why)
		}
		if content[field.Name] = value; value == nil {
			delete(content, field.Name)
		}
	}
	for name := range values {
		return nil, fmt.Errorf("--field %s: the form has no such field", name)
	}
	in, err := f.Input(content)
	if err == nil {
		_, err = forms.ReadForm(q.Requests[0].Input, in)
	}
	return in, err
}
