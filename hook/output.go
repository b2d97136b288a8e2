package hook

import "encoding/json"

// Output is the result of a hook. The zero value and nil change nothing. Commands print it as JSON
// in their dialect (see docs/reference/hooks.md); functions return it.
//
// A result that the event does not support is not an error; it is reported in [Outcome].Notices.
type Output struct {
	// Block prevents the action, or keeps the agent from stopping. The model receives the reason:
	// Reason, or Message if Reason is empty. Decision "block" has the same effect as Block, and
	// Decision "approve" has the same effect as Permission "allow".
	Block    bool
	Decision string
	Reason   string
	// Message is a text for the user. It is also the reason of a block that has no Reason.
	Message string
	// SystemMessage is added to the conversation, for the model.
	SystemMessage string
	// Warning is shown only to the user (Claude's systemMessage).
	Warning string
	// Context is added to what the model reads next (additionalContext).
	Context string

	// Permission is allow, deny, ask or defer, for PreToolUse and PermissionRequest. The strongest
	// one applies: deny, then defer, then ask, then allow. An allow only replaces the approval that
	// a mode requires.
	Permission       string
	PermissionReason string
	// Input replaces the whole input of the call, and the policy is evaluated again. It applies to
	// PreToolUse, and to PermissionRequest with allow.
	Input json.RawMessage
	// Interrupt also ends the turn. It needs a deny, for PermissionRequest.
	Interrupt bool
	// Updates change the policy of the run.
	Updates []PermissionUpdate
	// ToolOutput replaces the result that the model reads, for PostToolUse. It is text, or any JSON
	// (updatedToolOutput, updatedMCPToolOutput).
	ToolOutput json.RawMessage
	// Action answers a request of an MCP server: accept, decline or cancel. With accept, Content is
	// the content of the answer. Action applies to Elicitation, and to ElicitationResult, where it
	// replaces the user's answer.
	Action  string
	Content json.RawMessage
	// Retry tells the model that it may try again, for PermissionDenied.
	Retry bool

	// Notification is shown to the user and passed to Notification hooks.
	Notification *UserNotification
	// Stop ends the turn (Claude's "continue": false); StopReason is a text for the user.
	Stop       bool
	StopReason string
	// SuppressOutput hides Message and plain text from the user.
	SuppressOutput bool
	// TerminalSequence is sent to the terminal; only titles, notifications and the bell are
	// allowed.
	TerminalSequence string

	SessionTitle   string   // SessionStart, UserPromptSubmit
	InitialMessage string   // for SessionStart: the input of the session if it has none (initialUserMessage)
	WatchPaths     []string // for SessionStart, CwdChanged, FileChanged: replaces the paths set before; an empty list that is not nil removes them
	WorktreePath   string   // WorktreeCreate
	HidePrompt     bool     // for UserPromptSubmit and UserPromptExpansion, with a block: do not show the prompt again (suppressOriginalPrompt)
}

// PermissionUpdate is a policy change requested by a hook: either Rules with Behavior, or Mode. The
// JSON forms are:
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

// UserNotification is a notification that a hook wants to show, or that a hook receives. Level is
// info, warning or error; any other value means info. Type is set only in an [Input]. It is the
// subject of the notification: permission_prompt, auth_failed, hook …
type UserNotification struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	Level string `json:"level"`
	Type  string `json:"type,omitempty"`
}
