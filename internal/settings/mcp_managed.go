package settings

import (
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/urlpattern"
	"github.com/holdfast-dev/holdfast/policy"
)

// mcpPattern matches servers: by name, by the whole command line, or by a URL pattern.
type mcpPattern struct {
	name    string
	command []string
	url     string
	origin  policy.Origin
}

func (p *mcpPattern) matches(srv *MCPServer) bool {
	switch {
	case p.command != nil:
		return srv.Type == MCPStdio && slices.Equal(p.command, append([]string{srv.Command}, srv.Args...))
	case p.url != "":
		u, err := url.Parse(srv.URL)
		return srv.Type != MCPStdio && err == nil && urlpattern.Match(p.url, u)
	}
	return p.name == srv.Name
}

// denies is like matches, for a list that excludes servers. A URL that cannot be compared matches
// too.
func (p *mcpPattern) denies(srv *MCPServer) bool {
	if p.url == "" || srv.Type == MCPStdio {
		return p.matches(srv)
	}
	u, err := url.Parse(srv.URL)
	if err != nil || u.User != nil || strings.HasSuffix(u.Hostname(), ".") || strings.Contains(u.Path, "/.") {
		return true
	}
	return p.matches(srv)
}

// mcpPatterns decodes allowedMcpServers and deniedMcpServers.
func (s *parsedSource) mcpPatterns(path string, n jsontree.Node) []mcpPattern {
	list := []mcpPattern{}
	if !s.want(path, n, jsontree.List) {
		return list
	}
	for _, item := range n.Items {
		p := mcpPattern{origin: s.origin(item, path)}
		fields := 0
		s.object(path, item, map[string]func(string, jsontree.Node){
			"serverName": func(path string, n jsontree.Node) {
				p.name, _ = s.text(path, n)
				fields++
			},
			"serverCommand": func(path string, n jsontree.Node) {
				s.arguments(&p.command)(path, n)
				fields++
			},
			"serverUrl": func(path string, n jsontree.Node) {
				text, ok := s.text(path, n)
				if err := urlpattern.Check(text); ok && err != nil {
					s.fault(n.At, `write it as "https://mcp.example.com/*"`, "%s: %v", path, err)
				}
				p.url = text
				fields++
			},
		})
		if fields != 1 && item.Kind == jsontree.Object {
			s.fault(item.At, `write {"serverName": "github"}`, "%s: want one of serverName, serverCommand and serverUrl", path)
		}
		list = append(list, p)
	}
	return list
}

func (s *parsedSource) deniedMCP(path string, n jsontree.Node) { s.mcp.denied = s.mcpPatterns(path, n) }

func (s *parsedSource) allowedMCP(path string, n jsontree.Node) {
	if s.layer != layernames.Managed {
		s.fault(n.At, "remove it; an administrator can set it in "+DefaultManaged, "%s: only managed settings can set this", path)
		return
	}
	list := s.mcpPatterns(path, n)
	s.mcp.allowed = &list
}

// managedMCPOnly checks allowManagedMcpServersOnly, which can only be true here: only managed
// settings can have a list of allowed servers.
func (s *parsedSource) managedMCPOnly(path string, n jsontree.Node) {
	switch {
	case !s.want(path, n, jsontree.Bool):
	case s.layer != layernames.Managed:
		s.fault(n.At, "remove it; an administrator can set it in "+DefaultManaged, "%s: only managed settings can set this", path)
	case n.Text != "true":
		s.fault(n.At, "remove it", "%s: only managed settings have allowedMcpServers", path)
	}
}

// rejectByName rejects approving servers by name, because their content may change.
func (s *parsedSource) rejectByName(path string, n jsontree.Node) {
	const hint = "approve each server: holdfast mcp approve NAME"
	switch {
	case path == "enableAllProjectMcpServers" && s.want(path, n, jsontree.Bool) && n.Text == "true":
		s.fault(n.At, hint, "%s: project servers are approved by their definition, not by their location", path)
	case path == "enabledMcpjsonServers" && s.want(path, n, jsontree.List) && len(n.Items) > 0:
		s.fault(n.At, hint, "%s: project servers are approved by their definition, not by their name", path)
	}
}

func (s *parsedSource) disabledMCP(path string, n jsontree.Node) {
	s.texts(path, n, func(_ string, item jsontree.Node) {
		s.mcp.disabled = append(s.mcp.disabled, Value[string]{item.Text, s.origin(item, item.Text)})
	})
}

// mcpRules are the layers' rules for which servers may be used.
type mcpRules struct {
	allowed [][]mcpPattern // a server must match each of them
	denied  []mcpPattern

	disabled []Value[string] // disabledMcpjsonServers of all layers
}

// whyForbidden returns what excludes a server, or "".
func (r *mcpRules) whyForbidden(srv *MCPServer) string {
	for i := range r.denied {
		if r.denied[i].denies(srv) {
			return "deniedMcpServers, " + OriginText(r.denied[i].origin)
		}
	}
	for _, list := range r.allowed {
		if !allows(list, srv) {
			return "it is not in allowedMcpServers"
		}
	}
	return ""
}

// allows compares a server with a list as Claude Code does. If the list has commands, a local
// program must match one of them; if it has URLs, a server with a URL must match one of them.
// Otherwise the names are compared.
func allows(list []mcpPattern, srv *MCPServer) bool {
	exact := func(p mcpPattern) bool {
		return srv.Type == MCPStdio && p.command != nil || srv.Type != MCPStdio && p.url != ""
	}
	strict := slices.ContainsFunc(list, exact)
	return slices.ContainsFunc(list, func(p mcpPattern) bool { return p.matches(srv) && (!strict || exact(p)) })
}
