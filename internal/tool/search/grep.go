package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/holdfast-dev/holdfast/internal/patterns"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
)

const (
	maxLines = 250       // of an answer, if the model sets no limit
	maxBytes = 128 << 10 // of an answer
	maxFile  = 32 << 20  // maximum size of a searched file in bytes
)

// The output modes of Grep.
const (
	modeContent = "content"
	modeFiles   = "files_with_matches"
	modeCount   = "count"
)

type grepInput struct {
	Pattern    string `json:"pattern" jsonschema:"A regular expression in RE2 syntax (no look-around, no back references)"`
	Path       string `json:"path,omitempty" jsonschema:"The folder or file to search; default the current directory"`
	Glob       string `json:"glob,omitempty" jsonschema:"Only files with matching names, such as *.go or src/**/*.{ts,tsx}; a leading ! inverts the pattern"`
	Type       string `json:"type,omitempty" jsonschema:"Only files of this language: go, py, js, ts, rust, java, c, cpp, md, json, yaml …"`
	Mode       string `json:"output_mode,omitempty" jsonschema:"content (lines), files_with_matches (paths, the default) or count (lines per file)"`
	IgnoreCase bool   `json:"-i,omitempty" jsonschema:"Ignore case"`
	Numbers    *bool  `json:"-n,omitempty" jsonschema:"Show line numbers in content mode; default true"`
	After      int    `json:"-A,omitempty" jsonschema:"Lines of context after each match, in content mode"`
	Before     int    `json:"-B,omitempty" jsonschema:"Lines of context before each match, in content mode"`
	Context    int    `json:"-C,omitempty" jsonschema:"Lines of context before and after each match, in content mode"`
	HeadLimit  *int   `json:"head_limit,omitempty" jsonschema:"The maximum number of lines or entries; default 250; 0 returns as many as fit"`
	Multiline  bool   `json:"multiline,omitempty" jsonschema:"Let matches span lines; . also matches newlines"`
}

func (s *Search) newGrep() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name: "Grep",
		Description: "Searches file contents with a regular expression. Skips hidden and binary files, hidden folders, " +
			"node_modules, links and files that .gitignore ignores.",
		ReadOnly: true,
	}, s.grep, func(_ *tool.Call, in grepInput) ([]policy.Request, error) {
		if err := in.check(); err != nil {
			return nil, err
		}
		p, err := s.folders.Locate(cmp.Or(in.Path, "."))
		return []policy.Request{{Operation: policy.OpRead, Resource: p.Abs, NamedPath: p.Named}}, err
	})
}

func (in grepInput) check() error {
	switch in.Mode {
	case "", modeContent, modeFiles, modeCount:
	default:
		return fmt.Errorf("output_mode %q: want %s, %s or %s", in.Mode, modeContent, modeFiles, modeCount)
	}
	switch {
	case in.Pattern == "":
		return errors.New("pattern must not be empty")
	case in.After < 0 || in.Before < 0 || in.Context < 0 || in.HeadLimit != nil && *in.HeadLimit < 0:
		return errors.New("-A, -B, -C and head_limit must not be negative")
	case in.Type != "" && types[in.Type] == "":
		return fmt.Errorf("unknown type %q, want one of %s; or use glob", in.Type, typeNames())
	}
	if err := patterns.CheckGlob(strings.TrimPrefix(in.Glob, "!")); err != nil {
		return fmt.Errorf("invalid glob %.200q: %w", in.Glob, err)
	}
	_, err := newMatcher(in)
	return err
}

func (s *Search) grep(ctx context.Context, _ *tool.Call, in grepInput) (tool.Result, error) {
	if err := in.check(); err != nil {
		return tool.Failure(err.Error()), nil
	}
	m, err := newMatcher(in)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	p, err := s.folders.Locate(cmp.Or(in.Path, "."))
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	info, err := p.Stat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tool.Failure(missingText(p)), nil
	case err != nil:
		return tool.Failure(err.Error()), nil
	}
	a := newGrepOutput(in, s.folders.Cwd())
	if info.IsDir() {
		err = s.grepFolder(ctx, p, in, m, a)
	} else {
		err = grepFile(p, m, a)
	}
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, ctx.Err()
	case err != nil:
		return tool.Failure(err.Error()), nil
	}
	return a.result(in.Pattern), nil
}

// grepFile searches one file that the model named. The file may be hidden.
func grepFile(p workdir.Path, m *matcher, a *grepOutput) error {
	in, info, err := p.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	if info.Size() > maxFile {
		return fmt.Errorf("%s: larger than %d bytes; search it with Bash", p.Abs, maxFile)
	}
	content, err := load(in)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Abs, err)
	}
	if isBinary(content) {
		return fmt.Errorf("%s: binary file", p.Abs)
	}
	a.file(p.Abs, content, m)
	return nil
}

// grepFolder searches the files below a folder, in the order of their paths.
func (s *Search) grepFolder(ctx context.Context, p workdir.Path, in grepInput, m *matcher, a *grepOutput) error {
	b := &batch{ctx: ctx, matcher: m, answer: a, ripgrep: s.ripgrep, ripgrepMin: s.ripgrepMin}
	defer b.close()
	w := &walker{ctx: ctx, hide: s.hide, noLinks: true, base: p, visit: func(f file) error {
		if strings.HasPrefix(f.name, ".") || hasBinaryExt(f.name) || !in.wants(f.rel) {
			return nil
		}
		if f.info.Size() > maxFile {
			a.large++
			return nil
		}
		return b.add(f)
	}}
	err := w.walk()
	if err == nil {
		err = b.flush()
	}
	a.skipped = w.skipped
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// wants reports whether a file's path matches the glob and the type.
func (in grepInput) wants(rel string) bool {
	if in.Type != "" && !doublestar.MatchUnvalidated(types[in.Type], path.Base(rel)) {
		return false
	}
	if in.Glob == "" {
		return true
	}
	glob, negated := strings.CutPrefix(in.Glob, "!")
	name := rel
	if !strings.Contains(glob, "/") {
		name = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(strings.TrimPrefix(glob, "/"), name) != negated
}

// hasBinaryExt reports whether a file name has an extension of binary files.
func hasBinaryExt(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".bmp", ".tiff", ".avif", ".heic",
		".pdf", ".zip", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar", ".tar", ".jar", ".war",
		".exe", ".dll", ".so", ".dylib", ".a", ".o", ".obj", ".class", ".pyc", ".wasm",
		".mp3", ".mp4", ".mov", ".avi", ".mkv", ".webm", ".wav", ".flac", ".ogg",
		".woff", ".woff2", ".ttf", ".otf", ".eot", ".sqlite", ".db":
		return true
	}
	return false
}
