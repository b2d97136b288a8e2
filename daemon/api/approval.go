package api

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/savedrule"
)

// ApprovalState is the state of an approval: pending, approved, denied, expired (not answered in
// time), or cancelled (its run ended before an answer).
type ApprovalState string

// Approval is an approval request with its state, and its answer if there is one.
type Approval struct {
	approval.Request
	State       ApprovalState      `json:"state" jsonschema:"pending, approved, denied, expired or cancelled"`
	Answer      *approval.Answer   `json:"answer,omitempty"`
	RunID       string             `json:"run_id" jsonschema:"the run: the session of the approval, or of the run whose sub-agent asks"`
	Run         string             `json:"run,omitempty" jsonschema:"status of the run"`
	Title       string             `json:"title,omitempty" jsonschema:"title of the run's session"`
	SavePreview *savedrule.Preview `json:"always,omitempty" jsonschema:"for a pending approval: the rule that an answer with always would save; omitted if the answer applies only to the call"`
	Saved       *savedrule.Result  `json:"kept,omitempty" jsonschema:"for an answer with always: the saved rule"`
}

// Decision answers an approval. The daemon records the authenticated caller as the author of the
// answer.
type Decision struct {
	Decision approval.Decision `json:"decision" jsonschema:"allow, deny, allow-session or deny-session"`
	Scope    string            `json:"scope,omitempty" jsonschema:"for a session decision: a rule; default: exactly the request"`
	SaveTo   string            `json:"always,omitempty" jsonschema:"for a session decision: also save its rule in the settings: local (this project, only you), project (this project, everyone) or user (all your projects); also needs the scope admin"`
	Message  string            `json:"message,omitempty" jsonschema:"text for the model"`
	Stop     bool              `json:"stop,omitempty" jsonschema:"with a deny: also end the turn"`
	Input    json.RawMessage   `json:"input,omitempty" jsonschema:"with allow: run the tool with this input instead; the policy decides again. For a form: {content}"`
	Digest   string            `json:"digest,omitempty" jsonschema:"digest of the approval request that was shown; rejected if it does not match"`
	Continue bool              `json:"continue,omitempty" jsonschema:"continue the run if it was interrupted; without it, an answer starts nothing; also needs the scope run"`
}
