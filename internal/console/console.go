// Package console contains the daemon's web page: pending approvals, running sessions, policy,
// audit trail, and the state of the machine.
//
//	browser ─► /            Files: static ES modules, no build step, no inline script
//	        ─► /v1/…        the HTTP interface of docs/reference/http.md, and nothing else
//
// It contains only files. Package daemon serves them, and decides what a browser may do as it
// does for every other client.
package console

import (
	"embed"
	"io/fs"
)

//go:embed web
var web embed.FS

// Files returns the files of the page: index.html, which is served for every path that is not a
// file, and the files that it loads.
func Files() fs.FS {
	files, err := fs.Sub(web, "web")
	if err != nil {
		panic(err) // "web" is a valid path
	}
	return files
}
