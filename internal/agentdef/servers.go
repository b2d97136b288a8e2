package agentdef

import (
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// maxServers is the maximum number of MCP servers of one definition.
const maxServers = 32

// mcpServers reads the list of MCP servers. An entry is the name of one of the run's servers, or a
// definition as in .mcp.readJSON, for these sub-agents only.
func (r *reader) mcpServers(m *jsontree.Member) {
	const form = "write a list of server names, or of NAME: with a definition"
	if m.Value.Kind != jsontree.List {
		r.refuse(m.Value.At, fmt.Sprintf("%s must be a list, not %s", m.Key, m.Value.Show()), form)
		return
	}
	for i := range m.Value.Items {
		item := &m.Value.Items[i]
		switch item.Kind {
		case jsontree.Text:
			r.server(item.At, item.Text)
		case jsontree.Object:
			for _, one := range item.Members {
				r.server(one.At, one.Key)
			}
			servers, notes := settings.KindServers(r.file, r.source, item)
			r.servers = append(r.servers, servers...)
			for _, n := range notes {
				r.problems = append(r.problems, Problem{File: n.File, Line: n.Line, Column: n.Col, Detail: n.Detail, Hint: n.Hint})
			}
		default:
			r.refuse(item.At, fmt.Sprintf("%s: %s is not a server", m.Key, item.Show()), form)
		}
	}
}

func (r *reader) server(at int, name string) {
	switch {
	case slices.Contains(r.d.Servers, name):
		r.refuse(at, fmt.Sprintf("mcpServers: duplicate server %.80q", name), "")
	case len(r.d.Servers) == maxServers:
		r.refuse(at, fmt.Sprintf("mcpServers: more than %d servers", maxServers), "")
	default:
		r.d.Servers = append(r.d.Servers, name)
	}
}
