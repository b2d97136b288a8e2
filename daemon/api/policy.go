package api

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/policy"
)

// Policy is the policy of a session's run.
type Policy struct {
	Version int            `json:"version"`
	Mode    policy.Mode    `json:"mode"`
	Running bool           `json:"live" jsonschema:"the run runs: these are its guards; otherwise what is on record, without settings"`
	Chains  []policy.Chain `json:"chains"`
	Grants  []policy.Grant `json:"grants"`
}

// PolicyChange is a mode, or path rules for a tool.
type PolicyChange struct {
	Patch *policy.Patch `json:"patch,omitempty"`
	Mode  policy.Mode   `json:"mode,omitempty"`
}

// PolicyTest is a tool call to judge.
type PolicyTest struct {
	Cwd     string          `json:"cwd" jsonschema:"an absolute folder"`
	Session string          `json:"session,omitempty" jsonschema:"with what was granted in this session"`
	Mode    string          `json:"mode,omitempty"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
}
