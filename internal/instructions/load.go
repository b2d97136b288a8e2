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

// Set is the instruction files of a session. It is safe for concurrent use.
type Set struct {
	o       Options
	folders *workdir.Folders // the repository's folder and the additional folders; nil in mode None

	mu      sync.Mutex
	files   []File
	notices []string
	seen    []os.FileInfo // of every file read
	tried   map[string]bool
	size    int
	rules   []File // the rules with globs that have not matched a file yet
}

// Load reads the files that apply from the start. Missing files are ignored; a file that cannot be
// read is skipped and reported in the notices.
//
// A file may include others: @path, at the start of a line or after a space, and not in code. The
// path is relative to the including file, or begins with ~/ or /. Includes are nested at most
// maxDepth levels deep. Files of a project's folder can include files in the session's folders,
// also after following links, and in a trusted folder also Markdown files in the user's ~/.claude.
// The user's and managed files can include any file.
func Load(o *Options) (*Set, error) {
	s := &Set{o: *o, tried: map[string]bool{}}
	s.o.Folders, s.o.Excludes = slices.Clone(o.Folders), slices.Clone(o.Excludes)
	if !filepath.IsAbs(o.Cwd) {
		return nil, fmt.Errorf("instructions: folder %q is not absolute", o.Cwd)
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
		return nil, fmt.Errorf("instructions: unknown mode %q; want all, nearest or none", s.o.Mode)
	}
	for _, g := range s.o.Excludes {
		if err := patterns.CheckGlob(g); err != nil {
			return nil, fmt.Errorf("instructions: %w", err)
		}
	}
	s.readFirst(Managed, readOptions{free: true}, under(s.o.Managed, "AGENTS.md", "CLAUDE.md"))
	if s.o.Mode == None {
		return s, nil
	}
	var err error
	if s.folders, err = workdir.Open(s.o.Root, s.o.Folders...); err != nil {
		return nil, fmt.Errorf("instructions: %w", err)
	}
	var users []string
	users = append(users, under(s.o.Home, "AGENTS.md")...)
	users = append(users, under(s.o.User, ".config/AGENTS.md", ".claude/CLAUDE.md")...)
	s.readFirst(User, readOptions{free: true}, users)
	s.readProject()
	return s, nil
}

// Close closes the folders. Files that were read already remain available.
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

// names are the file names of a folder; only the first that exists is read.
var names = []string{"AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"}

const localName = "CLAUDE.local.md"

// readProject reads the files of the folders from the repository's folder down.
func (s *Set) readProject() {
	dirs := chain(s.o.Root, s.o.Cwd)
	if s.o.Mode == Nearest {
		for _, dir := range slices.Backward(dirs) {
			if s.readFolder(dir, readOptions{reason: atStart}) {
				break
			}
		}
		s.readRules(s.o.Root)
		return
	}
	for _, dir := range dirs {
		s.readFolder(dir, readOptions{reason: atStart})
		if dir == s.o.Root {
			s.readRules(dir)
		}
	}
}

// chain returns the folders from root down to dir.
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

// readFolder reads the files of one folder and reports whether there are any.
func (s *Set) readFolder(dir string, at readOptions) bool {
	a := s.readFirst(Project, at, under(dir, names...))
	b := s.readFirst(Local, at, under(dir, localName))
	return a || b
}

// readFirst reads the first file that exists.
func (s *Set) readFirst(m Level, at readOptions, paths []string) bool {
	for _, path := range paths {
		if s.read(m, at, path) {
			return true
		}
	}
	return false
}

// within reports whether a clean absolute path is dir or inside it.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// Files returns the files read, in the order in which the model gets them.
func (s *Set) Files() []File {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.files)
}

// Notices returns what was skipped and why.
func (s *Set) Notices() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notices)
}

// maxNotices is the maximum number of notices.
const maxNotices = 200

func (s *Set) notice(format string, args ...any) {
	switch n := len(s.notices); {
	case n < maxNotices:
		s.notices = append(s.notices, fmt.Sprintf(format, args...))
	case n == maxNotices:
		s.notices = append(s.notices, "further notices about instruction files are omitted")
	}
}
