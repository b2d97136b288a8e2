package wire

import (
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/savedrule"
	"github.com/holdfast-dev/holdfast/policy"
)

// RequestPermission asks whether a tool call may run. As in CommaAgents, RequestID is the id of the
// approval. PermissionRequestID has the same value.
type RequestPermission struct {
	RunPosition

	PermissionRequestID string           `json:"permissionRequestId" jsonschema:"for permission_decision; the same as requestId"`
	AgentName           string           `json:"agentName" jsonschema:"the agent that wants to call the tool"`
	ToolName            string           `json:"toolName,omitempty" jsonschema:"the tool"`
	ToolCallID          string           `json:"toolCallId" jsonschema:"the call"`
	Operation           policy.Operation `json:"operation" jsonschema:"operation of the call; empty if the tool accesses no named resource"`
	Resource            string           `json:"resource" jsonschema:"an absolute path with links resolved, a command line, a host, or server/tool; if there are several requests, that of the first"`
	Reason              string           `json:"reason" jsonschema:"policy-ask, or policy-deny-override: denied for the session, and the tool asks for one exception"`
	Why                 string           `json:"why,omitempty" jsonschema:"the reason as text, with the policy that asks"`
	Rule                *policy.Origin   `json:"rule,omitempty" jsonschema:"the rule that asks, with its file and line"`
	Mode                policy.Mode      `json:"mode,omitempty" jsonschema:"permission mode"`
	Sandbox             string           `json:"sandbox,omitempty" jsonschema:"sandbox of the call; none if it is not confined; omitted in a question of the model"`
	Cwd                 string           `json:"cwd,omitempty" jsonschema:"the folder of the session"`
	Scopes              []approval.Scope `json:"scopes,omitempty" jsonschema:"scopes that a session decision can have, narrowest first; if empty, only allow and deny are possible"`
	Digest              string           `json:"digest" jsonschema:"digest of the request; a decision may repeat it"`
	ExpiresAt           *Time            `json:"expiresAt,omitempty" jsonschema:"time at which the answer becomes deny; omitted if it never expires"`
	SessionID           string           `json:"sessionId,omitempty" jsonschema:"the agent's session, if it is not the run's"`
	Details             *Details         `json:"details,omitempty" jsonschema:"details to show"`
	Cut                 *Truncation      `json:"cut,omitempty" jsonschema:"resource was cut"`
}

// Details contains what a client shows about a call. Each text has at most [MaxDetails] bytes.
type Details struct {
	Display  string      `json:"shown,omitempty" jsonschema:"text to show instead of the resource, such as a diff"`
	ShownCut *Truncation `json:"shownCut,omitempty" jsonschema:"shown was cut"`
	Input    Raw         `json:"input,omitempty" jsonschema:"the tool's input, if it is short enough"`
	Form     bool        `json:"form,omitempty" jsonschema:"input is a form with server, message, requestedSchema and content (the proposed values); an allow returns it with the content the user filled in"`
	InputCut *Truncation `json:"inputCut,omitempty" jsonschema:"set instead of input if that is too long"`
	Requests []Effect    `json:"requests,omitempty" jsonschema:"all requests of the call, if there are several; at most 64"`
	Total    int         `json:"total,omitempty" jsonschema:"number of requests, if there are several"`
}

// Effect is one of several requests of a call.
type Effect struct {
	Operation policy.Operation `json:"operation" jsonschema:"operation of the request"`
	Resource  string           `json:"resource" jsonschema:"resource of the request"`
	Cwd       string           `json:"cwd,omitempty" jsonschema:"working folder of a command"`
	Shown     string           `json:"shown,omitempty" jsonschema:"text to show"`
	Cut       *Truncation      `json:"cut,omitempty" jsonschema:"resource or shown was cut; all of them together have at most 64 KiB"`
}

// PermissionResolved reports how an approval was answered, and by whom.
type PermissionResolved struct {
	RunPosition

	PermissionRequestID string            `json:"permissionRequestId" jsonschema:"the approval"`
	Decision            approval.Decision `json:"decision" jsonschema:"allow, deny, allow-session or deny-session"`
	By                  string            `json:"by" jsonschema:"who answered: a name, or timeout, nobody, …"`
	Via                 string            `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli, terminal"`
	Scope               string            `json:"scope,omitempty" jsonschema:"for a session decision: a rule; if omitted, exactly the request"`
	Reason              string            `json:"reason,omitempty" jsonschema:"text given with the decision"`
	Stop                bool              `json:"stop,omitempty" jsonschema:"the turn ends as well"`
	SessionID           string            `json:"sessionId,omitempty" jsonschema:"the agent's session, when that is not the run's"`
	AgentName           string            `json:"agentName,omitempty" jsonschema:"the agent whose call it is"`
}

// RuleSaved reports the rule that was saved in the settings because of a decision with always. The
// sender of the decision receives it.
type RuleSaved struct {
	Envelope

	RunID               string `json:"runId" jsonschema:"the run"`
	PermissionRequestID string `json:"permissionRequestId" jsonschema:"the approval"`
	savedrule.Result
}

// NewRuleSaved returns the message about a saved rule.
func NewRuleSaved(run, question string, k *savedrule.Result) *RuleSaved {
	return &RuleSaved{RunID: run, PermissionRequestID: question, Result: *k}
}

// PolicyUpdated contains the new chain of the guard of one tool. There is one message for each
// guard.
type PolicyUpdated struct {
	RunPosition

	Tool     string          `json:"tool" jsonschema:"the tool; empty if there is no guard yet"`
	Policies List[PolicyRef] `json:"policies" jsonschema:"the chain, in the order of evaluation"`
	Version  int             `json:"version" jsonschema:"version of the policy, for ifVersion; each change adds one"`
	Mode     policy.Mode     `json:"mode,omitempty" jsonschema:"permission mode"`
	By       string          `json:"by,omitempty" jsonschema:"who changed it"`
	Via      string          `json:"via,omitempty" jsonschema:"through what: websocket, http, console, cli"`
}

// PolicyRef is one link of a guard's chain.
type PolicyRef struct {
	Name   string         `json:"name" jsonschema:"the policy's name"`
	Stage  string         `json:"stage,omitempty" jsonschema:"limits, sandbox, grants, callback, policies, rules or mode"`
	Detail string         `json:"detail,omitempty" jsonschema:"description of its content"`
	Rule   *policy.Origin `json:"rule,omitempty" jsonschema:"where the rule is written"`
}

// Type implements [Message].
func (*RequestPermission) Type() string { return "request_permission" }

// Type implements [Message].
func (*PermissionResolved) Type() string { return "permission_resolved" }

// Type implements [Message].
func (*RuleSaved) Type() string { return "rule_kept" }

// Type implements [Message].
func (*PolicyUpdated) Type() string { return "policy_updated" }
