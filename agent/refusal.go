package agent

import (
	"cmp"

	"github.com/holdfast-dev/holdfast/internal/tool/toolext"
	"github.com/holdfast-dev/holdfast/policy"
)

// refusalOf words a deny of a call for the model, as its tool wants it or as usual.
func (c *call) refusalOf(d policy.Decision, usual string) string {
	if r, ok := c.tool.(toolext.DenialWriter); ok {
		return cmp.Or(r.Denial(c.call, d), usual)
	}
	return usual
}
