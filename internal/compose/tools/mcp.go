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
	client   *mcp.Client
	approved []*settings.MCPServer // approved servers, by name
	failed   map[string]error      // servers that cannot be used here
}

// mcpKit returns no tools for the run's agent, because [Toolbox.Connect] connects the servers when
// everything else is ready. A sub-agent has the servers of the run and those of its definition. Its
// resource tools read the resources of all of them.
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
	for _, t := range b.servers.filter(b.servers.client.ToolsForSubagent(ctx), b.only) {
		if !names[t.Spec().Name] {
			list = append(list, t)
		}
	}
	return list, nil
}

// connectSubagentServers connects the servers of one sub-agent and waits for them. These servers
// end when its toolbox is closed. Their requests to the user are handled like those of the run's
// servers.
func (b *Toolbox) connectSubagentServers(ctx context.Context, run *Toolbox, list []*settings.MCPServer) error {
	if !run.wantsServers() || len(list) == 0 {
		return nil
	}
	s, err := run.open(list, func(o *mcp.Options) {
		o.Wait = serverWait
		if run.servers != nil {
			o.Parent = run.servers.client
		}
	})
	if err != nil {
		return err
	}
	b.subagentServers = s
	b.onClose(func() { _ = s.client.Close() })
	b.extra = s.tools(ctx, b.only)
	return ctx.Err()
}

// serverWait is longer than the time that a server has to start and list its tools.
const serverWait = 2 * time.Minute

// wantsServers reports whether the run may have servers. In a container there are none: their
// programs are on the host, outside the container's isolation.
func (b *Toolbox) wantsServers() bool {
	if b.contained || b.foreground {
		return false
	}
	return b.only == nil || slices.ContainsFunc(b.only, isMCPTool)
}

func isMCPTool(name string) bool { return strings.HasPrefix(name, "mcp__") }

// Connect connects to the approved servers and adds their tools. It waits a short time; the tools
// of slower servers are added when they are ready.
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
	registry, err := b.withServerTools(s.tools(ctx, b.only))
	if err == nil {
		b.Registry = registry
	}
	for _, name := range notReady(s.client.Status()) {
		b.env.Warn("MCP server %q has not answered yet; its tools are added when it does", name)
	}
	return err
}

// EndServers ends the server processes of the toolbox's agent, because its session's lease is lost.
func (b *Toolbox) EndServers(why error) {
	mine := b.servers
	if b.sub { // the other servers belong to the run
		mine = b.subagentServers
	}
	if mine != nil {
		mine.client.EndProcesses(why)
	}
}

// notReady lists the servers that have not answered yet.
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

// open creates the client of approved servers. The function with completes the client's options; it
// may be nil. Nothing is started yet.
func (b *Toolbox) open(approved []*settings.MCPServer, with func(*mcp.Options)) (*servers, error) {
	s := &servers{approved: approved, failed: map[string]error{}}
	var list []mcp.Server
	for _, srv := range approved {
		one := Server(b.settings, srv)
		if b.downloads {
			one.StartTimeout = downloadTime
		} else {
			b.fromCache(srv, &one)
		}
		_, err := b.settings.ExpandMCP(srv, b.env.LookupCommand)
		if err == nil {
			err = one.Check()
		}
		if err != nil {
			s.failed[srv.Name] = err
			if !b.inspects {
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
	if b.inspects {
		o.Notice = nil
	}
	o.Sandbox, o.Dir, o.FireHook, o.Elicit = b.isolation.Sandbox(), b.settings.Project, b.agentHandle.fire, b.elicit
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

// Server returns a server in the client's form. Variables are expanded there.
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

// mcpOptions returns the client options that this program always sets.
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

// tools returns the servers' current tools, except those that the servers' definitions or the run
// exclude.
func (s *servers) tools(ctx context.Context, only []string) []tool.Tool {
	return s.filter(s.client.Tools(ctx), only)
}

func (s *servers) filter(list []tool.Tool, only []string) []tool.Tool {
	excluded := map[string]bool{}
	for _, st := range s.client.Status() {
		i := slices.IndexFunc(s.approved, func(srv *settings.MCPServer) bool { return srv.Name == st.Name })
		if i < 0 {
			continue
		}
		for _, t := range st.Tools {
			excluded[t.Name] = slices.Contains(s.approved[i].ExcludeTools, t.Tool)
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(t tool.Tool) bool {
		name := t.Spec().Name
		return excluded[name] || only != nil && !slices.Contains(only, name)
	})
}

// withServerTools returns the run's tools together with those of servers.
func (b *Toolbox) withServerTools(list []tool.Tool) (*tool.Registry, error) {
	all, err := tool.NewRegistry(append(b.base.Tools(), list...)...)
	if err != nil {
		return nil, fmt.Errorf("MCP servers: %w", err)
	}
	return RemoveDenied(all, b.settings.Rules), nil
}

// followServers updates the agent when the tools of a server change.
func (b *Toolbox) followServers(a *agent.Agent) {
	if b.servers == nil {
		return
	}
	b.servers.client.OnChange(func(list []tool.Tool) {
		registry, err := b.withServerTools(b.servers.filter(list, b.only))
		if err != nil {
			b.env.Warn("%v", err)
			return
		}
		a.SetTools(registry)
	})
}

// ServerState is the status of a server that the settings name.
type ServerState struct{ Name, Status string }

// ServerStates returns the status of each server that the settings name.
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

// errNoForm reports that no one can fill in a server's form.
var errNoForm = errors.New("no one is present to fill it in")

// CheckedServers are servers opened for inspection.
type CheckedServers struct {
	Client *mcp.Client
	Failed map[string]error // by name, the servers that cannot be used here

	isolation *Isolation
}

// Check opens approved servers of one sub-agent definition, or of the run, for inspection. The
// caller closes the result.
func Check(e *env.Env, s *settings.Settings, list []*settings.MCPServer) (*CheckedServers, error) {
	return openChecked(e, s, list, nil)
}

// openChecked opens servers. The parameter hosts lists additional hosts that they may connect to;
// it is nil for an inspection.
func openChecked(e *env.Env, s *settings.Settings, list []*settings.MCPServer, hosts []string) (*CheckedServers, error) {
	isolation, err := openIsolation(&isolationOptions{Env: e, Settings: s, Folders: []string{s.Project}, Hosts: hosts})
	if err != nil {
		return nil, err
	}
	b := &Toolbox{env: e, settings: s, isolation: isolation, agentHandle: newAgentHandle(), inspects: true, downloads: hosts != nil}
	var opened *servers
	if err = isolation.Ready(); err == nil {
		opened, err = b.open(list, nil)
	}
	if err != nil {
		isolation.Close()
		return nil, err
	}
	return &CheckedServers{Client: opened.client, Failed: opened.failed, isolation: isolation}, nil
}

// Close ends the servers.
func (c *CheckedServers) Close() {
	_ = c.Client.Close()
	c.isolation.Close()
}
