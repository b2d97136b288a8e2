package settings

import (
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
)

// KindServers reads MCP servers that a definition of sub-agents brings along: n is an object
// of them by name, in text, which is that of file. What is wrong with one is its
// status and keeps out that one. notes tell of what has no effect. Nothing is started
// before [Settings.JudgeServers].
func KindServers(file string, text []byte, n *jsontree.Node) (list []MCPServer, notes []Problem) {
	s := &parsedSource{source: source{file: file, data: text}, lenient: true}
	s.mcpServers("mcpServers", *n)
	return s.mcp.servers, s.notes
}

// JudgeServers says of servers of sub-agents, whose Kind, Folder and layer are known, whether
// they are started: as of those that a run has, and none has the name of one of those.
func (s *Settings) JudgeServers(list []MCPServer) error {
	trust, err := s.opt.trust()
	if err != nil {
		return err
	}
	for i := range list {
		srv := &list[i]
		switch {
		case srv.Status == MCPInvalid:
		case s.FindMCP(srv.Name) != nil:
			srv.Status, srv.Reason = MCPInvalid, "there is another server of that name, and rules could not tell their tools apart; rename it"
		case s.opt.StrictMCP && srv.Origin.Layer != layernames.Flag:
			srv.Status, srv.Reason = MCPDisabled, "--strict-mcp-config"
		default:
			srv.Status, srv.Reason = s.mcpStatus(srv, trust)
		}
	}
	return nil
}
