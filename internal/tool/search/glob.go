package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/holdfast-dev/holdfast/internal/patterns"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

const (
	maxListed  = 500     // paths in an answer
	maxMatches = 200_000 // number of paths that are kept to find the newest
)

type globInput struct {
	Pattern string `json:"pattern" jsonschema:"A pattern such as **/*.go or src/*.{ts,tsx}; ** matches any number of folders"`
	Path    string `json:"path,omitempty" jsonschema:"The folder to search; default the current directory"`
}

func (s *Search) newGlob() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name: "Glob",
		Description: "Finds files by name, newest first. Skips hidden folders, node_modules and files that .gitignore ignores; " +
			"returns at most 500 paths.",
		ReadOnly: true,
	}, s.glob, func(_ *tool.Call, in globInput) ([]policy.Request, error) {
		p, _, err := s.globStart(in)
		return []policy.Request{{Operation: policy.OpRead, Resource: p.Abs, NamedPath: p.Named}}, err
	})
}

// globStart splits a pattern into its start folder and the rest.
func (s *Search) globStart(in globInput) (workdir.Path, string, error) {
	base, pattern := doublestar.SplitPattern(in.Pattern)
	if pattern == "" {
		return workdir.Path{}, "", fmt.Errorf("invalid pattern %q", in.Pattern)
	}
	if err := patterns.CheckGlob(pattern); err != nil {
		return workdir.Path{}, "", err
	}
	dir := cmp.Or(in.Path, ".")
	if strings.HasPrefix(base, "~/") || filepath.IsAbs(base) {
		dir = base
	} else if base != "." {
		dir += "/" + base
	}
	p, err := s.folders.Locate(dir)
	return p, pattern, err
}

type match struct {
	path string
	time time.Time
}

func (s *Search) glob(ctx context.Context, _ *tool.Call, in globInput) (tool.Result, error) {
	if in.Path != "" {
		if _, err := s.folder(in.Path); err != nil {
			return tool.Failure(err.Error()), nil
		}
	}
	p, pattern, err := s.globStart(in)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	var found []match
	cwd := s.folders.Cwd()
	w := &walker{ctx: ctx, hide: s.hide, base: p, visit: func(f file) error {
		if doublestar.MatchUnvalidated(pattern, f.rel) {
			found = append(found, match{path: shorten(cwd, f.abs), time: f.info.ModTime()})
		}
		if len(found) >= maxMatches {
			return errStop
		}
		return nil
	}}
	err = w.walk()
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return tool.Failure(fmt.Sprintf("%s: %v", p.Abs, err)), nil
	case len(found) == 0:
		return resultWithNotes(fmt.Sprintf("No files matched the pattern %q in %s", in.Pattern, shorten(cwd, p.Abs)), unreadableNote(w.skipped)), nil
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(b.time.Compare(a.time), strings.Compare(a.path, b.path))
	})
	var b strings.Builder
	for _, m := range found[:min(len(found), maxListed)] {
		b.WriteString(m.path + "\n")
	}
	var note string
	if len(found) > maxListed {
		note = fmt.Sprintf("[the newest %d of %d files; use a narrower pattern]", maxListed, len(found))
	}
	return resultWithNotes(b.String(), note, unreadableNote(w.skipped)), nil
}

// folder returns the folder that the model named.
func (s *Search) folder(dir string) (workdir.Path, error) {
	p, err := s.folders.Locate(dir)
	if err != nil {
		return p, err
	}
	info, err := p.Stat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p, errors.New(missingText(p))
	case err != nil:
		return p, err
	case !info.IsDir():
		return p, errors.New(missingText(p) + " is a file")
	}
	return p, nil
}

// missingText returns the message for a folder that does not exist.
func missingText(p workdir.Path) string { return "Directory not found: " + p.Abs }

// shorten returns a path that the model can use: relative if it is below the current directory, otherwise
// absolute.
func shorten(cwd, abs string) string {
	if abs == cwd {
		return "."
	}
	if rel, ok := strings.CutPrefix(abs, strings.TrimSuffix(cwd, "/")+"/"); ok {
		return rel
	}
	return abs
}

func unreadableNote(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("[%d folders could not be read]", n)
}
