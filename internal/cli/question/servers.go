package question

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// isProgram reports whether a server is a program that is started. A server with only a URL is not,
// even if its type is missing.
func isProgram(srv *settings.MCPServer) bool {
	return srv.Type == settings.MCPStdio && (srv.Command != "" || srv.URL == "")
}

// ServerLine returns a server in one line: its command line, or its URL.
func ServerLine(srv *settings.MCPServer) string {
	if !isProgram(srv) {
		return srv.URL
	}
	words := []string{term.Quote(srv.Command)}
	for _, a := range srv.Args {
		words = append(words, term.Quote(a))
	}
	return strings.Join(words, " ")
}

// PrintServer prints a server. It omits the values of its environment variables and headers, which
// can be secrets. Invisible characters are shown.
func PrintServer(p *term.Printer, srv *settings.MCPServer) {
	t := p.Style
	style := map[settings.MCPStatus]func(string) string{
		settings.MCPApproved: t.Green, settings.MCPPending: t.Yellow, settings.MCPChanged: t.Yellow, settings.MCPInvalid: t.Red, settings.MCPDenied: t.Red,
	}[srv.Status]
	if style == nil {
		style = t.Dim
	}
	p.Line("%s  %s  %s", t.Bold(term.EscapeStrict(srv.Key())), style(string(srv.Status)), t.Dim(term.Escape(settings.OriginText(srv.Origin))))
	printServerFacts(p, srv)
	printFact(p, "why", srv.Reason, plain)
	p.Line("  %s  %s", t.Dim("digest "), srv.Digest)
}

// printServerFacts prints the program that is run or the address that is connected to, and what the
// server can read.
func printServerFacts(p *term.Printer, srv *settings.MCPServer) {
	if isProgram(srv) {
		printExact(p, "runs", ServerLine(srv), plain)
		printFact(p, "in", srv.Dir, plain)
		printFact(p, "env", pairNames(srv.Env), plain)
	} else {
		printFact(p, "reaches", srv.URL+" ("+string(srv.Type)+")", plain)
		printFact(p, "headers", pairNames(srv.Headers), plain)
	}
	if o := srv.OAuth; o != nil {
		printFact(p, "oauth", strings.TrimSpace(o.ClientID+" "+strings.Join(o.Scopes, " ")), plain)
	}
	if srv.IncludeTools != nil {
		printFact(p, "tools", "only "+strings.Join(srv.IncludeTools, ", "), plain)
	}
	if len(srv.ExcludeTools) > 0 {
		printFact(p, "without", strings.Join(srv.ExcludeTools, ", "), plain)
	}
	if reads := srv.EnvReads(); len(reads) > 0 {
		printFact(p, "knows", strings.Join(reads, ", ")+" of your environment", p.Yellow)
	}
}

// pairNames returns the names of pairs. It adds a value only if the value contains a reference such
// as ${TOKEN}, because a reference is not secret.
func pairNames(pairs map[string]string) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		if v := pairs[name]; strings.Contains(v, "${") {
			name += "=" + v
		}
		words = append(words, name)
	}
	return strings.Join(words, ", ")
}

// DecideServer stores the approval or rejection of a server.
func DecideServer(p *command.Program, s *settings.Settings, srv *settings.MCPServer, approved bool) error {
	list, err := p.Trust()
	if err != nil {
		return err
	}
	return list.DecideServer(s, srv, approved, p.Clock())
}

// Fetch downloads a server's package from a registry.
type Fetch func(ctx context.Context, srv *settings.MCPServer, registry string)

// ApproveServers asks about each server that is neither approved nor rejected, and calls fetch for
// each that the user wants to download.
func ApproveServers(ctx context.Context, p *command.Program, a *Asker, s *settings.Settings, list []settings.MCPServer, fetch Fetch) error {
	for i := range list {
		srv := &list[i]
		if srv.Status != settings.MCPPending && srv.Status != settings.MCPChanged {
			continue
		}
		if err := askServer(ctx, p, a, s, srv, fetch); err != nil {
			return err
		}
	}
	return nil
}

// askServer asks about one server.
func askServer(ctx context.Context, p *command.Program, a *Asker, s *settings.Settings, srv *settings.MCPServer, fetch Fetch) error {
	t := a.Out.Style
	head := "MCP server of " + s.Project
	if srv.Kind != "" {
		head += " for sub-agent " + srv.Kind
	}
	if srv.Status == settings.MCPChanged {
		head += ", changed since you approved it"
	}
	a.ShowQuestion(func() {
		a.Out.Line("%s %s  %s", t.Yellow(term.Escape(head+":")), t.Bold(term.EscapeStrict(srv.Name)), t.Dim(term.Escape(settings.OriginText(srv.Origin))))
		printServerFacts(a.Out, srv)
	})
	yes, answered, err := a.YesNoOrDefer(ctx, "start it in this folder, now and from now on?")
	if err != nil || !answered {
		return err
	}
	if err := DecideServer(p, s, srv, yes); err != nil || !yes {
		return err
	}
	return offerFetch(ctx, srv, func(ctx context.Context, question string) (bool, error) {
		yes, answered, err := a.YesNoOrDefer(ctx, question)
		return yes && answered, err
	}, fetch)
}
