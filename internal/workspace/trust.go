package workspace

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Trust says where an agent may work: on the host ([Direct]) or in a container only
// ([Sandboxed]). A workspace is always a container, so its settings can say Sandboxed
// and nothing else; Direct is for who decides whether there is to be a workspace at
// all. Neither loosens a policy: what is denied stays denied.
type Trust string

// The levels of trust.
const (
	Direct    Trust = "direct"
	Sandboxed Trust = "sandboxed"
)

// trusts are the words for the levels, those of seed 004's earlier versions included.
var trusts = map[string]Trust{
	"direct": Direct, "full": Direct, "vault": Direct, "trusted": Direct,
	"sandboxed": Sandboxed, "untrusted": Sandboxed,
}

// parseTrust reads a level, in capitals or not: "direct" (earlier "full", "vault",
// "trusted") or "sandboxed" (earlier "untrusted"). Anything else is an [Error] that
// wraps [ErrInvalid], and the level is then Sandboxed: so is who does not look.
func parseTrust(text string) (Trust, error) {
	if t, ok := trusts[strings.ToLower(text)]; ok {
		return t, nil
	}
	return Sandboxed, &Error{
		Op: "read trust", Err: ErrInvalid, Detail: fmt.Sprintf("Unknown trust level %.60q", text),
		Advice: "Valid values: direct, sandboxed (and the earlier full, vault, trusted, untrusted)",
	}
}

// UnmarshalJSON reads a level as parseTrust does. Null and what is no text are errors.
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
