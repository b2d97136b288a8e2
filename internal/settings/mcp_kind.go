package settings

import (
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
)

// KindServers decodes the MCP servers of a sub-agent definition: the node n is an object of servers by name,
// the parameter text is the content of the file. A problem of a server becomes its status and excludes only
// that server. The result notes reports settings without effect. Nothing is started before
// [Settings.SetServerStatus].
func KindServers(file string, text []byte, n *jsontree.Node) (list []MCPServer, notes []Problem) {
	s := &parsedSource{source: source{file: file, data: text}, lenient: true}
	s.mcpServers("mcpServers", *n)
	return s.mcp.servers, s.notes
}

// SetServerStatus sets the status of servers of sub-agents, whose Kind, Folder and layer are set, by the
// same rules as for the run's servers. Their names must differ from the names of the run's servers.
func (s *Settings) SetServerStatus(list []MCPServer) error {
	trust, err := s.opt.trust()
	if err != nil {
		return err
	}
	for i := range list {
		srv := &list[i]
		switch {
		case srv.Status == MCPInvalid:
		case s.FindMCP(srv.Name) != nil:
			srv.Status, srv.Reason = MCPInvalid, "another server has this name, so rules cannot distinguish their tools; hint: rename it"
		case s.opt.StrictMCP && srv.Origin.Layer != layernames.Flag:
			srv.Status, srv.Reason = MCPDisabled, "--strict-mcp-config"
		default:
			srv.Status, srv.Reason = s.mcpStatus(srv, trust)
		}
	}
	return nil
}
