package instructions

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/patterns"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
)

// Set is what was read for a session. It is safe for concurrent use.
type Set struct {
	o       Options
	folders *workdir.Folders // the repository's and the others; nil with None

	mu      sync.Mutex
	files   []File
	notices []string
	seen    []os.FileInfo // of all that was read
	tried   map[string]bool
	size    int
	rules   []File // with globs, and not read into the session yet
}

// Load reads what counts from the start. Files that are not there are nothing special; one
// that cannot be read is left out, and the notices say so.
//
// A file may include others: @path, at the start of a line or behind a space, and not in code. The
// path is relative to the including file, or begins with ~/ or /. Includes go maxDepth
// deep; the files of a project's folder include only what lies in the session's folders, by
// way of links as well, those of the person and the administrator what they like.
func Load(o *Options) (*Set, error) {
	s := &Set{o: *o, tried: map[string]bool{}}
	s.o.Folders, s.o.Excludes = slices.Clone(o.Folders), slices.Clone(o.Excludes)
	if !filepath.IsAbs(o.Cwd) {
		return nil, fmt.Errorf("instructions: the folder %q is not absolute", o.Cwd)
	}
	if s.o.Root == "" {
		s.o.Root = o.Cwd
	}
	if !within(s.o.Root, o.Cwd) {
		return nil, fmt.Errorf("instructions: %s is not in %s", o.Cwd, s.o.Root)
	}
	switch s.o.Mode {
	case "":
		s.o.Mode = All
	case All, Nearest, None:
	default:
		return nil, fmt.Errorf("instructions: there is no mode %q", s.o.Mode)
	}
	for _, g := range s.o.Excludes {
		if err := patterns.CheckGlob(g); err != nil {
			return nil, fmt.Errorf("instructions: %w", err)
		}
	}
	s.first(Managed, place{free: true}, under(s.o.Managed, "AGENTS.md", "CLAUDE.md"))
	if s.o.Mode == None {
		return s, nil
	}
	var err error
	if s.folders, err = workdir.Open(s.o.Root, s.o.Folders...); err != nil {
		return nil, fmt.Errorf("instructions: %w", err)
	}
	var own []string
	own = append(own, under(s.o.Home, "AGENTS.md")...)
	own = append(own, under(s.o.User, ".config/AGENTS.md", ".claude/CLAUDE.md")...)
	s.first(User, place{free: true}, own)
	s.project()
	return s, nil
}

// Close closes the folders. What was read stays.
func (s *Set) Close() error {
	if s.folders == nil {
		return nil
	}
	return s.folders.Close()
}

func under(dir string, names ...string) []string {
	if dir == "" {
		return nil
	}
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = filepath.Join(dir, n)
	}
	return list
}

// names are a folder's files of which the first counts.
var names = []string{"AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"}

const localName = "CLAUDE.local.md"

// project reads the files of the folders from the repository's down.
func (s *Set) project() {
	dirs := chain(s.o.Root, s.o.Cwd)
	if s.o.Mode == Nearest {
		for _, dir := range slices.Backward(dirs) {
			if s.folder(dir, place{reason: atStart}) {
				break
			}
		}
		s.rulesOf(s.o.Root)
		return
	}
	for _, dir := range dirs {
		s.folder(dir, place{reason: atStart})
		if dir == s.o.Root {
			s.rulesOf(dir)
		}
	}
}

// chain are the folders from root down to dir.
func chain(root, dir string) []string {
	list := []string{root}
	rest, err := filepath.Rel(root, dir)
	if err != nil || rest == "." {
		return list
	}
	for part := range strings.SplitSeq(rest, string(filepath.Separator)) {
		list = append(list, filepath.Join(list[len(list)-1], part))
	}
	return list
}

// folder reads the files of one folder, and says whether there are any.
func (s *Set) folder(dir string, at place) bool {
	a := s.first(Project, at, under(dir, names...))
	b := s.first(Local, at, under(dir, localName))
	return a || b
}

// first reads the first of some files that is there.
func (s *Set) first(m Level, at place, paths []string) bool {
	for _, path := range paths {
		if s.read(m, at, path) {
			return true
		}
	}
	return false
}

// within says whether a clean absolute path is dir or lies beneath it.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// Files are those that were read, in the order in which they are told.
func (s *Set) Files() []File {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.files)
}

// Notices say what was left out, and why.
func (s *Set) Notices() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notices)
}

// maxNotices bounds what a folder can have said of it.
const maxNotices = 200

func (s *Set) notice(format string, args ...any) {
	switch n := len(s.notices); {
	case n < maxNotices:
		s.notices = append(s.notices, fmt.Sprintf(format, args...))
	case n == maxNotices:
		s.notices = append(s.notices, "more about instruction files is not told")
	}
}
