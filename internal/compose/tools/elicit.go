package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/tool/mcp"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

// elicit shows a server's form to the user, as a question about the call that the server is
// processing. The question is recorded, and its answer contains the fields. A field that looks like
// a secret can only be filled in at the terminal of the run, where its value is not recorded.
func (b *Toolbox) elicit(ctx context.Context, e mcp.Elicitation) (mcp.Answer, error) {
	cancel := mcp.Answer{Action: mcp.Cancel}
	if e.Call == nil || e.Call.Ask == nil || e.Call.Fill == nil {
		return cancel, errNoForm
	}
	r := policy.Request{
		Tool: e.Call.Tool, Session: e.Call.Session, Resource: "answer " + e.Server, Display: elicitText(&e), Input: e.Call.Input, Person: true,
	}
	answer := mcp.Answer{Action: mcp.Accept}
	secret := slices.IndexFunc(e.Fields, func(f forms.Field) bool { return f.Secret })
	var err error
	switch {
	case e.Mode == mcp.ModeURL:
		r.Resource = "visit " + e.URL
		err = e.Call.Ask(ctx, r)
	case secret >= 0 && b.Form == nil:
		if a, err := b.agentHandle.agent(); err == nil {
			a.Notice(fmt.Sprintf("the MCP server %s asks for %s, which looks like a secret; secrets can only be entered at the terminal of a run without the daemon, so the request was cancelled", e.Server, e.Fields[secret].Name))
		}
		return cancel, errNoForm
	case secret >= 0:
		if err = e.Call.Ask(ctx, r); err == nil {
			return b.Form(ctx, &e)
		}
	default:
		answer.Content, err = askForm(ctx, &e, r)
	}
	switch {
	case ctx.Err() != nil:
		return cancel, context.Cause(ctx)
	case errors.Is(err, tool.ErrUndecided):
		return cancel, nil
	case err != nil:
		return mcp.Answer{Action: mcp.Decline}, nil //nolint:nilerr // a decline is the answer
	}
	return answer, nil
}

// askForm shows a form to the user and returns the values entered.
func askForm(ctx context.Context, e *mcp.Elicitation, r policy.Request) (json.RawMessage, error) {
	f := &forms.Form{Server: e.Server, Message: e.Message, Schema: e.Schema}
	err := f.ProposeDefaults()
	if err != nil {
		return nil, err
	}
	if r.Input, err = json.Marshal(f); err != nil {
		return nil, err
	}
	values, err := e.Call.Fill(ctx, r)
	if err != nil {
		return nil, err
	}
	return forms.ReadForm(r.Input, values)
}

// elicitText returns a server's request as text for the user.
func elicitText(e *mcp.Elicitation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s requests: %s\n", e.Server, e.Message)
	if e.Mode == mcp.ModeURL {
		b.WriteString("if you accept, the server assumes that you opened " + e.URL + "\n")
	}
	for _, f := range e.Fields {
		b.WriteString("  " + FieldText(&f) + "\n")
	}
	return b.String()
}
