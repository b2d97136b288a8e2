package hook

import "encoding/json"

// Output is what a hook answers. The zero value, and nil, say nothing. Commands
// print it as JSON in their dialect (see docs/reference/hooks.md); functions return it.
//
// What an event cannot use is no error of the hook, but is told: [Outcome].Notices.
type Output struct {
	// Block keeps the thing from happening, or the agent from stopping; Reason, or
	// else Message, says why, and goes to the model. Decision "block" is the same;
	// "approve" is Permission allow.
	Block    bool
	Decision string
	Reason   string
	// Message is for the person, and the reason of a block that gives no Reason.
	Message string
	// SystemMessage is put into the conversation, for the model.
	SystemMessage string
	// Warning is shown to the person and nobody else (Claude's systemMessage).
	Warning string
	// Context is put beside what the model reads next (additionalContext).
	Context string

	// Permission is allow, deny, ask or defer: of PreToolUse and PermissionRequest.
	// Deny wins, then defer, ask, allow; an allow passes only the question of a mode.
	Permission       string
	PermissionReason string
	// Input replaces the input of the call, as a whole; it is judged again. Of
	// PreToolUse, and of PermissionRequest with allow.
	Input json.RawMessage
	// Interrupt, with a deny of PermissionRequest: end the turn as well.
	Interrupt bool
	// Updates change the policy of the run.
	Updates []PermissionUpdate
	// ToolOutput replaces what the model reads of the result: text, or any JSON
	// (updatedToolOutput, updatedMCPToolOutput). Of PostToolUse.
	ToolOutput json.RawMessage
	// Action answers what an MCP server asks: accept, decline or cancel. With accept
	// Content is the answer. Of Elicitation, and of ElicitationResult in place of the
	// person's.
	Action  string
	Content json.RawMessage
	// Retry tells the model that it may try again. Of PermissionDenied.
	Retry bool

	// Notification is put to the person, and to hooks of that event.
	Notification *UserNotification
	// Stop ends the turn (Claude's "continue": false); StopReason is for the person.
	Stop       bool
	StopReason string
	// SuppressOutput keeps Message and plain text from the person.
	SuppressOutput bool
	// TerminalSequence is sent to the terminal: only titles, notifications and the bell.
	TerminalSequence string

	SessionTitle   string   // SessionStart, UserPromptSubmit
	InitialMessage string   // SessionStart: input when there is none (initialUserMessage)
	WatchPaths     []string // SessionStart, CwdChanged, FileChanged: in place of those named before; empty and not nil: none
	WorktreePath   string   // WorktreeCreate
	HidePrompt     bool     // UserPromptSubmit with a block: do not show it again (suppressOriginalPrompt)
}

// PermissionUpdate is a change of policy that a hook asks for. Exactly one form is set.
//
//	{"tool":"Bash","behavior":"deny"}                                   seed 000
//	{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls:*"}],
//	 "behavior":"allow","destination":"session"}                        Claude Code
//	{"type":"setMode","mode":"plan","destination":"session"}
type PermissionUpdate struct {
	Rules    []string // rules: "Bash", "Bash(ls:*)"
	Behavior string   // of Rules: allow or deny
	Mode     string
	Hook     string `json:",omitempty"` // in an [Outcome]: the hook that asks for it
}

// UserNotification is a notification: one that a hook wants to be shown, or that it is told of. Level is info,
// warning or error; anything else is info. Type is what the notification is about, in an [Input]:
// permission_prompt, auth_failed, hook …
type UserNotification struct {
	Title string `json:"title"`
	Body  string `json:"body"`
	Level string `json:"level"`
	Type  string `json:"type,omitempty"`
}
