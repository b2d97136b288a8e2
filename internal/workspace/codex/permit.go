package codex

import (
	"encoding/json"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/workspace/jsonrpc"
	"github.com/holdfast-dev/holdfast/internal/workspace/lineio"
	"github.com/holdfast-dev/holdfast/internal/workspace/toolqueue"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
)

// request answers Codex's requests. It rejects unknown ones.
func (r *run) request(m *jsonrpc.Message) error {
	switch m.Method {
	case "item/commandExecution/requestApproval":
		return r.askCommand(m)
	case "item/fileChange/requestApproval":
		return r.askChange(m)
	case "mcpServer/elicitation/request":
		return r.askServer(m)
	case "item/permissions/requestApproval": // the container's permissions cannot be extended
		r.conn.Reply(m.ID, map[string]any{"permissions": map[string]any{}, "scope": "turn"})
		return nil
	case "item/tool/requestUserInput":
		r.conn.Reply(m.ID, map[string]any{"answers": map[string]any{}})
		return r.uses.NoticeOnce("the agent asked questions, which are not supported here")
	}
	r.conn.Refuse(m.ID, jsonrpc.MethodNotFound, "not supported: "+m.Method)
	return r.uses.NoticeOnce("unknown request type: " + lineio.Truncate(m.Method, 80))
}

// unreadable rejects an invalid request.
func (r *run) unreadable(m *jsonrpc.Message) error {
	r.conn.Refuse(m.ID, jsonrpc.InvalidParams, "invalid request")
	return r.uses.Notice("invalid request")
}

// ask gets the decision about a tool use and answers with one of Codex's decisions: accept for this
// use only, decline, or cancel.
func (r *run) ask(m *jsonrpc.Message, p vendor.Permission) error {
	id := slices.Clone(m.ID)
	return r.uses.Ask(string(id), p, func(a vendor.Answer) {
		decision := "decline"
		switch {
		case a.Allow && a.Input == nil:
			decision = "accept"
		case a.Interrupt:
			decision = "cancel"
		}
		r.conn.Reply(id, map[string]any{"decision": decision})
	})
}

func (r *run) askCommand(m *jsonrpc.Message) error {
	var q approval
	if err := m.Decode(&q); err != nil {
		return r.unreadable(m)
	}
	p := vendor.Permission{Use: q.Item, Tool: "Bash", Detail: q.Reason}
	in, err := json.Marshal(r.command(q.Command, q.Cwd))
	if err != nil {
		return r.unreadable(m)
	}
	p.Input = in
	additional := q.Approval != ""
	switch {
	case q.Network != nil:
		additional = true
		p.Tool = "WebFetch"
		p.Input, _ = json.Marshal(map[string]any{"url": q.Network.Protocol + "://" + q.Network.Host}) // only strings: cannot fail
	case q.Kind == "writeStdin":
		additional = true
	}
	u := r.uses.Use(q.Item)
	if u != nil && u.IsPending() && !additional && u.Name == p.Tool && q.Command != "" {
		u.Input = p.Input // the decision applies to the arguments in the request
	}
	if u != nil && u.IsPending() && additional {
		// The tool use itself is already running, and this request is for an additional permission.
		if err := r.uses.Run(q.Item); err != nil {
			return err
		}
	}
	return r.ask(m, p)
}

func (r *run) askChange(m *jsonrpc.Message) error {
	var q approval
	if err := m.Decode(&q); err != nil {
		return r.unreadable(m)
	}
	u := r.uses.Use(q.Item)
	if u == nil || u.Name != "apply_patch" {
		r.conn.Reply(m.ID, map[string]any{"decision": "decline"})
		return r.uses.Notice("the agent requested permission for an unknown file change")
	}
	return r.ask(m, vendor.Permission{Use: q.Item, Tool: u.Name, Input: u.Input, Detail: q.Reason})
}

// sameJSON reports whether the arguments of two tool uses are equal as JSON.
func sameJSON(a, b json.RawMessage) bool {
	if len(b) == 0 {
		b = json.RawMessage("{}")
	}
	return jsonscan.Equal(a, b)
}

// askServer gets the decision about a use of an MCP server's tool. Other requests of an MCP server
// are declined and not shown to the user.
func (r *run) askServer(m *jsonrpc.Message) error {
	var q elicitation
	if err := m.Decode(&q); err != nil {
		return r.unreadable(m)
	}
	answer := func(action string) map[string]any {
		a := map[string]any{"action": action, "content": nil, "_meta": nil}
		if action == "accept" {
			a["content"] = map[string]any{}
		}
		return a
	}
	use := r.uses.Find(func(u *toolqueue.Use) bool {
		return u.Name == "mcp__"+q.Server+"__"+q.Meta.Tool && sameJSON(u.Input, q.Meta.Params)
	})
	if q.Meta.Kind != "mcp_tool_call" || use == nil {
		r.conn.Reply(m.ID, answer("decline"))
		return r.uses.Notice("the server " + q.Server + " asked a question, which is not supported here: " + lineio.Truncate(q.Message, 200))
	}
	id := slices.Clone(m.ID)
	return r.uses.Ask(string(id), vendor.Permission{Use: use.ID, Tool: use.Name, Input: use.Input, Detail: q.Message}, func(a vendor.Answer) {
		switch {
		case a.Allow && a.Input == nil:
			r.conn.Reply(id, answer("accept"))
		case a.Interrupt:
			r.conn.Reply(id, answer("cancel"))
		default:
			r.conn.Reply(id, answer("decline"))
		}
	})
}
