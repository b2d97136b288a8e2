package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/tool"
)

// The ways in which a server asks.
const (
	ModeForm = "form" // a form
	ModeURL  = "url"  // a URL for the user to visit; its content does not pass through this program
)

// The actions of an answer.
const (
	Accept  = "accept"
	Decline = "decline"
	Cancel  = "cancel" // no one decided
)

// Elicitation is a question that a server asks the user during a call.
type Elicitation struct {
	Server  string
	Mode    string // ModeForm or ModeURL
	Message string
	URL     string // of ModeURL
	ID      string // of ModeURL

	Schema json.RawMessage // for ModeForm, as the server wrote it
	Fields []forms.Field   // the fields by name

	Call *tool.Call // the tool that the server is running
}

// Answer is the response to the server. With Accept and ModeForm, Content is an object that matches
// the schema. Content that does not match is not sent.
type Answer struct {
	Action  string
	Content json.RawMessage
}

// Limits for a question, in addition to the limits of its form.
const maxQuestionText = 8 << 10 // bytes of a message

// elicit gets the answer to a question of the server, first from hooks, then from the user.
func (n *conn) elicit(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	r := n.current()
	if r == nil {
		n.l.c.notice("MCP server %q asked a question outside of a call; the question was declined", n.server.Name)
		return &sdk.ElicitResult{Action: Decline}, nil
	}
	if !r.mayAsk() || n.asked.Add(1) > maxOpenQuestions {
		n.asked.Add(-1)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "too many questions in this call"}
	}
	defer n.asked.Add(-1)
	e, err := n.question(req.Params, r.call)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })()
	release := r.clock.pause()
	a, err := n.l.c.ask(ctx, e)
	release()
	if err != nil {
		n.l.c.o.Log.Info("mcp", "server", n.server.Name, "elicitation", err.Error())
		return &sdk.ElicitResult{Action: Cancel}, nil
	}
	result := &sdk.ElicitResult{Action: a.Action}
	if a.Action == Accept && e.Mode == ModeForm {
		if err := json.Unmarshal(orEmptyObject(a.Content), &result.Content); err != nil {
			return &sdk.ElicitResult{Action: Cancel}, nil
		}
	}
	return result, nil
}

func orEmptyObject(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// mayAsk counts the questions of a call.
func (r *runningCall) mayAsk() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return r.asked <= maxCallQuestions
}

// question parses a server's question. The error is for the server.
func (n *conn) question(p *sdk.ElicitParams, call *tool.Call) (Elicitation, error) {
	e := Elicitation{
		Server: n.server.Name, Mode: orElse(p.Mode, ModeForm), Message: truncate.String(shown(p.Message), maxQuestionText),
		URL: p.URL, ID: truncate.String(shown(p.ElicitationID), 200), Call: call,
	}
	if e.Mode == ModeURL {
		u, err := url.Parse(p.URL)
		if err != nil || u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) || u.Hostname() == "" || len(p.URL) > 4096 || shown(p.URL) != p.URL {
			return e, errors.New("the URL cannot be opened in a browser")
		}
		return e, nil
	}
	e.Schema = json.RawMessage(`{"type":"object"}`)
	if p.RequestedSchema != nil {
		raw, err := json.Marshal(p.RequestedSchema)
		if err != nil {
			return e, errors.New("invalid schema")
		}
		e.Schema = raw
	}
	var err error
	e.Fields, err = fieldsOf(e.Schema)
	return e, err
}

// fieldsOf parses the fields of a schema. Their texts are made safe to show.
func fieldsOf(schema json.RawMessage) ([]forms.Field, error) {
	list, err := (&forms.Form{Schema: schema}).Fields()
	for i := range list {
		f := &list[i]
		f.Title, f.Description = truncate.String(shown(f.Title), 200), truncate.String(shown(f.Description), 2000)
		for j := range f.Options {
			f.Options[j].Title = truncate.String(shown(f.Options[j].Title), 200)
		}
	}
	return list, err
}

// masked returns an answer without its secrets, for everyone except the server.
func (e *Elicitation) masked(content json.RawMessage) json.RawMessage {
	if len(content) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(content, &fields) != nil {
		return nil
	}
	for _, f := range e.Fields {
		if _, ok := fields[f.Name]; ok && f.Secret {
			fields[f.Name] = json.RawMessage(`"[masked]"`)
		}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return raw
}

// ask gets an answer from hooks or the user, and then passes the answer to the hooks.
func (c *Client) ask(ctx context.Context, e Elicitation) (Answer, error) {
	a, by, err := c.fireBefore(ctx, &e)
	if err != nil || by == "" {
		if err == nil {
			a, err = c.o.Elicit(ctx, e)
		}
		if err != nil {
			return Answer{Action: Cancel}, err
		}
	}
	if !slices.Contains([]string{Accept, Decline, Cancel}, a.Action) {
		return Answer{Action: Cancel}, fmt.Errorf("unknown answer %q", truncate.String(a.Action, 40))
	}
	if a.Action != Accept || e.Mode == ModeURL {
		a.Content = nil
	}
	return c.fireAfter(ctx, &e, a)
}

// fireBefore runs hooks before the question is shown. The result by is the name of the hook that
// answered; "" if no hook did.
func (c *Client) fireBefore(ctx context.Context, e *Elicitation) (a Answer, by string, err error) {
	if c.o.FireHook == nil {
		return a, "", nil
	}
	out, err := c.o.FireHook(ctx, hook.Input{
		Event:    hook.Elicitation,
		Question: hook.MCPQuestion{Server: e.Server, Message: e.Message, Mode: e.Mode, URL: e.URL, ID: e.ID, Schema: e.Schema},
	})
	switch {
	case err != nil:
		return a, "", err
	case out.Block != nil:
		return Answer{Action: Decline}, out.Block.Hook, nil
	case out.Action != nil && (out.Action.Text != Accept || e.Mode == ModeForm): // hooks cannot visit a URL for the user
		return Answer{Action: out.Action.Text, Content: out.Content}, out.Action.Hook, nil
	}
	return a, "", nil
}

// fireAfter runs hooks on the answer. The hooks can change it.
func (c *Client) fireAfter(ctx context.Context, e *Elicitation, a Answer) (Answer, error) {
	if c.o.FireHook == nil {
		return a, nil
	}
	out, err := c.o.FireHook(ctx, hook.Input{
		Event:    hook.ElicitationResult,
		Question: hook.MCPQuestion{Server: e.Server, Mode: e.Mode, ID: e.ID, Action: a.Action, Content: e.masked(a.Content)},
	})
	switch {
	case err != nil:
		return Answer{Action: Cancel}, err
	case out.Block != nil:
		return Answer{Action: Decline}, nil
	case out.Action == nil:
		return a, nil
	case out.Action.Text == Accept && a.Action != Accept:
		return a, nil // a hook cannot accept what the user has declined
	case out.Action.Text == Accept && out.Content == nil:
		return a, nil
	}
	return Answer{Action: out.Action.Text, Content: out.Content}, nil
}

// askToOpenURL asks the user to open a URL that a server requires before a call. It returns true if the
// user opened the URL, and the call must be repeated.
func (n *conn) askToOpenURL(ctx context.Context, r *runningCall, err error) bool {
	wire, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || wire.Code != sdk.CodeURLElicitationRequired || n.l.c.o.Elicit == nil {
		return false
	}
	var data struct {
		Elicitations []*sdk.ElicitParams `json:"elicitations"`
	}
	if json.Unmarshal(wire.Data, &data) != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > 4 {
		return false
	}
	for _, p := range data.Elicitations {
		if p == nil || p.Mode != ModeURL || !r.mayAsk() {
			return false
		}
		e, err := n.question(p, r.call)
		if err != nil {
			return false
		}
		release := r.clock.pause()
		a, err := n.l.c.ask(ctx, e)
		release()
		if err != nil || a.Action != Accept {
			return false
		}
	}
	return true
}
