package settings

import "github.com/holdfast-dev/holdfast/policy"

// stricter reports whether a mode is certainly stricter than another: whatever the rules and the
// user decide, it allows nothing that the other would not. Modes that never ask are therefore not
// stricter than plan mode: in them, an allow rule allows a change, and in plan mode it does not.
func stricter(a, b policy.Mode) bool {
	return a != b && b != policy.ModePlan && a.Stricter(b) == a
}
