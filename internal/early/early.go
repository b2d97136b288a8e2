// Package early answers `holdfast version` before the program's libraries have
// started.
//
//	runtime ─► os ─► early ─► net/http, provider SDKs, SQLite, … ─► main
//	                   └─ version? print, exit
//
// The initialisers of everything that is linked cost four milliseconds and
// twenty megabytes, which a version is not worth. Go initialises a package as
// soon as what it imports is, in the order of import paths; this one imports
// next to nothing, so its turn comes early. Only cmd/holdfast imports it:
//
//	import _ "github.com/holdfast-dev/holdfast/internal/early"
//
// It is the one package with an init function, and not a place for anything
// else: package cli knows the command too and does not need this one.
package early

import (
	"os"

	"github.com/holdfast-dev/holdfast/internal/version"
)

func init() {
	text, ok := version.Answer(os.Args[1:])
	if !ok {
		return
	}
	if _, err := os.Stdout.WriteString(text); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}
