package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/settings"
	"github.com/holdfast-dev/holdfast/tool/mcp"
)

// checkedDoc is what came of connecting to a server.
type checkedDoc struct {
	State    mcp.State        `json:"state"` // connected, failed, needs-auth
	Server   string           `json:"server,omitempty"`
	Protocol string           `json:"protocol,omitempty"`
	Tools    []mcp.ToolStatus `json:"tools,omitempty"`
	Left     []string         `json:"left_out,omitempty"` // and why
	Error    string           `json:"error,omitempty"`
	Hint     string           `json:"hint,omitempty"`
	Stderr   string           `json:"stderr,omitempty"`
}

func (d *checkedDoc) word() string {
	if d.State == mcp.Connected {
		return fmt.Sprintf("%s, %s", d.State, count(len(d.Tools), "tool"))
	}
	return string(d.State)
}

// checked prints what came of connecting.
func (p *printer) checked(d *checkedDoc) {
	t := p.term
	fact := func(name, text string) {
		if text != "" {
			p.line("  %s  %s", t.dim(fmt.Sprintf("%-7s", name)), exact(text))
		}
	}
	fact("state", d.word())
	fact("server", strings.TrimSpace(d.Server+" "+d.Protocol))
	fact("error", d.Error)
	fact("hint", d.Hint)
	fact("stderr", d.Stderr)
	for _, tool := range d.Tools {
		p.line("  %s  %s", t.bold(exact(tool.Name)), t.dim(fit(shown(oneLine(tool.Description)), 80)))
	}
	for _, l := range d.Left {
		p.line("  %s  %s", t.dim("left   "), exact(l))
	}
}

// client opens a client of the approved servers among those that are named; why some
// cannot be used is in docs.
func (p *Program) client(s *settings.Settings, docs []serverDoc) (c *mcp.Client, done func(), err error) {
	flags := &agentFlags{}
	held, err := flags.hold(p, s, []string{s.Project}, false)
	if err != nil {
		return nil, nil, err
	}
	b := &toolbox{program: p, flags: flags, settings: s, held: held, host: newHostAgent(), checks: true}
	only := *s
	only.MCPServers = slices.DeleteFunc(slices.Clone(s.MCPServers), func(srv settings.MCPServer) bool {
		return !slices.ContainsFunc(docs, func(d serverDoc) bool { return d.Name == srv.Name })
	})
	b.settings = &only
	opened, err := b.open()
	if err != nil {
		held.close()
		return nil, nil, err
	}
	for i := range docs {
		if err := opened.failed[docs[i].Name]; err != nil {
			docs[i].Check = &checkedDoc{State: mcp.Failed, Error: err.Error(), Hint: outcome.Hint(err)}
		}
	}
	return opened.client, func() {
		_ = opened.client.Close()
		held.close()
	}, nil
}

// checkServers connects to the approved servers of docs and says what came of it.
func (p *Program) checkServers(ctx context.Context, s *settings.Settings, docs []serverDoc) error {
	c, done, err := p.client(s, docs)
	if err != nil {
		return err
	}
	defer done()
	var wg sync.WaitGroup
	for i := range docs {
		if docs[i].Status == settings.MCPApproved && docs[i].Check == nil {
			wg.Go(func() { _ = c.Connect(ctx, docs[i].Name) })
		}
	}
	wg.Wait()
	for _, st := range c.Status() {
		for i := range docs {
			if d := &docs[i]; d.Name == st.Name {
				d.Check = &checkedDoc{
					State: st.State, Server: strings.TrimSpace(st.Server + " " + st.Version), Protocol: st.Protocol, Tools: st.Tools,
					Left: st.Left, Error: st.Error, Hint: st.Hint,
				}
				if st.State != mcp.Connected {
					d.Check.Stderr = st.Stderr
				}
			}
		}
	}
	return ctx.Err()
}

// mcpLoginCmd is `holdfast mcp login`.
type mcpLoginCmd struct {
	Name    string `arg:"" placeholder:"NAME" help:"The server."`
	Browser bool   `help:"Open the page in the browser as well."`
	mcpFlags
}

// Help says more than one line.
func (c *mcpLoginCmd) Help() string {
	return `Prints a page to open: there the server asks whether we may act for you, and the browser
brings the answer back to this machine. What it grants is kept in $HOLDFAST_HOME/mcp, for you
alone, and renewed without you as long as the server allows.`
}

// mcpLogoutCmd is `holdfast mcp logout`.
type mcpLogoutCmd struct {
	Name string `arg:"" placeholder:"NAME" help:"The server."`
	mcpFlags
}

// one is a client of one server, which needs to be approved and reached by an address.
func (f *mcpFlags) one(p *Program, name string) (*mcp.Client, func(), error) {
	if err := p.notFromRun("log in to MCP servers"); err != nil {
		return nil, nil, err
	}
	s, err := f.load(p)
	if err != nil {
		return nil, nil, err
	}
	srv, err := findMCP(s, name)
	switch {
	case err != nil:
		return nil, nil, err
	case srv.Type == settings.MCPStdio:
		return nil, nil, usage(fmt.Sprintf("the server %s is a program: one does not log in to it", name), "")
	case srv.Status != settings.MCPApproved:
		return nil, nil, &failure{msg: fmt.Sprintf("the server %s is %s: %s", name, srv.Status, srv.Why), hint: "holdfast mcp approve " + quoteArg(name), out: outcome.Denied}
	}
	docs := []serverDoc{newServerDoc(srv)}
	c, done, err := p.client(s, docs)
	if err == nil && docs[0].Check != nil {
		done()
		return nil, nil, usage(docs[0].Check.Error, "")
	}
	return c, done, err
}

func (c *mcpLoginCmd) run(ctx context.Context, p *Program) error {
	client, done, err := c.one(p, c.Name)
	if err != nil {
		return err
	}
	defer done()
	err = client.Login(ctx, c.Name, func(url string) {
		p.err.line("open this page:")
		p.out.line("%s", shown(url))
		if c.Browser {
			if err := browse(ctx, url); err != nil {
				p.warn("%v", err)
			}
		}
	})
	if err != nil {
		return err
	}
	p.err.line("logged in to %s", shown(c.Name))
	return nil
}

func (c *mcpLogoutCmd) run(_ context.Context, p *Program) error {
	client, done, err := c.one(p, c.Name)
	if err != nil {
		return err
	}
	defer done()
	if err := client.Logout(c.Name); err != nil {
		return err
	}
	p.err.line("logged out of %s", shown(c.Name))
	return nil
}
