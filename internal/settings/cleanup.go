package settings

import (
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
)

// LoadCleanup reads cleanupPeriodDays of the managed settings, or else of the user's: after how
// many days without a change a session moves to the trash, and after how many more days there it is
// deleted. 0, the default, means never. Only Home and Managed of o are needed. The error is
// *[Error] if a file is invalid.
func LoadCleanup(o *Options) (days int, err error) {
	all, err := ownAndManaged(o)
	if err != nil {
		return 0, err
	}
	for _, s := range all {
		if s.cleanup != nil {
			return *s.cleanup, nil
		}
	}
	return 0, nil
}

func (s *parsedSource) cleanupPeriod(path string, n jsontree.Node) {
	if s.layer != layernames.User && s.layer != layernames.Managed {
		s.fault(n.At, "move it into settings.json of HOLDFAST_HOME", "%s: only user and managed settings can set this", path)
		return
	}
	days, err := strconv.Atoi(n.Text)
	if n.Kind != jsontree.Number || err != nil || days < 0 || days > 36500 {
		s.fault(n.At, "write a number of days, or 0 for never", "%s: want a number of days", path)
		return
	}
	s.cleanup = &days
}
