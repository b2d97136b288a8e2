package tools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/tool/mcp"
	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/tool"
)

// servers are the MCP servers of a run.
//
//	settings ─► approved ─► mcp.Client ─► tools ─► registry, again when they change
type servers struct {
	client *mcp.Client
	given  []*settings.MCPServer // that are approved, by name
	failed map[string]error      // that cannot be used here
}

// mcpKit has no tools by itself: servers are connected to when everything else is there,
// see [Toolbox.Connect]. A sub-agent has those of the run, and those of its own servers, which
// read the resources of all of them.
func (b *Toolbox) mcpKit() ([]tool.Tool, error) {
	if !b.sub {
		return nil, nil
	}
	list := slices.Clone(b.extra)
	if b.servers == nil {
		return list, nil
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	names := map[string]bool{}
	for _, t := range list {
		names[t.Spec().Name] = true
	}
	for _, t := range b.servers.without(b.servers.client.ToolsForSubagent(ctx), b.only) {
		if !names[t.Spec().Name] {
			list = append(list, t)
		}
	}
	return list, nil
}

// connectSubagentServers connects to servers that are a sub-agent's alone, and waits for them. They end
// with its toolbox; what they ask is put to people as what the run's servers ask.
func (b *Toolbox) connectSubagentServers(ctx context.Context, run *Toolbox, own []*settings.MCPServer) error {
	if !run.wantsServers() || len(own) == 0 {
		return nil
	}
	s, err := run.open(own, func(o *mcp.Options) {
		o.Wait = serverWait
		if run.servers != nil {
			o.Parent = run.servers.client
		}
	})
	if err != nil {
		return err
	}
	b.serversOwn = s
	b.onClose(func() { _ = s.client.Close() })
	b.extra = s.tools(ctx, b.only)
	return ctx.Err()
}

// serverWait is longer than a server may take to start and list.
const serverWait = 2 * time.Minute

// wantsServers reports whether the run may have servers at all. In a container there are
// none: their programs are on the host, and what runs on the host is not held by it.
func (b *Toolbox) wantsServers() bool {
	if b.contained || b.foreground {
		return false
	}
	return b.only == nil || slices.ContainsFunc(b.only, isMCPTool)
}

func isMCPTool(name string) bool { return strings.HasPrefix(name, "mcp__") }

// Connect connects to the approved servers and adds their tools. It waits for them, but
// not for long: the tools of those that are late are added when they come.
func (b *Toolbox) Connect(ctx context.Context) error {
	list := Startable(b.settings.MCPServers)
	if !b.wantsServers() || len(list) == 0 {
		return nil
	}
	s, err := b.open(list, nil)
	if err != nil {
		return err
	}
	b.servers = s
	b.onClose(func() { _ = s.client.Close() })
	b.base = b.Registry
	registry, err := b.with(s.tools(ctx, b.only))
	if err == nil {
		b.Registry = registry
	}
	for _, name := range notReady(s.client.Status()) {
		b.env.Warn("MCP server %q has not answered yet: its tools are there as soon as it has", name)
	}
	return err
}

// EndServers ends the programs of servers that belong to the toolbox's agent: its session's
// lease is lost.
func (b *Toolbox) EndServers(why error) {
	own := b.servers
	if b.sub { // the others are the run's
		own = b.serversOwn
	}
	if own != nil {
		own.client.EndProcesses(why)
	}
}

// notReady are the servers that have not answered yet.
func notReady(list []mcp.Status) (names []string) {
	for _, st := range list {
		if st.State == mcp.Connecting {
			names = append(names, st.Name)
		}
	}
	return names
}

func Startable(list []settings.MCPServer) (out []*settings.MCPServer) {
	for i := range list {
		if list[i].Status == settings.MCPApproved {
			out = append(out, &list[i])
		}
	}
	return out
}

// open makes the client of servers that are approved; with, which may be nil, completes its
// options. Nothing is started yet.
func (b *Toolbox) open(given []*settings.MCPServer, with func(*mcp.Options)) (*servers, error) {
	s := &servers{given: given, failed: map[string]error{}}
	var list []mcp.Server
	for _, srv := range given {
		one := Server(b.settings, srv)
		if b.fetches {
			one.StartTimeout = fetchTime
		} else {
			b.fromCache(srv, &one)
		}
		_, err := b.settings.ExpandMCP(srv, b.env.LookupCommand)
		if err == nil {
			err = one.Check()
		}
		if err != nil {
			s.failed[srv.Name] = err
			if !b.checks {
				b.env.Warn("%v", err)
			}
			continue
		}
		list = append(list, one)
	}
	o, err := mcpOptions(b.env, b.settings)
	if err != nil {
		return nil, err
	}
	if b.checks {
		o.Notice = nil
	}
	o.Sandbox, o.Dir, o.FireHook, o.Elicit = b.isolation.Sandbox(), b.settings.Project, b.host.fire, b.elicit
	if b.isolation.Sandbox() != nil {
		if hosts := b.isolation.Sandbox().Hosts(); len(hosts) > 0 {
			rules, err := egress.Compile(hosts...)
			if err != nil {
				return nil, err
			}
			if o.Egress, err = egress.New(rules, nil); err != nil {
				return nil, err
			}
		}
	}
	if with != nil {
		with(o)
	}
	s.client, err = mcp.Open(list, o)
	return s, err
}

// Server is a server in the client's form. What is written in it is expanded there.
func Server(s *settings.Settings, srv *settings.MCPServer) mcp.Server {
	out := mcp.Server{
		Name: srv.Name, Transport: mcp.Transport(srv.Type), Command: srv.Command, Args: srv.Args, Env: srv.Env, Dir: srv.Dir,
		URL: srv.URL, Headers: srv.Headers, CallTimeout: srv.Timeout, Tools: srv.IncludeTools, Origin: srv.Origin,
	}
	if d := srv.Dir; d != "" && !filepath.IsAbs(d) && !strings.HasPrefix(d, "${") {
		out.Dir = filepath.Join(s.Project, d)
	}
	if o := srv.OAuth; o != nil {
		out.OAuth = &mcp.OAuth{ClientID: o.ClientID, ClientSecret: o.ClientSecret, Scopes: o.Scopes, CallbackPort: o.CallbackPort}
	}
	return out
}

// mcpOptions are what every client of this program has.
func mcpOptions(e *env.Env, s *settings.Settings) (*mcp.Options, error) {
	home, err := e.Home()
	if err != nil {
		return nil, err
	}
	environ := e.Commands
	if environ == nil {
		environ = e.Vars
	}
	return &mcp.Options{
		Dir: s.Project, Environ: environ, Tokens: filepath.Join(home, "mcp"),
		Name: "holdfast", Version: version.Current().Version, Notice: func(text string) { e.Warn("%s", text) },
	}, nil
}

// tools are those that the servers have now, without those that their definitions or the
// run leave out.
func (s *servers) tools(ctx context.Context, only []string) []tool.Tool {
	return s.without(s.client.Tools(ctx), only)
}

func (s *servers) without(list []tool.Tool, only []string) []tool.Tool {
	gone := map[string]bool{}
	for _, st := range s.client.Status() {
		i := slices.IndexFunc(s.given, func(srv *settings.MCPServer) bool { return srv.Name == st.Name })
		if i < 0 {
			continue
		}
		for _, t := range st.Tools {
			gone[t.Name] = slices.Contains(s.given[i].ExcludeTools, t.Tool)
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(t tool.Tool) bool {
		name := t.Spec().Name
		return gone[name] || only != nil && !slices.Contains(only, name)
	})
}

// with are the run's tools with those of servers.
func (b *Toolbox) with(list []tool.Tool) (*tool.Registry, error) {
	all, err := tool.NewRegistry(append(b.base.Tools(), list...)...)
	if err != nil {
		return nil, fmt.Errorf("MCP servers: %w", err)
	}
	return RemoveDenied(all, b.settings.Rules), nil
}

// follow has the agent know of servers whose tools change.
func (b *Toolbox) follow(a *agent.Agent) {
	if b.servers == nil {
		return
	}
	b.servers.client.OnChange(func(list []tool.Tool) {
		registry, err := b.with(b.servers.without(list, b.only))
		if err != nil {
			b.env.Warn("%v", err)
			return
		}
		a.SetTools(registry)
	})
}

// ServerState says how a server that settings name is doing.
type ServerState struct{ Name, Status string }

// ServerStates say how it stands with each server that settings name.
func (b *Toolbox) ServerStates() []ServerState {
	list := []ServerState{}
	state := map[string]string{}
	if b.servers != nil {
		for name := range b.servers.failed {
			state[name] = string(mcp.Failed)
		}
		for _, st := range b.servers.client.Status() {
			state[st.Name] = string(st.State)
		}
	}
	for i := range b.settings.MCPServers {
		srv := &b.settings.MCPServers[i]
		word := string(srv.Status)
		if s, ok := state[srv.Name]; ok {
			word = s
		}
		list = append(list, ServerState{Name: srv.Name, Status: word})
	}
	return list
}

// errNoForm says that nobody can fill in what a server asks for.
var errNoForm = errors.New("nobody is there to fill it in")

// CheckedServers are servers that are opened to be looked at.
type CheckedServers struct {
	Client *mcp.Client
	Failed map[string]error // that cannot be used here, by name

	held *Isolation
}

// Check opens approved servers of one kind of sub-agents, or of the run, to look at them.
// The caller closes what it returns.
func Check(e *env.Env, s *settings.Settings, list []*settings.MCPServer) (*CheckedServers, error) {
	return openChecked(e, s, list, nil)
}

// openChecked opens servers; hosts, of which there are none to look at servers, may be reached as well.
func openChecked(e *env.Env, s *settings.Settings, list []*settings.MCPServer, hosts []string) (*CheckedServers, error) {
	held, err := openIsolation(&isolationOptions{Env: e, Settings: s, Folders: []string{s.Project}, Hosts: hosts})
	if err != nil {
		return nil, err
	}
	b := &Toolbox{env: e, settings: s, isolation: held, host: newHostAgent(), checks: true, fetches: hosts != nil}
	var opened *servers
	if err = held.Ready(); err == nil {
		opened, err = b.open(list, nil)
	}
	if err != nil {
		held.Close()
		return nil, err
	}
	return &CheckedServers{Client: opened.client, Failed: opened.failed, held: held}, nil
}

// Close ends the servers.
func (c *CheckedServers) Close() {
	_ = c.Client.Close()
	c.held.Close()
}
