package sessionpolicy

import (
	"cmp"

	"github.com/holdfast-dev/holdfast/policy"
)

// byStart is the actor of the mode requested at the start of a run, if no user is given.
const byStart = "start"

// Start returns the change to record when a run starts. The argument wanted is the requested mode, or "" if none
// was requested; recorded is the mode in the run's log. There is nothing to record if the log already has the
// mode, if a new run starts in default mode, or if it starts in bypassPermissions, which ends with its process.
func Start(wanted, recorded policy.Mode, user string) (c policy.Change, record bool) {
	if wanted == "" || wanted == cmp.Or(recorded, policy.ModeDefault) || recorded == "" && wanted == policy.ModeBypass {
		return c, false
	}
	return policy.Change{Mode: wanted, By: cmp.Or(user, byStart)}, true
}
