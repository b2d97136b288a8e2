package settings

import "github.com/holdfast-dev/holdfast/policy"

// stricter reports whether a mode is certainly stricter than another: whatever the rules and the
// user decide, it allows nothing that the other would not. In that sense, modes that never ask are
// not stricter than plan: an allow rule lets them make a change, which plan does not.
func stricter(a, b policy.Mode) bool {
	return a != b && b != policy.ModePlan && a.Stricter(b) == a
}
