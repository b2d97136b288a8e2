package settings

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// addMCP adds a layer's servers. If two have the same name, the stronger layer wins.
func (m *merger) addMCP(s *parsedSource) {
	m.problems = append(m.problems, s.notes...)
	m.out.mcp.disabled = append(m.out.mcp.disabled, s.mcp.disabled...)
	m.out.mcp.denied = append(m.out.mcp.denied, s.mcp.denied...)
	if s.mcp.allowed != nil {
		m.out.mcp.allowed = append(m.out.mcp.allowed, *s.mcp.allowed)
	}
	for _, srv := range s.mcp.servers {
		if m.out.opt.StrictMCP && !s.given {
			continue
		}
		if !slices.ContainsFunc(m.out.MCPServers, func(e MCPServer) bool { return e.Name == srv.Name }) {
			m.out.MCPServers = append(m.out.MCPServers, srv)
		}
	}
}

// checkMCP sets the status of every server.
func (m *merger) checkMCP() {
	for i := range m.out.MCPServers {
		srv := &m.out.MCPServers[i]
		if srv.Status == "" {
			srv.Status, srv.Reason = m.out.mcpStatus(srv, m.trust)
		}
	}
	slices.SortStableFunc(m.out.MCPServers, func(a, b MCPServer) int { return cmp.Compare(a.Name, b.Name) })
}

func (s *Settings) mcpStatus(srv *MCPServer, trust *Trust) (MCPStatus, string) {
	if why := s.mcp.whyForbidden(srv); why != "" {
		return MCPDenied, why
	}
	if srv.disabled {
		return MCPDisabled, "disabled in its definition"
	}
	if o := named(s.mcp.disabled, srv.Name); o != nil && srv.FromFolder() {
		return MCPDisabled, "disabledMcpjsonServers, " + OriginText(*o)
	}
	if !srv.FromFolder() {
		return MCPApproved, ""
	}
	known := trust.server(s.Project, srv.Key())
	switch {
	case known == nil:
		return MCPPending, "not approved in this folder"
	case known.Digest != srv.Digest:
		return MCPChanged, "changed since it was approved"
	case known.Rejected:
		return MCPRejected, "rejected on " + known.DecidedAt.Format(time.DateOnly)
	}
	return MCPApproved, ""
}

// MCPNotice reports servers that are not started, with a hint.
type MCPNotice struct{ Text, Hint string }

// MCPNotices reports which servers of a folder are not started: invalid ones and those that are not
// approved.
func MCPNotices(folder string, list []MCPServer) []MCPNotice {
	var notices []MCPNotice
	var wait, names []string
	for i := range list {
		srv := &list[i]
		switch srv.Status {
		case MCPPending:
			wait, names = append(wait, srv.Key()), append(names, srv.Key())
		case MCPChanged:
			wait, names = append(wait, srv.Key()+" (changed)"), append(names, srv.Key())
		case MCPInvalid:
			notices = append(notices, MCPNotice{fmt.Sprintf("MCP server %s is not started: %s", srv.Key(), srv.Reason), "holdfast mcp get " + srv.Key()})
		case MCPApproved, MCPRejected, MCPDisabled, MCPDenied:
		}
	}
	var what string
	switch len(wait) {
	case 0:
		return notices
	case 1:
		what = fmt.Sprintf("MCP server %s of %s is not started: not approved in its current form", wait[0], folder)
	default:
		what = fmt.Sprintf("MCP servers %s of %s are not started: not approved in their current form", strings.Join(wait, ", "), folder)
	}
	return append(notices, MCPNotice{what, "review it, then run: holdfast mcp approve " + strings.Join(names, " ")})
}

// FindMCP returns the run's server with a name, or nil.
func (s *Settings) FindMCP(name string) *MCPServer {
	for i := range s.MCPServers {
		if s.MCPServers[i].Name == name {
			return &s.MCPServers[i]
		}
	}
	return nil
}

// TrustedServer is the user's decision about an MCP server of a folder.
type TrustedServer struct {
	Name      string    `json:"name"`   // [MCPServer.Key]
	Digest    string    `json:"digest"` // [MCPServer].Digest
	DecidedAt time.Time `json:"at"`
	Rejected  bool      `json:"rejected,omitempty"`
}

// server returns the decision about a server.
func (t *Trust) server(folder, name string) *TrustedServer {
	if t == nil {
		return nil
	}
	list := t.doc.Folders[folder].Servers
	if i := slices.IndexFunc(list, func(s TrustedServer) bool { return s.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// DecideServer stores that the user approves or rejects a server of the folder in its current form.
func (t *Trust) DecideServer(s *Settings, srv *MCPServer, approved bool, now time.Time) error {
	f := t.doc.Folders[s.Project]
	f.Servers = withServer(f.Servers, TrustedServer{Name: srv.Key(), Digest: srv.Digest, DecidedAt: now.UTC(), Rejected: !approved})
	if f.TrustedAt.IsZero() {
		f.TrustedAt = now.UTC()
	}
	t.doc.Folders[s.Project] = f
	return t.save()
}

// ForgetServer deletes a decision; false if there is none.
func (t *Trust) ForgetServer(project, name string) (bool, error) {
	f, ok := t.doc.Folders[project]
	remaining := slices.DeleteFunc(slices.Clone(f.Servers), func(s TrustedServer) bool { return s.Name == name })
	if !ok || len(remaining) == len(f.Servers) {
		return false, nil
	}
	if f.Servers = remaining; len(remaining) == 0 && f.Digest == "" && len(f.Hooks) == 0 && !f.Texts && f.Skills == "" && f.Foreign == "" {
		delete(t.doc.Folders, project)
	} else {
		t.doc.Folders[project] = f
	}
	return true, t.save()
}

func withServer(list []TrustedServer, s TrustedServer) []TrustedServer {
	list = slices.DeleteFunc(slices.Clone(list), func(e TrustedServer) bool { return e.Name == s.Name })
	list = append(list, s)
	slices.SortFunc(list, func(a, b TrustedServer) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// trustableServers returns the decisions about servers that the user makes by trusting the whole
// folder. They cover the servers in its settings, because the user trusts these settings. Decisions
// about servers in .mcp.json and of plugins do not change.
func (s *Settings) trustableServers(list []TrustedServer, now time.Time) []TrustedServer {
	for i := range s.MCPServers {
		srv := &s.MCPServers[i]
		if !srv.FromFolder() || srv.Status == MCPInvalid || srv.Plugin != "" || filepath.Base(srv.Origin.File) == mcpFile {
			continue
		}
		known := slices.ContainsFunc(list, func(t TrustedServer) bool { return t.Name == srv.Name && t.Digest == srv.Digest })
		if !known { // an existing rejection is kept
			list = withServer(list, TrustedServer{Name: srv.Name, Digest: srv.Digest, DecidedAt: now.UTC()})
		}
	}
	return list
}
