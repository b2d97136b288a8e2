package workspace

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Trust says where an agent may work: directly on the host ([Direct]) or only in a container
// ([Sandboxed]). A workspace is always a container, so its settings accept only Sandboxed; Direct
// is for callers that decide whether to use a workspace at all. Neither loosens a policy: a denied
// call stays denied.
type Trust string

// The levels of trust.
const (
	Direct    Trust = "direct"
	Sandboxed Trust = "sandboxed"
)

// trusts are the names of the levels, including those of CommaAgents' earlier versions.
var trusts = map[string]Trust{
	"direct": Direct, "full": Direct, "vault": Direct, "trusted": Direct,
	"sandboxed": Sandboxed, "untrusted": Sandboxed,
}

// parseTrust parses a level in any letter case: "direct" (earlier "full", "vault", "trusted") or "sandboxed"
// (earlier "untrusted"). Anything else returns an [Error] that wraps [ErrInvalid] and the level Sandboxed, which
// is safe for callers that ignore the error.
func parseTrust(text string) (Trust, error) {
	if t, ok := trusts[strings.ToLower(text)]; ok {
		return t, nil
	}
	return Sandboxed, &Error{
		Op: "read trust", Err: ErrInvalid, Detail: fmt.Sprintf("Unknown trust level %.60q", text),
		Advice: "Valid values: direct, sandboxed (and the earlier full, vault, trusted, untrusted)",
	}
}

// UnmarshalJSON parses a level as parseTrust does. Null and other values that are not strings are
// errors.
func (t *Trust) UnmarshalJSON(b []byte) error {
	*t = Sandboxed
	var text *string
	if err := json.Unmarshal(b, &text); err != nil || text == nil {
		_, err := parseTrust(string(b))
		return err
	}
	var err error
	*t, err = parseTrust(*text)
	return err
}
