package acp

import (
	"encoding/json"

	sdk "github.com/coder/acp-go-sdk"
)

// hello is the response to initialize.
type hello struct {
	Version      int `json:"protocolVersion"`
	Capabilities struct {
		Load   bool `json:"loadSession"`
		Prompt struct {
			Image    bool `json:"image"`
			Embedded bool `json:"embeddedContext"`
		} `json:"promptCapabilities"`
		Sessions struct {
			Resume json.RawMessage `json:"resume"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	Auth []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"authMethods"`
}

func (h *hello) canResume() bool {
	r := h.Capabilities.Sessions.Resume
	return len(r) > 0 && string(r) != "null" && string(r) != "false"
}

// opened is the response to session/new, session/load and session/resume.
type opened struct {
	ID    string `json:"sessionId"`
	Modes *struct {
		Current   string `json:"currentModeId"`
		Available []struct {
			ID string `json:"id"`
		} `json:"availableModes"`
	} `json:"modes"`
	Models *struct {
		Current string `json:"currentModelId"`
	} `json:"models"`
	Options []struct {
		ID       string `json:"id"`
		Category string `json:"category"`
	} `json:"configOptions"`
}

// prompted is the response to session/prompt.
type prompted struct {
	Stop  string `json:"stopReason"`
	Usage struct {
		Input      int64 `json:"inputTokens"`
		Output     int64 `json:"outputTokens"`
		Thought    int64 `json:"thoughtTokens"`
		CacheRead  int64 `json:"cachedReadTokens"`
		CacheWrite int64 `json:"cachedWriteTokens"`
	} `json:"usage"`
}

// updateEvent is a session/update.
type updateEvent struct {
	Session string `json:"sessionId"`
	Update  update `json:"update"`
}

// update is an update of any type; a tool call sets only the fields it reports.
type update struct {
	Kind    string          `json:"sessionUpdate"`
	Message string          `json:"messageId"`
	Content json.RawMessage `json:"content"` // a block for a chunk, a list for a tool call
	Entries []planEntry     `json:"entries"`
	callFields
}

type planEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

type callFields struct {
	ID        string          `json:"toolCallId"`
	Title     string          `json:"title"`
	ToolKind  string          `json:"kind"`
	Status    string          `json:"status"`
	Locations []location      `json:"locations"`
	Input     json.RawMessage `json:"rawInput"`
	Output    json.RawMessage `json:"rawOutput"`
	Meta      struct {
		Claude struct {
			Tool   string `json:"toolName"`
			Parent string `json:"parentToolUseId"`
		} `json:"claudeCode"`
	} `json:"_meta"`
}

type location struct {
	Path string `json:"path"`
}

// content is a part of a tool call's result or planned change.
type content struct {
	Type    string          `json:"type"` // content, diff, terminal
	Content json.RawMessage `json:"content"`
	Path    string          `json:"path"`
	Old     *string         `json:"oldText"`
	New     string          `json:"newText"`
}

// permission is a session/request_permission.
type permission struct {
	Session string `json:"sessionId"`
	Call    struct {
		Content json.RawMessage `json:"content"`
		callFields
	} `json:"toolCall"`
	Options []struct {
		ID   string `json:"optionId"`
		Kind string `json:"kind"`
	} `json:"options"`
}

// choose returns the id of the option with the given kind, or "" if there is none.
func (p *permission) choose(kind sdk.PermissionOptionKind) string {
	for _, o := range p.Options {
		if o.Kind == string(kind) {
			return o.ID
		}
	}
	return ""
}

func selected(option string) sdk.RequestPermissionResponse {
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(sdk.PermissionOptionId(option))}
}

func cancelled() sdk.RequestPermissionResponse {
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeCancelled()}
}
