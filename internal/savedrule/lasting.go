// Package savedrule is what clients of the daemon are told about answers that are written into settings.
package savedrule

import (
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
)

// Preview is what an answer that holds for good would write, and where.
type Preview struct {
	Rules   []approval.Scope `json:"rules,omitempty" jsonschema:"rules that settings can have, the narrowest first, which is written when the decision has no scope"`
	Path    string           `json:"path,omitempty" jsonschema:"instead of a rule: what commands in the sandbox may write"`
	Hosts   []string         `json:"hosts,omitempty" jsonschema:"instead of a rule: a host and the private address at which commands may connect to it"`
	Files   []File           `json:"files,omitempty" jsonschema:"where it can be written"`
	Refused string           `json:"refused,omitempty" jsonschema:"why a layer is not among the files"`
}

// File is a settings file of a layer.
type File struct {
	Layer string `json:"layer" jsonschema:"local (this project, for the person), project (this project, for all) or user (every project)"`
	File  string `json:"file" jsonschema:"it need not exist yet"`
}

// Result says what an answer for good has written.
type Result struct {
	Rule    string        `json:"rule,omitempty" jsonschema:"the rule"`
	Path    string        `json:"path,omitempty" jsonschema:"instead of a rule: what commands in the sandbox may write"`
	Hosts   []string      `json:"hosts,omitempty" jsonschema:"instead of a rule: a host and the private address at which commands may connect to it"`
	Effect  policy.Effect `json:"effect" jsonschema:"allow or deny"`
	Layer   string        `json:"layer" jsonschema:"local, project or user"`
	File    string        `json:"file" jsonschema:"the settings file"`
	Line    int           `json:"line" jsonschema:"where it stands"`
	Changed bool          `json:"changed" jsonschema:"false when it was there before"`
	Counts  bool          `json:"counts" jsonschema:"false when other settings of the folder are not trusted"`
	Text    string        `json:"text" jsonschema:"all this in a sentence"`
}
