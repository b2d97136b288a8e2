package hook

import "encoding/json"

// Output is the result of a hook. The zero value and nil have no effect. Commands print it as JSON
// in their dialect (see docs/reference/hooks.md); functions return it.
//
// A result that the event does not support is not an error; it is reported in [Outcome].Notices.
type Output struct {
	// Block prevents the action, or keeps the agent from stopping; Reason, or else Message, is the
	// reason, and goes to the model. Decision "block" is the same; "approve" is Permission allow.
	Block    bool
	Decision string
	Reason   string
	// Message is for the user, and the reason of a block without a Reason.
	Message string
	// SystemMessage is added to the conversation, for the model.
	SystemMessage string
	// Warning is shown only to the user (Claude's systemMessage).
	Warning string
	// Context is added to what the model reads next (additionalContext).
	Context string

	// Permission is allow, deny, ask or defer, for PreToolUse and PermissionRequest. Deny wins,
	// then defer, ask, allow; an allow only replaces the approval that a mode requires.
	Permission       string
	PermissionReason string
	// Input replaces the input of the call, as a whole, and the policy is evaluated again; for
	// PreToolUse, and for PermissionRequest with allow.
	Input json.RawMessage
	// Interrupt, with a deny of PermissionRequest: end the turn as well.
	Interrupt bool
	// Updates change the policy of the run.
	Updates []PermissionUpdate
	// ToolOutput replaces the result that the model reads: text, or any JSON (updatedToolOutput,
	// updatedMCPToolOutput); for PostToolUse.
	ToolOutput json.RawMessage
	// Action answers an MCP server: accept, decline or cancel. With accept, Content is the answer.
	// For Elicitation, and for ElicitationResult, where it replaces the user's answer.
	Action  string
	Content json.RawMessage
	// Retry tells the model that it may try again, for PermissionDenied.
	Retry bool

	// Notification is shown to the user and passed to Notification hooks.
	Notification *UserNotification
	// Stop ends the turn (Claude's "continue": false); StopReason is for the user.
	Stop       bool
	StopReason string
	// SuppressOutput hides Message and plain text from the user.
	SuppressOutput bool
	// TerminalSequence is sent to the terminal; only titles, notifications and the bell are
	// allowed.
	TerminalSequence string

	SessionTitle   string   // SessionStart, UserPromptSubmit
	InitialMessage string   // SessionStart: the input of the session if it has none (initialUserMessage)
	WatchPaths     []string // SessionStart, CwdChanged, FileChanged: replaces the paths set before; an empty list that is not nil removes them
	WorktreePath   string   // WorktreeCreate
	HidePrompt     bool     // UserPromptSubmit with a block: do not show it again (suppressOriginalPrompt)
}

// PermissionUpdate is a policy change requested by a hook. Exactly one form is set.
//
//	{"tool":"Bash","behavior":"deny"}                                   Open Agent SDK
//	{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls:*"}],
//	 "behavior":"allow","destination":"session"}                        Claude Code
//	{"type":"setMode","mode":"plan","destination":"session"}
type PermissionUpdate struct {
	Rules    []string // rules: "Bash", "Bash(ls:*)"
	Behavior string   // the effect of Rules: allow or deny
	Mode     string
	Hook     string `json:",omitempty"` // in an [Outcome]: the hook that requested it
}

// UserNotification is a notification: one that a hook wants to show, or one that a hook receives.
// Level is info, warning or error; any other value means info. Type is the subject, in an [Input]:
// permission_prompt, auth_failed, hook …
type UserNotification struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	Level string `json:"level"`
	Type  string `json:"type,omitempty"`
}
