package settings

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// addMCP takes in what a layer says about servers. Of two of one name the stronger
// layer's counts.
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

// checkMCP says of every server whether it is started.
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
	if why := s.mcp.forbids(srv); why != "" {
		return MCPDenied, why
	}
	if srv.disabled {
		return MCPDisabled, "its definition says disabled"
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
		return MCPPending, "nobody has approved it in this folder"
	case known.Digest != srv.Digest:
		return MCPChanged, "it is not what was approved any more"
	case known.Rejected:
		return MCPRejected, "it was rejected " + known.DecidedAt.Format(time.DateOnly)
	}
	return MCPApproved, ""
}

// MCPNotice says that servers are left out, and what to do about it.
type MCPNotice struct{ Text, Hint string }

// MCPNotices says which servers of a folder are left out: those that cannot be understood,
// and those that nobody has approved.
func MCPNotices(folder string, list []MCPServer) []MCPNotice {
	var told []MCPNotice
	var wait, names []string
	for i := range list {
		srv := &list[i]
		switch srv.Status {
		case MCPPending:
			wait, names = append(wait, srv.Key()), append(names, srv.Key())
		case MCPChanged:
			wait, names = append(wait, srv.Key()+" (changed)"), append(names, srv.Key())
		case MCPInvalid:
			told = append(told, MCPNotice{fmt.Sprintf("the MCP server %s is left out: %s", srv.Key(), srv.Reason), "holdfast mcp get " + srv.Key()})
		case MCPApproved, MCPRejected, MCPDisabled, MCPDenied:
		}
	}
	var what string
	switch len(wait) {
	case 0:
		return told
	case 1:
		what = fmt.Sprintf("the MCP server %s of %s is left out: nobody has approved it as it is", wait[0], folder)
	default:
		what = fmt.Sprintf("the MCP servers %s of %s are left out: nobody has approved them as they are", strings.Join(wait, ", "), folder)
	}
	return append(told, MCPNotice{what, "look at it, then: holdfast mcp approve " + strings.Join(names, " ")})
}

// FindMCP is the run's server of a name, or nil.
func (s *Settings) FindMCP(name string) *MCPServer {
	for i := range s.MCPServers {
		if s.MCPServers[i].Name == name {
			return &s.MCPServers[i]
		}
	}
	return nil
}

// TrustedServer is an MCP server of a folder about which a person has decided.
type TrustedServer struct {
	Name      string    `json:"name"`   // [MCPServer.Key]
	Digest    string    `json:"digest"` // [MCPServer].Digest
	DecidedAt time.Time `json:"at"`
	Rejected  bool      `json:"rejected,omitempty"`
}

// server is what was decided about a server.
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

// DecideServer keeps that a person approves a server that the folder brings along, or
// rejects it, as it is written now.
func (t *Trust) DecideServer(s *Settings, srv *MCPServer, approved bool, now time.Time) error {
	f := t.doc.Folders[s.Project]
	f.Servers = withServer(f.Servers, TrustedServer{Name: srv.Key(), Digest: srv.Digest, DecidedAt: now.UTC(), Rejected: !approved})
	if f.TrustedAt.IsZero() {
		f.TrustedAt = now.UTC()
	}
	t.doc.Folders[s.Project] = f
	return t.save()
}

// ForgetServer takes back what was decided; false when nothing was.
func (t *Trust) ForgetServer(project, name string) (bool, error) {
	f, ok := t.doc.Folders[project]
	kept := slices.DeleteFunc(slices.Clone(f.Servers), func(s TrustedServer) bool { return s.Name == name })
	if !ok || len(kept) == len(f.Servers) {
		return false, nil
	}
	if f.Servers = kept; len(kept) == 0 && f.Digest == "" && len(f.Hooks) == 0 && !f.Texts && f.Skills == "" && f.Foreign == "" {
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

// trustableServers are what is decided when the whole folder is trusted: its settings name
// them, so they are among what was read. Those of .mcp.json stay as they were.
func (s *Settings) trustableServers(list []TrustedServer, now time.Time) []TrustedServer {
	for i := range s.MCPServers {
		srv := &s.MCPServers[i]
		if !srv.FromFolder() || srv.Status == MCPInvalid || filepath.Base(srv.Origin.File) == mcpFile {
			continue
		}
		known := slices.ContainsFunc(list, func(t TrustedServer) bool { return t.Name == srv.Name && t.Digest == srv.Digest })
		if !known { // a no to it stands
			list = withServer(list, TrustedServer{Name: srv.Name, Digest: srv.Digest, DecidedAt: now.UTC()})
		}
	}
	return list
}
