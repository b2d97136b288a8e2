package tools

import (
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/agentdef"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/term"
)

// Definitions returns the sub-agent definitions of a run, from files and --agents. The status of
// their MCP servers is set.
func Definitions(e *env.Env, s *settings.Settings, flag string) (*agentdef.Set, error) {
	home, err := e.Home()
	if err != nil {
		return nil, err
	}
	trust, err := s.TrustedTexts()
	if err != nil {
		return nil, err
	}
	set := agentdef.Load(&agentdef.Options{Project: s.Project, Trusted: trust.Folder, Home: home, User: e.UserHome(), Plugins: s.Plugins, JSON: flag})
	return set, s.SetServerStatus(set.Servers)
}

// serverProblems reports MCP servers that sub-agents must do without.
func serverProblems(s *settings.Settings, set *agentdef.Set) (list []agentdef.Problem) {
	for i := range set.Servers {
		srv := &set.Servers[i]
		p := agentdef.Problem{File: "sub-agent " + srv.Kind, Detail: fmt.Sprintf("its MCP server %s is not started: %s", srv.Name, srv.Reason)}
		switch srv.Status {
		case settings.MCPApproved, settings.MCPRejected:
			continue
		case settings.MCPPending, settings.MCPChanged:
			p.Hint = "review it, then run: holdfast mcp approve " + term.Quote(srv.Key())
		case settings.MCPInvalid, settings.MCPDenied, settings.MCPDisabled:
		}
		list = append(list, p)
	}
	for _, d := range set.Definitions {
		for _, name := range d.Servers {
			defined := slices.ContainsFunc(set.Servers, func(srv settings.MCPServer) bool { return srv.Kind == d.Name && srv.Name == name })
			if !defined && s.FindMCP(name) == nil {
				list = append(list, agentdef.Problem{
					File: d.Origin, Detail: fmt.Sprintf("unknown MCP server %.80q; sub-agent %s runs without it", name, d.Name), Hint: "run holdfast mcp list, or add it with holdfast mcp add",
				})
			}
		}
	}
	return list
}

// Servers returns the MCP servers of a run and of the sub-agents defined in files.
func Servers(e *env.Env, s *settings.Settings) ([]settings.MCPServer, error) {
	set, err := Definitions(e, s, "")
	if err != nil {
		return nil, err
	}
	return slices.Concat(s.MCPServers, set.Servers), nil
}
