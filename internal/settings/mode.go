package settings

import "github.com/holdfast-dev/holdfast/policy"

// stricter reports whether a mode is surely stricter than another: whatever the
// rules and the person say, it lets nothing pass that the other would not. The
// modes that never ask are no stricter than plan in that sense: they take an allow
// rule for a change, which plan does not.
func stricter(a, b policy.Mode) bool {
	return a != b && b != policy.ModePlan && a.Stricter(b) == a
}
