package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/tool/mcp"
)

// checkDoc is the result of connecting to a server.
type checkDoc struct {
	State    mcp.State        `json:"state"` // connected, failed or needs-auth
	Server   string           `json:"server,omitempty"`
	Protocol string           `json:"protocol,omitempty"`
	Tools    []mcp.ToolStatus `json:"tools,omitempty"`
	Skipped  []string         `json:"left_out,omitempty"` // skipped tools with the reasons
	Error    string           `json:"error,omitempty"`
	Hint     string           `json:"hint,omitempty"`
	Stderr   string           `json:"stderr,omitempty"`
}

func (d *checkDoc) status() string {
	if d.State == mcp.Connected {
		return fmt.Sprintf("%s, %s", d.State, term.Count(len(d.Tools), "tool"))
	}
	return string(d.State)
}

// printChecked prints the result of connecting.
func printChecked(p *term.Printer, d *checkDoc) {
	t := p.Style
	fact := func(name, text string) {
		if text != "" {
			p.Line("  %s  %s", t.Dim(fmt.Sprintf("%-7s", name)), term.EscapeStrict(text))
		}
	}
	fact("state", d.status())
	fact("server", strings.TrimSpace(d.Server+" "+d.Protocol))
	fact("error", d.Error)
	fact("hint", d.Hint)
	fact("stderr", d.Stderr)
	for _, tool := range d.Tools {
		p.Line("  %s  %s", t.Bold(term.EscapeStrict(tool.Name)), t.Dim(term.Truncate(term.Escape(term.OneLine(tool.Description)), 80)))
	}
	for _, l := range d.Skipped {
		p.Line("  %s  %s", t.Dim("left   "), term.EscapeStrict(l))
	}
}

// checkServers connects to the approved servers in list and adds the results to docs, which has one
// entry for each server.
func checkServers(ctx context.Context, p *command.Program, s *settings.Settings, list []settings.MCPServer, docs []serverDoc) error {
	kinds := map[string][]*settings.MCPServer{}
	for _, srv := range tools.Startable(list) {
		kinds[srv.Kind] = append(kinds[srv.Kind], srv)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		checks, err := checkAll(ctx, p, s, kinds[kind])
		if err != nil {
			return err
		}
		for i := range docs {
			if list[i].Kind == kind {
				docs[i].Check = checks[list[i].Name]
			}
		}
	}
	return ctx.Err()
}

// checkAll connects to approved servers, whose names must differ.
func checkAll(ctx context.Context, p *command.Program, s *settings.Settings, list []*settings.MCPServer) (map[string]*checkDoc, error) {
	opened, err := tools.Check(p.Environment(), s, list)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	checks := map[string]*checkDoc{}
	for name, err := range opened.Failed {
		checks[name] = &checkDoc{State: mcp.Failed, Error: err.Error(), Hint: outcome.Hint(err)}
	}
	var wg sync.WaitGroup
	for _, st := range opened.Client.Status() {
		wg.Go(func() { _ = opened.Client.Connect(ctx, st.Name) })
	}
	wg.Wait()
	for _, st := range opened.Client.Status() {
		d := &checkDoc{
			State: st.State, Server: strings.TrimSpace(st.Server + " " + st.Version), Protocol: st.Protocol, Tools: st.Tools,
			Skipped: st.Skipped, Error: st.Error, Hint: st.Hint,
		}
		if st.State != mcp.Connected {
			d.Stderr = st.Stderr
		}
		checks[st.Name] = d
	}
	return checks, nil
}

// clientOf returns a client for one server, and the server's name in that client. The server must
// be approved and have a URL.
func (f *mcpFlags) clientOf(p *command.Program, key string) (c *mcp.Client, name string, done func(), err error) {
	if err := dial.RefuseInsideRun(p, "log in to MCP servers"); err != nil {
		return nil, "", nil, err
	}
	s, err := f.load(p)
	if err != nil {
		return nil, "", nil, err
	}
	srv, err := findMCP(p, s, key)
	switch {
	case err != nil:
		return nil, "", nil, err
	case srv.Type == settings.MCPStdio:
		return nil, "", nil, outcome.Invalid(fmt.Sprintf("server %s is a program and needs no login", key), "")
	case srv.Status != settings.MCPApproved:
		return nil, "", nil, &outcome.Failure{Message: fmt.Sprintf("server %s is %s: %s", key, srv.Status, srv.Reason), Advice: "holdfast mcp approve " + term.Quote(key), Result: outcome.Denied}
	}
	opened, err := tools.Check(p.Environment(), s, []*settings.MCPServer{srv})
	if err != nil {
		return nil, "", nil, err
	}
	if err := opened.Failed[srv.Name]; err != nil {
		opened.Close()
		return nil, "", nil, outcome.Invalid(err.Error(), outcome.Hint(err))
	}
	return opened.Client, srv.Name, opened.Close, nil
}

func (c *loginCmd) Run(ctx context.Context, p *command.Program) error {
	client, name, done, err := c.clientOf(p, c.Name)
	if err != nil {
		return err
	}
	defer done()
	err = client.Login(ctx, name, func(url string) {
		p.Err.Line("open this page:")
		p.Out.Line("%s", term.Escape(url))
		if c.Browser {
			if err := dial.Browse(ctx, url); err != nil {
				p.Warn("%v", err)
			}
		}
	})
	if err != nil {
		return err
	}
	p.Err.Line("logged in to %s", term.Escape(c.Name))
	return nil
}

func (c *logoutCmd) Run(_ context.Context, p *command.Program) error {
	client, name, done, err := c.clientOf(p, c.Name)
	if err != nil {
		return err
	}
	defer done()
	if err := client.Logout(name); err != nil {
		return err
	}
	p.Err.Line("logged out of %s", term.Escape(c.Name))
	return nil
}
