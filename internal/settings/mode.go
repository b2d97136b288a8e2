package settings

import "github.com/holdfast-dev/holdfast/policy"

// stricter reports whether a mode is certainly stricter than another: it never allows a call that
// the other would not allow, whatever the rules and the user decide. Modes that never ask are
// therefore not stricter than plan mode: in such a mode an allow rule allows a change, but in plan
// mode it does not.
func stricter(a, b policy.Mode) bool {
	return a != b && b != policy.ModePlan && a.Stricter(b) == a
}
