// Package first runs a reaper before the program's other libraries are initialized, as package early does for the
// version. Only cmd/holdfast imports it.
package first

import (
	"os"

	"github.com/holdfast-dev/holdfast/internal/supervisor/reaper"
)

func init() { //nolint:gochecknoinits // it must run before other packages are initialized
	if reaper.IsInvocation(os.Args[1:]) {
		reaper.Main()
	}
}
