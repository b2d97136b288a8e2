package wire

import (
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/savedrule"
	"github.com/holdfast-dev/holdfast/policy"
)

// RequestPermission asks whether a tool call may run. RequestID is the question's
// id, as in the seed; PermissionRequestID repeats it.
type RequestPermission struct {
	Place

	PermissionRequestID string           `json:"permissionRequestId" jsonschema:"for permission_decision; the same as requestId"`
	AgentName           string           `json:"agentName" jsonschema:"the agent whose call it is"`
	ToolName            string           `json:"toolName,omitempty" jsonschema:"the tool"`
	ToolCallID          string           `json:"toolCallId" jsonschema:"the call"`
	Operation           policy.Operation `json:"operation" jsonschema:"kind of the effect; empty of a tool that touches nothing with a name"`
	Resource            string           `json:"resource" jsonschema:"an absolute path with links resolved, a command line, a host, server/tool; of the first effect when there are several"`
	Reason              string           `json:"reason" jsonschema:"policy-ask, or policy-deny-override: the session has denied it and the tool asks for one exception"`
	Why                 string           `json:"why,omitempty" jsonschema:"in words, with what asks"`
	Rule                *policy.Origin   `json:"rule,omitempty" jsonschema:"the rule that asks, with its file and line"`
	Mode                policy.Mode      `json:"mode,omitempty" jsonschema:"permission mode"`
	Sandbox             string           `json:"sandbox,omitempty" jsonschema:"what would hold the call; none when nothing does; left out of a question in words"`
	Cwd                 string           `json:"cwd,omitempty" jsonschema:"the folder of the session"`
	Scopes              []approval.Scope `json:"scopes,omitempty" jsonschema:"what for this session could cover, narrowest first; none: only allow and deny can be answered"`
	Digest              string           `json:"digest" jsonschema:"of exactly what is asked; a decision may repeat it"`
	ExpiresAt           *Time            `json:"expiresAt,omitempty" jsonschema:"then the answer is deny; left out: never"`
	SessionID           string           `json:"sessionId,omitempty" jsonschema:"the agent's session, when that is not the run's"`
	Details             *Details         `json:"details,omitempty" jsonschema:"what a person is shown"`
	Cut                 *Truncation      `json:"cut,omitempty" jsonschema:"resource was cut"`
}

// Details is what a person is shown of a call. Each text has at most [MaxDetails] bytes.
type Details struct {
	Display  string      `json:"shown,omitempty" jsonschema:"how a person sees it, when that is not the resource: a diff"`
	ShownCut *Truncation `json:"shownCut,omitempty" jsonschema:"shown was cut"`
	Input    Raw         `json:"input,omitempty" jsonschema:"the tool's input, when it is short enough"`
	Form     bool        `json:"form,omitempty" jsonschema:"input is a form: server, message, requestedSchema and content, what is proposed; an allow brings it with content as the person has filled it in"`
	InputCut *Truncation `json:"inputCut,omitempty" jsonschema:"instead of input: it is too long"`
	Requests []Effect    `json:"requests,omitempty" jsonschema:"all effects, when there are several; at most 64 are listed"`
	Total    int         `json:"total,omitempty" jsonschema:"how many effects there are, when there are several"`
}

// Effect is one of several effects that a call would have.
type Effect struct {
	Operation policy.Operation `json:"operation" jsonschema:"kind of the effect"`
	Resource  string           `json:"resource" jsonschema:"what it touches"`
	Cwd       string           `json:"cwd,omitempty" jsonschema:"where a command would start"`
	Shown     string           `json:"shown,omitempty" jsonschema:"how a person sees it"`
	Cut       *Truncation      `json:"cut,omitempty" jsonschema:"resource or shown was cut, which together are at most 64 KiB of all effects"`
}

// PermissionResolved tells how a question was answered, and by whom.
type PermissionResolved struct {
	Place

	PermissionRequestID string            `json:"permissionRequestId" jsonschema:"the question"`
	Decision            approval.Decision `json:"decision" jsonschema:"allow, deny, allow-session or deny-session"`
	By                  string            `json:"by" jsonschema:"who: a name, or timeout, nobody, …"`
	Via                 string            `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli, terminal"`
	Scope               string            `json:"scope,omitempty" jsonschema:"of a session decision: the rule that it covers; left out: exactly what was asked"`
	Reason              string            `json:"reason,omitempty" jsonschema:"what was said with it"`
	Stop                bool              `json:"stop,omitempty" jsonschema:"the turn ends as well"`
	SessionID           string            `json:"sessionId,omitempty" jsonschema:"the agent's session, when that is not the run's"`
	AgentName           string            `json:"agentName,omitempty" jsonschema:"the agent whose call it is"`
}

// RuleSaved tells whoever decided with always what was written into the settings.
type RuleSaved struct {
	Envelope

	RunID               string `json:"runId" jsonschema:"the run"`
	PermissionRequestID string `json:"permissionRequestId" jsonschema:"the question"`
	savedrule.Result
}

// NewRuleSaved is the message about what was written.
func NewRuleSaved(run, question string, k *savedrule.Result) *RuleSaved {
	return &RuleSaved{RunID: run, PermissionRequestID: question, Result: *k}
}

// PolicyUpdated tells the chain of one tool's guard after a change. A change gives one
// for each guard.
type PolicyUpdated struct {
	Place

	Tool     string          `json:"tool" jsonschema:"the tool; empty when no guard is there yet"`
	Policies List[PolicyRef] `json:"policies" jsonschema:"the chain, in the order in which it is asked"`
	Version  int             `json:"version" jsonschema:"of the policy, for ifVersion; each change adds one"`
	Mode     policy.Mode     `json:"mode,omitempty" jsonschema:"permission mode"`
	By       string          `json:"by,omitempty" jsonschema:"who changed it"`
	Via      string          `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli"`
}

// PolicyRef is one link of a guard's chain.
type PolicyRef struct {
	Name   string         `json:"name" jsonschema:"the policy's name"`
	Stage  string         `json:"stage,omitempty" jsonschema:"limits, sandbox, grants, callback, policies, rules or mode"`
	Detail string         `json:"detail,omitempty" jsonschema:"what it holds, in words"`
	Rule   *policy.Origin `json:"rule,omitempty" jsonschema:"where it was written"`
}

// Type implements [Message].
func (*RequestPermission) Type() string { return "request_permission" }

// Type implements [Message].
func (*PermissionResolved) Type() string { return "permission_resolved" }

// Type implements [Message].
func (*RuleSaved) Type() string { return "rule_kept" }

// Type implements [Message].
func (*PolicyUpdated) Type() string { return "policy_updated" }
