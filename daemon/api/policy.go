package api

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/policy"
)

// Policy is the policy of a session.
type Policy struct {
	Version int            `json:"version"`
	Mode    policy.Mode    `json:"mode"`
	Running bool           `json:"live" jsonschema:"true while the run is active and these are its guards; otherwise the recorded policy without settings"`
	Chains  []policy.Chain `json:"chains"`
	Grants  []policy.Grant `json:"grants"`
}

// PolicyChange changes the mode, or adds path rules for a tool.
type PolicyChange struct {
	Patch *policy.Patch `json:"patch,omitempty"`
	Mode  policy.Mode   `json:"mode,omitempty"`
}

// PolicyTest is a tool call to test against a policy.
type PolicyTest struct {
	Cwd     string          `json:"cwd" jsonschema:"an absolute folder"`
	Session string          `json:"session,omitempty" jsonschema:"use this session's grants"`
	Mode    string          `json:"mode,omitempty"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
}
