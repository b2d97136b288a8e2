package mcp

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/internal/truncate"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Status is the state of one server, for the user.
type Status struct {
	Name      string    `json:"name"`
	Transport Transport `json:"transport"`
	Summary   string    `json:"summary"`
	State     State     `json:"state"`
	Error     string    `json:"error,omitempty"`
	Hint      string    `json:"hint,omitempty"`
	// What the server says about itself.
	Server       string `json:"server,omitempty"`
	Version      string `json:"version,omitempty"`
	Protocol     string `json:"protocol,omitempty"`
	Instructions string `json:"instructions,omitempty"` // not sent to a model

	Tools     []ToolStatus `json:"tools,omitempty"`
	Skipped   []string     `json:"left,omitempty"` // skipped tools with reasons
	Prompts   bool         `json:"prompts,omitempty"`
	Resources bool         `json:"resources,omitempty"`
	Restarts  int          `json:"restarts,omitempty"` // number of connections after the first connection
	Stderr    string       `json:"stderr,omitempty"`   // the last output on its standard error
}

// ToolStatus is a tool of a server. The server's claims about the tool are not verified.
type ToolStatus struct {
	Name        string   `json:"name"` // the name for models
	Tool        string   `json:"tool"` // the server's name
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Hints       []string `json:"hints,omitempty"`
	Person      bool     `json:"person,omitempty"` // requires user interaction
}

// Status returns the state of each server, by name.
func (c *Client) Status() []Status {
	var list []Status
	for _, l := range c.links {
		list = append(list, l.status())
	}
	return list
}

func (l *serverLink) status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{
		Name: l.server.Name, Transport: l.server.kind(), Summary: l.server.Summary(), State: l.state,
		Skipped: l.offer.skipped, Prompts: l.offer.prompts, Resources: l.offer.resources, Restarts: max(l.restarts-1, 0), Stderr: l.stderrTail,
	}
	if l.err != nil && l.state != Connected && !errors.Is(l.err, errClosed) {
		s.Error, s.Hint = shown(l.err.Error()), hintOf(l.err)
	}
	for _, t := range l.offer.tools {
		s.Tools = append(s.Tools, ToolStatus{
			Name: t.spec.Name, Tool: t.name, Title: t.title, Description: shown(t.spec.Description), Hints: t.hints, Person: t.person,
		})
	}
	if l.conn == nil {
		return s
	}
	if l.conn.process != nil {
		s.Stderr = l.conn.process.stderrText()
	}
	if r := l.conn.session.InitializeResult(); r != nil {
		s.Protocol, s.Instructions = truncate.String(shown(r.ProtocolVersion), 40), truncate.String(shown(r.Instructions), 4000)
		if r.ServerInfo != nil {
			s.Server, s.Version = truncate.String(shown(r.ServerInfo.Name), 100), truncate.String(shown(r.ServerInfo.Version), 40)
		}
	}
	return s
}

// Prompt is a prompt of a server, which the user can choose.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
}

// PromptArgument is a parameter of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Limits of lists of prompts or resources.
const (
	maxListed    = 1000
	maxArguments = 64 // of a prompt
)

// Prompts lists the prompts of a server.
func (c *Client) Prompts(ctx context.Context, name string) ([]Prompt, error) {
	l, err := c.find(name)
	if err != nil {
		return nil, err
	}
	n, err := l.connection(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	var list []Prompt
	for p, err := range n.session.Prompts(ctx, nil) {
		switch {
		case err != nil:
			return list, l.server.wrapError("listing its prompts failed", err)
		case p == nil:
			continue
		case len(list) == maxListed:
			return list, l.server.wrapError(fmt.Sprintf("the server has more than %d prompts", maxListed), nil)
		}
		one := Prompt{Name: truncate.String(shown(p.Name), 200), Title: truncate.String(shown(p.Title), 200), Description: truncate.String(shown(p.Description), 2000)}
		for _, a := range p.Arguments {
			if a != nil && len(one.Arguments) < maxArguments {
				one.Arguments = append(one.Arguments, PromptArgument{truncate.String(shown(a.Name), 200), truncate.String(shown(a.Description), 2000), a.Required})
			}
		}
		list = append(list, one)
	}
	return list, nil
}

// Prompt renders a prompt of a server and returns its texts. The user checks them before a model
// reads them.
func (c *Client) Prompt(ctx context.Context, name, prompt string, arguments map[string]string) ([]transcript.Part, error) {
	l, err := c.find(name)
	if err != nil {
		return nil, err
	}
	n, err := l.connection(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	r, err := n.session.GetPrompt(ctx, &sdk.GetPromptParams{Name: prompt, Arguments: arguments})
	if err != nil {
		return nil, l.server.wrapError("reading its prompt failed", err)
	}
	p := &parts{}
	for _, m := range r.Messages {
		if m != nil {
			p.add(m.Content)
		}
	}
	p.close()
	return p.list, nil
}
