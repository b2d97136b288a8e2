package mcp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/question"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/daemon/process"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/mcpserver"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/runtime"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/tool"
)

// servedTools are the tools of a run that clients get.
var servedTools = []string{"Read", "Write", "Edit", "Bash", "Glob", "Grep"}

func (c *serveCmd) Run(ctx context.Context, p *command.Program) error {
	if err := c.check(p); err != nil {
		return err
	}
	cwd, err := p.Folder(c.CWD)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	rt, err := runtime.Open(ctx, &runtime.Config{Env: p.Environment(), Store: c.Store, Log: log})
	if err != nil {
		return err
	}
	defer func() { _ = rt.Close() }()
	look, err := c.sessionTools(p, cwd, rt.Sessions())
	if err != nil {
		return err
	}
	d := &agentServer{c: c, p: p, cwd: cwd, runtime: rt, sessionTools: look}
	specs, err := d.specs(ctx)
	if err != nil {
		return err
	}
	server, err := mcpserver.New(&mcpserver.Options{Version: version.Current().Version, Tools: specs, Open: d.open, Log: log})
	if err != nil {
		return err
	}
	defer server.Close()
	if c.HTTP != "" {
		return c.serveHTTP(ctx, p, server, log)
	}
	return server.Serve(ctx, io.NopCloser(p.Stdin), nopCloser{p.Stdout})
}

// nopCloser keeps standard output open.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func (c *serveCmd) check(p *command.Program) error {
	if err := c.PermissionFlags.Check(); err != nil {
		return err
	}
	if c.HTTP != "" {
		return nil
	}
	if c.TLSCert != "" || c.TLSKey != "" || len(c.AllowHost) > 0 || len(c.AllowOrigin) > 0 {
		return outcome.Invalid("--tls-cert, --tls-key, --allow-host and --allow-origin need --http", "")
	}
	if term.IsTerminal(p.Stdin) {
		return outcome.Invalid("mcp serve expects an MCP client on standard input, not a terminal", "claude mcp add holdfast -- holdfast mcp serve; or see holdfast mcp --help")
	}
	return nil
}

// agentServer creates an agent for each client.
type agentServer struct {
	c            *serveCmd
	p            *command.Program
	cwd          string
	runtime      *runtime.Runtime
	sessionTools []tool.Tool
}

// agent creates the agent of a client. The client itself answers the agent's model calls.
func (d *agentServer) agent(ctx context.Context, as model.Model, title string, who compose.Askers) (*compose.Agent, error) {
	r, err := d.c.agentFlags().ComposeOptions(d.p, d.cwd)
	if err != nil {
		return nil, err
	}
	r.Spec.Session.Title, r.Spec.Tools = title, slices.Clone(servedTools)
	for _, t := range d.sessionTools {
		r.Spec.Tools = append(r.Spec.Tools, t.Spec().Name)
	}
	r.Model, r.Tools, r.NoBackground = as, d.sessionTools, true
	return d.runtime.Agent(ctx, r, nil, who)
}

// specs returns the served tools. It composes an agent once, so that an error in the settings is
// reported before a client connects.
func (d *agentServer) specs(ctx context.Context) ([]tool.Spec, error) {
	a, err := d.agent(ctx, &mcpserver.ClientSession{}, "", compose.Askers{})
	if err != nil {
		return nil, err
	}
	d.p.SettingsNotices(a.Settings())
	return a.Parts.Tools.Registry.Specs(), a.Close()
}

// agentSession is an agent with the asker that answers its approval requests; asker may be nil.
type agentSession struct {
	*compose.Agent
	asker *question.Asker
}

func (a *agentSession) Close() error {
	err := a.Agent.Close()
	if a.asker != nil {
		a.asker.Close()
	}
	return err
}

// open is [mcpserver.Options].Open.
func (d *agentServer) open(ctx context.Context, client string, as model.Model) (mcpserver.Agent, error) {
	var asker *question.Asker
	var who compose.Askers
	if d.c.HTTP != "" {
		if asker = question.NewAsker(d.p); asker != nil {
			who.Ask = asker.Ask
		}
	}
	a, err := d.agent(ctx, as, "MCP: "+client, who)
	if err != nil {
		if asker != nil {
			asker.Close()
		}
		return nil, err
	}
	return &agentSession{a, asker}, nil
}

// serveHTTP serves until ctx ends.
func (c *serveCmd) serveHTTP(ctx context.Context, p *command.Program, server *mcpserver.Server, log *slog.Logger) error {
	cert, err := listen.Check([]string{c.HTTP}, c.TLSCert, c.TLSKey)
	if err != nil {
		return err
	}
	home, err := p.Home()
	if err != nil {
		return err
	}
	accesses := stores.NewAccessLog(p.Environment())
	a, err := auth.New(&auth.Options{
		Dir: listen.Dir(home), Hosts: c.AllowHost, Origins: c.AllowOrigin, Clock: p.Clock, Failed: auth.LogRefused(log), HasSandboxProxies: true, Record: accesses.Add,
	})
	if err != nil {
		return err
	}
	defer func() {
		if err := errors.Join(a.Close(), accesses.Close()); err != nil {
			log.Warn("cannot close the access log", "error", err)
		}
	}()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.HTTP)
	if err != nil {
		return &outcome.Failure{Message: err.Error(), Advice: "use another port: --http 127.0.0.1:0", Result: outcome.Failed, Cause: err}
	}
	url := "http://" + l.Addr().String() + mcpserver.Path
	if cert != nil {
		a.ListeningTLS(l.Addr())
		l, url = tls.NewListener(l, cert.Config()), "https"+url[len("http"):]
	} else {
		a.Listening(l.Addr())
	}
	h := &http.Server{Handler: server.Handler(a), ConnContext: a.ConnContext, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(l) }()
	p.Err.Line("serving MCP at %s", url)
	if tokens, err := a.Tokens(); err == nil && len(tokens) == 0 {
		p.Err.Line("%s clients need a token: holdfast daemon token create --scope run NAME", p.Err.Bold("hint:"))
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	server.Close()
	shut, stop := context.WithTimeout(context.WithoutCancel(ctx), process.ShutdownTimeout)
	defer stop()
	if err := h.Shutdown(shut); err != nil {
		_ = h.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
