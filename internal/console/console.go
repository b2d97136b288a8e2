// Package console is the daemon's web page: questions and their answers, sessions as
// they go on, policy, audit, and the state of the machine.
//
//	browser ─► /            Files: static ES modules, no build step, no inline script
//	        ─► /v1/…        docs/reference/http.md, and nothing else
//
// It is files only. Package daemon serves them; what a browser may do is decided
// there, as for every other client.
package console

import (
	"embed"
	"io/fs"
)

//go:embed web
var web embed.FS

// Files are the files of the page: index.html, which serves every path of the page
// that is no file, and what it loads.
func Files() fs.FS {
	files, err := fs.Sub(web, "web")
	if err != nil {
		panic(err) // "web" is a valid path
	}
	return files
}
