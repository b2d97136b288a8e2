package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/policy"
)

// maxMessage bounds in bytes what an answer tells the model.
const maxMessage = 4 << 10

// Check says whether an answer fits a question; the error wraps ErrInvalid. It does
// not look at the time.
func Check(q Question, a Answer) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
	}
	switch a.Decision {
	case Allow, Deny, AllowSession, DenySession:
	default:
		return bad("unknown decision %q\nhint: allow, deny, allow-session or deny-session", a.Decision)
	}
	switch {
	case a.Question != "" && a.Question != q.ID:
		return bad("it answers question %s, not %s", a.Question, q.ID)
	case a.Scope != "" && !a.Decision.Session():
		return bad("a scope goes with a decision for the session only")
	case a.Input != nil && a.Decision != Allow:
		return bad("a new input goes with a plain allow only")
	case a.Input != nil && (!json.Valid(a.Input) || !bytes.HasPrefix(bytes.TrimSpace(a.Input), []byte("{"))):
		return bad("the new input is not a JSON object")
	case a.Stop && a.Decision.Allows():
		return bad("only a deny can stop the turn")
	case len(a.Message) > maxMessage:
		return bad("the message is %d bytes long, at most %d are told to the model", len(a.Message), maxMessage)
	case a.Scope == "":
		return nil
	}
	if tool, _, _ := strings.Cut(a.Scope, "("); tool != q.Tool {
		return bad("scope %s is not about %s", a.Scope, q.Tool)
	}
	effect := policy.Allow
	if !a.Decision.Allows() {
		effect = policy.Deny
	}
	_, _, err := policy.CompileRules(
		[]policy.RuleSource{{Effect: effect, Text: a.Scope, Layer: policy.LayerSession}}, policy.RuleOptions{Cwd: q.Cwd})
	if err != nil {
		return bad("scope: %v", err)
	}
	return nil
}
