// Package search provides the tools that search for files and in files: Glob and Grep.
//
//	                 ┌─ hidden, node_modules, .gitignore, links: left out
//	folder ──walk────┤
//	                 └─ file ──Glob: name fits──► by time, newest first
//	                         ──Grep: text fits──► by path: content, paths or counts
//
//	s, err := search.New(folders, nil)
//	registry, err := tool.NewRegistry(s.Tools()...)
//
// All files are opened below the session's folders. Links to other folders are never followed. Grep
// uses Go's regular expressions (RE2), which have no look-around and no back references. If ripgrep
// is in PATH, large searches are faster. Ripgrep only selects files that may match, so the result
// is the same.
package search

import (
	"os/exec"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/tool"
)

// Options configure the tools. The zero value of a field is its default.
type Options struct {
	// Hide returns true for files that the session may not read; they are skipped. It gets
	// canonical paths, and must be fast and safe for concurrent use. If it is nil, nothing is
	// hidden.
	Hide func(abs string) bool

	// Ripgrep is the program for narrowing large searches; "none" disables it. By default, rg is looked up
	// in PATH.
	Ripgrep string
}

// Search has the search tools of one session over its folders. It is safe for concurrent use.
type Search struct {
	folders    *workdir.Folders
	hide       func(abs string) bool
	ripgrep    string // or "none"
	ripgrepMin int64  // size in bytes from which it is worthwhile to start ripgrep for a batch
	tools      []tool.Tool
}

// New returns the tools over folders. The caller closes the folders.
func New(folders *workdir.Folders, opts *Options) (*Search, error) {
	if opts == nil {
		opts = &Options{}
	}
	s := &Search{folders: folders, hide: opts.Hide, ripgrep: opts.Ripgrep, ripgrepMin: ripgrepMinBytes}
	if s.hide == nil {
		s.hide = func(string) bool { return false }
	}
	if s.ripgrep == "" {
		s.ripgrep = "none"
		if path, err := exec.LookPath("rg"); err == nil {
			s.ripgrep = path
		}
	}
	glob, err := s.newGlob()
	if err != nil {
		return nil, err
	}
	grep, err := s.newGrep()
	if err != nil {
		return nil, err
	}
	s.tools = []tool.Tool{glob, grep}
	return s, nil
}

// Tools returns Glob and Grep.
func (s *Search) Tools() []tool.Tool { return append([]tool.Tool(nil), s.tools...) }
