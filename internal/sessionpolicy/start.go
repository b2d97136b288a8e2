package sessionpolicy

import (
	"cmp"

	"github.com/holdfast-dev/holdfast/policy"
)

// byStart set the mode that was asked for at a start, where nobody said on whose behalf.
const byStart = "start"

// Start is the change to record when a run starts in the mode wanted, "" where none was asked
// for, and its log has the mode recorded. Nothing is recorded of the mode that the log has, or
// of a new run in default mode, or in bypassPermissions, which does not outlive its process.
func Start(wanted, recorded policy.Mode, user string) (c policy.Change, record bool) {
	if wanted == "" || wanted == cmp.Or(recorded, policy.ModeDefault) || recorded == "" && wanted == policy.ModeBypass {
		return c, false
	}
	return policy.Change{Mode: wanted, By: cmp.Or(user, byStart)}, true
}
