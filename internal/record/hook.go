package record

// HookRan is the payload of a [KindHookRan] record: the hooks that ran at one hook event, and their
// outcome. Functions without an outcome are only counted.
type HookRan struct {
	Event  string    `json:"event"`
	Use    string    `json:"use_id,omitempty"`
	Tool   string    `json:"tool,omitempty"`
	Hooks  []HookRun `json:"hooks,omitempty"`
	Silent int       `json:"quiet,omitempty"` // number of functions without an outcome
	// Messages are the texts of the hooks for the user.
	Messages []HookNotice `json:"said,omitempty"`
}

// HookNotice is a text of a hook for the user.
type HookNotice struct {
	Hook string `json:"by"`
	Text string `json:"text"`
}

// HookRun describes one hook in a [HookRan].
type HookRun struct {
	Name   string `json:"name"`
	Digest string `json:"digest,omitempty"`
	Type   string `json:"type"`
	Source string `json:"source,omitempty"` // file:line
	Millis int64  `json:"ms"`
	Exit   *int   `json:"exit_code,omitempty"`
	// Effect is the first effect of the hook in this order: block, deny, defer, ask, allow, input,
	// output, context, stop. It is async if the hook was started and the agent did not wait for it.
	Effect string `json:"effect,omitempty"`
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
	Rerun  bool   `json:"again,omitempty"` // true if the hook ran again because the input of the call was changed
}
