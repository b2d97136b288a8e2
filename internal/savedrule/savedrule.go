// Package savedrule has the types that tell the daemon's clients what a saved answer writes into
// settings.
//
//	approval request ─► Preview ─► client ─► answer with "save" ─► Result
//
// Package saverule of internal/compose creates them and writes the settings.
package savedrule

import (
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
)

// Preview is what saving an answer would write, and where.
type Preview struct {
	Rules   []approval.Scope `json:"rules,omitempty" jsonschema:"possible rules, narrowest first; without a scope, the first is saved"`
	Path    string           `json:"path,omitempty" jsonschema:"instead of a rule: a path that sandboxed commands may write"`
	Hosts   []string         `json:"hosts,omitempty" jsonschema:"instead of a rule: a host and the private address that sandboxed commands may connect to"`
	Files   []File           `json:"files,omitempty" jsonschema:"settings files it can be saved in"`
	Refused string           `json:"refused,omitempty" jsonschema:"why a layer is missing from the files"`
}

// File is a settings file of a layer.
type File struct {
	Layer string `json:"layer" jsonschema:"local (this project, this user), project (this project, all users) or user (all projects)"`
	File  string `json:"file" jsonschema:"path; it may not exist yet"`
}

// Result says what a saved answer has written.
type Result struct {
	Rule    string        `json:"rule,omitempty" jsonschema:"the rule"`
	Path    string        `json:"path,omitempty" jsonschema:"instead of a rule: a path that sandboxed commands may write"`
	Hosts   []string      `json:"hosts,omitempty" jsonschema:"instead of a rule: a host and the private address that sandboxed commands may connect to"`
	Effect  policy.Effect `json:"effect" jsonschema:"allow or deny"`
	Layer   string        `json:"layer" jsonschema:"local, project or user"`
	File    string        `json:"file" jsonschema:"the settings file"`
	Line    int           `json:"line" jsonschema:"line in the file"`
	Changed bool          `json:"changed" jsonschema:"false if it was already there"`
	Counts  bool          `json:"counts" jsonschema:"false if it does not take effect because other settings of the folder are not trusted"`
	Text    string        `json:"text" jsonschema:"a sentence with all of this"`
}
