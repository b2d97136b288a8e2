package api

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/savedrule"
)

// ApprovalState is where a question stands: pending, approved, denied, expired (its time ran out), or
// cancelled (its run ended without an answer).
type ApprovalState string

// Approval is a question, and its answer when it has one.
type Approval struct {
	approval.Request
	State       ApprovalState      `json:"state" jsonschema:"pending, approved, denied, expired or cancelled"`
	Answer      *approval.Answer   `json:"answer,omitempty"`
	RunID       string             `json:"run_id" jsonschema:"the session of the run that asks: that of the question, or of the run that its agent works for"`
	Run         string             `json:"run,omitempty" jsonschema:"status of the run"`
	Title       string             `json:"title,omitempty" jsonschema:"of the run's session"`
	SavePreview *savedrule.Preview `json:"always,omitempty" jsonschema:"of a pending question: what an answer with always would write into the settings; left out when no answer holds for longer than the call"`
	Saved       *savedrule.Result  `json:"kept,omitempty" jsonschema:"of a decision with always: what was written"`
}

// Decision answers a question. The daemon records as its author whom it takes the caller for.
type Decision struct {
	Decision approval.Decision `json:"decision" jsonschema:"allow, deny, allow-session or deny-session"`
	Scope    string            `json:"scope,omitempty" jsonschema:"of a decision for the session: a rule; left out: exactly the request"`
	SaveTo   string            `json:"always,omitempty" jsonschema:"with a decision for the session: write its rule into the settings as well: local (this project, for the person), project (this project, for all) or user (every project); needs the scope admin, too"`
	Message  string            `json:"message,omitempty" jsonschema:"told to the model"`
	Stop     bool              `json:"stop,omitempty" jsonschema:"with a deny: end the turn as well"`
	Input    json.RawMessage   `json:"input,omitempty" jsonschema:"with a plain allow: run with this input instead; it is judged again. Of a form: {content}"`
	Digest   string            `json:"digest,omitempty" jsonschema:"of the question as it was shown; refused when it is another question's"`
	Continue bool              `json:"continue,omitempty" jsonschema:"continue the run when it was interrupted: an answer alone starts nothing; needs the scope run, too"`
}
