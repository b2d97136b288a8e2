package agent

import (
	"cmp"

	"github.com/holdfast-dev/holdfast/internal/tool/toolext"
	"github.com/holdfast-dev/holdfast/policy"
)

// refusalOf returns the text of a denial for the model: the tool's own text, or the usual text if
// the tool has none.
func (c *call) refusalOf(d policy.Decision, usual string) string {
	if r, ok := c.tool.(toolext.DenialWriter); ok {
		return cmp.Or(r.Denial(c.call, d), usual)
	}
	return usual
}
