package question

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/tool/mcp"
)

// FetchServer starts an approved server once, with access to its package registry, so that its
// package is then in the project's caches. It returns the server's state and shows its progress.
func FetchServer(ctx context.Context, p *command.Program, s *settings.Settings, srv *settings.MCPServer, hosts []string) (mcp.Status, error) {
	p.Err.Line("downloading %s (%s)", term.EscapeStrict(srv.Name), term.Escape(ServerLine(srv)))
	opened, err := tools.OpenForDownload(p.Environment(), s, srv, hosts)
	if err != nil {
		return mcp.Status{}, err
	}
	defer opened.Close()
	if err := opened.Failed[srv.Name]; err != nil {
		return mcp.Status{}, outcome.Invalid(err.Error(), outcome.Hint(err))
	}
	if err := opened.Client.Connect(ctx, srv.Name); err != nil {
		return mcp.Status{}, &outcome.Failure{
			Message: err.Error(), Result: outcome.Failed,
			Advice: "holdfast mcp fetch --host HOST " + term.Quote(srv.Key()) + " allows another host than " + hosts[0] + "; if settings define allowedDomains, the list must also contain that host",
		}
	}
	st := opened.Client.Status()[0]
	p.Err.Line("%s downloaded %s and can now start offline", term.EscapeStrict(srv.Name), term.Count(len(st.Tools), "tool"))
	return st, nil
}

// FetchAtOnce returns a function that downloads a server and prints its progress and a failure.
func FetchAtOnce(p *command.Program, s *settings.Settings) Fetch {
	return func(ctx context.Context, srv *settings.MCPServer, registry string) {
		if _, err := FetchServer(ctx, p, s, srv, []string{registry}); err != nil {
			p.Warn("%v", err)
			if hint := outcome.Hint(err); hint != "" {
				p.Err.Line("hint: %s", hint)
			}
		}
	}
}

// offerFetch asks whether to download a server that was just approved. It asks only if the server's
// launcher downloads a package. A failed download is no error.
func offerFetch(ctx context.Context, srv *settings.MCPServer, ask func(ctx context.Context, question string) (bool, error), fetch Fetch) error {
	registry := tools.RegistryOf(srv)
	if registry == "" {
		return nil
	}
	yes, err := ask(ctx, "this server is downloaded when it starts, but commands have no network. Download it now, with access to "+registry+" for this one time?")
	if err != nil || !yes {
		return err
	}
	fetch(ctx, srv, registry)
	return ctx.Err()
}

// OfferFetch is offerFetch at the terminal of a command.
func OfferFetch(ctx context.Context, p *command.Program, s *settings.Settings, srv *settings.MCPServer) error {
	return offerFetch(ctx, srv, func(ctx context.Context, question string) (bool, error) {
		return Confirm(ctx, p, question, "holdfast mcp fetch "+term.Quote(srv.Key()))
	}, FetchAtOnce(p, s))
}
