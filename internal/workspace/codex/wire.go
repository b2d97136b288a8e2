package codex

import "encoding/json"

// The types are those of `codex app-server generate-ts`, with only the fields that are used here.

type thread struct {
	Thread struct {
		ID string `json:"id"`
	} `json:"thread"`
}

type turn struct {
	ID     string     `json:"id"`
	Status string     `json:"status"` // completed, interrupted, failed, inProgress
	Error  *turnError `json:"error"`
}

type turnError struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"` // a name, or an object that contains the name
	Details string          `json:"additionalDetails"`
}

func (e *turnError) text() string {
	if e == nil {
		return ""
	}
	if e.Details != "" {
		return e.Message + ": " + e.Details
	}
	return e.Message
}

// event is the content of notifications and requests.
type event struct {
	Thread string `json:"threadId"`
	Turn   string `json:"turnId"`
	Item   string `json:"itemId"`
}

type itemEvent struct {
	event
	Item item `json:"item"`
}

// item is a ThreadItem of any type.
type item struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Status string `json:"status"`

	Text    string   `json:"text"`    // agentMessage, plan
	Phase   string   `json:"phase"`   // agentMessage
	Summary []string `json:"summary"` // reasoning

	Content json.RawMessage `json:"content"` // reasoning: texts

	Command string  `json:"command"` // commandExecution
	Cwd     string  `json:"cwd"`
	Output  *string `json:"aggregatedOutput"`
	Exit    *int    `json:"exitCode"`

	Changes []change `json:"changes"` // fileChange

	Server    string          `json:"server"` // mcpToolCall
	Tool      string          `json:"tool"`   // and others
	Namespace string          `json:"namespace"`
	Arguments json.RawMessage `json:"arguments"`
	Result    json.RawMessage `json:"result"`
	Error     *turnError      `json:"error"`

	Prompt string          `json:"prompt"` // collabAgentToolCall
	States json.RawMessage `json:"agentsStates"`

	Query  string          `json:"query"` // webSearch
	Action json.RawMessage `json:"action"`

	Path string `json:"path"` // imageView

	Review string `json:"review"`
}

// change is one file's part of a fileChange.
type change struct {
	Path string `json:"path"`
	Kind struct {
		Type string `json:"type"` // add, delete, update
		Move string `json:"move_path"`
	} `json:"kind"`
	Diff string `json:"diff"` // the content of an added or deleted file
}

// approval is a permission request for a command or a file change.
type approval struct {
	event
	Kind     string `json:"kind"`
	Approval string `json:"approvalId"`
	Reason   string `json:"reason"`
	Command  string `json:"command"`
	Cwd      string `json:"cwd"`
	Network  *struct {
		Host     string `json:"host"`
		Protocol string `json:"protocol"`
	} `json:"networkApprovalContext"`
	Root string `json:"grantRoot"`
}

// elicitation is a request that an MCP server sends, or a request for permission to use one of its
// tools.
type elicitation struct {
	event
	Server  string `json:"serverName"`
	Message string `json:"message"`
	Meta    struct {
		Kind   string          `json:"codex_approval_kind"`
		Tool   string          `json:"tool_name"`
		Params json.RawMessage `json:"tool_params"`
	} `json:"_meta"`
}

// counts has the token counts of Codex, in which cached tokens are part of the input tokens.
type counts struct {
	Input      int64 `json:"inputTokens"`
	Cached     int64 `json:"cachedInputTokens"`
	CacheWrite int64 `json:"cacheWriteInputTokens"`
	Output     int64 `json:"outputTokens"`
	Reasoning  int64 `json:"reasoningOutputTokens"`
}

func (c counts) minus(d counts) counts {
	return counts{
		c.Input - d.Input, c.Cached - d.Cached, c.CacheWrite - d.CacheWrite,
		c.Output - d.Output, c.Reasoning - d.Reasoning,
	}
}

type usageEvent struct {
	event
	Usage struct {
		Total counts `json:"total"`
		Last  counts `json:"last"`
	} `json:"tokenUsage"`
}
