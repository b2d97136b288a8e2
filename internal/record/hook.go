package record

// HookRan is the payload of a record of [KindHookRan]: which hooks ran at one moment and what
// came of it. Functions that said nothing are counted only.
type HookRan struct {
	Event  string    `json:"event"`
	Use    string    `json:"use_id,omitempty"`
	Tool   string    `json:"tool,omitempty"`
	Hooks  []HookRun `json:"hooks,omitempty"`
	Silent int       `json:"quiet,omitempty"` // functions that said nothing
	// Messages is what the hooks say to the person.
	Messages []HookNotice `json:"said,omitempty"`
}

// HookNotice is what a hook says to the person.
type HookNotice struct {
	Hook string `json:"by"`
	Text string `json:"text"`
}

// HookRun is one hook's part in a [HookRan].
type HookRun struct {
	Name   string `json:"name"`
	Digest string `json:"digest,omitempty"`
	Type   string `json:"type"`
	Source string `json:"source,omitempty"` // file:line
	Millis int64  `json:"ms"`
	Exit   *int   `json:"exit_code,omitempty"`
	// Effect is the first that it had of block, deny, defer, ask, allow, input, output,
	// context and stop; or async: started, and not waited for.
	Effect string `json:"effect,omitempty"`
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
	Rerun  bool   `json:"again,omitempty"` // about an input that was changed since the call was first put to it
}
