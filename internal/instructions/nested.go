package instructions

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/patterns"
	"github.com/holdfast-dev/holdfast/internal/yamltree"
)

// Nested reads the files that also apply after the model has read a file: the files of the folders
// between the current directory and that file, and the rules that match its path. Each is returned
// once, until [Set.Forget].
func (s *Set) Nested(path string) []File {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folders == nil || !filepath.IsAbs(path) || !within(s.o.Root, path) {
		return nil
	}
	before := len(s.files)
	if dir := filepath.Dir(path); within(s.o.Cwd, dir) {
		for _, dir := range chain(s.o.Cwd, dir)[1:] {
			s.readFolder(dir, readOptions{reason: byNesting, trigger: path})
		}
	}
	s.readMatching(path)
	return slices.Clone(s.files[before:])
}

// Pending reports whether [Set.Nested] may have something to read for a path. It accesses no files.
func (s *Set) Pending(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.folders == nil || !within(s.o.Root, path) {
		return false
	}
	return len(s.rules) > 0 || within(s.o.Cwd, path) && filepath.Dir(path) != s.o.Cwd
}

// Forget resets the files that [Set.Nested] returned, so that they are read again when they apply:
// the model no longer has them.
func (s *Set) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	remaining := s.files[:0:0]
	for _, f := range s.files {
		if f.Trigger == "" {
			remaining = append(remaining, f)
			continue
		}
		s.size -= len(f.Text)
		delete(s.tried, f.Path)
		if f.Reason == byGlob {
			s.rules = append(s.rules, f)
		}
	}
	if len(remaining) == len(s.files) {
		return
	}
	s.files, s.seen = remaining, nil
	for _, f := range remaining {
		if _, info, err := s.open(readOptions{free: f.Memory == Managed || f.Memory == User}, f.Path); err == nil {
			s.seen = append(s.seen, info)
		}
	}
}

const rulesDir = ".claude/rules"

// readRules reads the rules of a folder. Rules without paths are read now, the others when a matching
// file is read.
func (s *Set) readRules(root string) {
	dir := filepath.Join(root, rulesDir)
	p, err := s.folders.Locate(dir)
	if err != nil {
		if !isMissing(err) {
			s.notice("%s is left out: %v", dir, err)
		}
		return
	}
	found := 0
	err = fs.WalkDir(p.Root.FS(), filepath.ToSlash(p.Rel), func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			if isMissing(err) {
				return nil
			}
			return err
		case d.IsDir() && strings.Count(strings.TrimPrefix(name, p.Rel), "/") > maxDepth:
			return fs.SkipDir
		case d.IsDir() || !strings.EqualFold(filepath.Ext(name), ".md"):
			return nil
		}
		if found++; found > maxFiles {
			s.notice("%s: only the first %d rules are read", dir, maxFiles)
			return fs.SkipAll
		}
		rel, err := filepath.Rel(p.Rel, filepath.FromSlash(name))
		if err == nil {
			s.readRule(filepath.Join(dir, rel))
		}
		return err
	})
	if err != nil {
		s.notice("%s is left out: %v", dir, err)
	}
}

// readRule reads a rule, or stores it until a matching file is read.
func (s *Set) readRule(path string) {
	if s.excluded(path) {
		return
	}
	b, _, err := s.open(readOptions{}, path)
	if err != nil {
		s.notice("%s is left out: %v", path, err)
		return
	}
	t, err := yamltree.Split(b)
	if err != nil {
		s.problem(path, b, err)
		return
	}
	globs, err := paths(&t.Front)
	switch {
	case err != nil:
		s.problem(path, b, err)
	case globs == nil:
		s.read(Project, readOptions{reason: atStart, rule: true}, path)
	default:
		s.rules = append(s.rules, File{Path: path, Globs: globs})
	}
}

func (s *Set) problem(path string, b []byte, err error) {
	if e, ok := errors.AsType[*yamltree.Error](err); ok {
		line, col := yamltree.Position(b, e.Offset)
		s.notice("%s:%d:%d: %s", path, line, col, e.Detail)
		return
	}
	s.notice("%s is left out: %v", path, err)
}

// paths returns the globs of a rule's front matter; nil if it has none.
func paths(front *jsontree.Node) ([]string, error) {
	for _, m := range front.Members {
		if m.Key != "paths" && m.Key != "globs" {
			continue
		}
		var list []string
		items := m.Value.Items
		if m.Value.Kind == jsontree.Text {
			list = atCommas(m.Value.Text)
		} else if m.Value.Kind != jsontree.List {
			return nil, &yamltree.Error{Offset: m.Value.At, Detail: m.Key + " must be a list of globs, not " + m.Value.Show()}
		}
		for i := range items {
			if items[i].Kind != jsontree.Text {
				return nil, &yamltree.Error{Offset: items[i].At, Detail: "a glob must be a string, not " + items[i].Show(), Hint: "put it in quotes"}
			}
			list = append(list, items[i].Text)
		}
		for _, g := range list {
			if g == "" {
				return nil, &yamltree.Error{Offset: m.Value.At, Detail: "a glob is empty"}
			}
			if err := patterns.CheckGlob(g); err != nil {
				return nil, &yamltree.Error{Offset: m.Value.At, Detail: err.Error()}
			}
		}
		return append([]string{}, list...), nil
	}
	return nil, nil
}

// atCommas splits globs at the commas that are not in braces.
func atCommas(text string) (list []string) {
	depth, start := 0, 0
	for i, c := range []byte(text) {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ',' && depth <= 0:
			list = append(list, strings.TrimSpace(text[start:i]))
			start = i + 1
		}
	}
	return append(list, strings.TrimSpace(text[start:]))
}

// readMatching reads the rules that match a path.
func (s *Set) readMatching(path string) {
	rel, err := filepath.Rel(s.o.Root, path)
	if err != nil {
		return
	}
	rel = filepath.ToSlash(rel)
	s.rules = slices.DeleteFunc(s.rules, func(r File) bool {
		about := slices.ContainsFunc(r.Globs, func(g string) bool {
			ok, err := doublestar.Match(strings.TrimPrefix(g, "/"), rel)
			return ok && err == nil
		})
		if about {
			s.read(Project, readOptions{reason: byGlob, trigger: path, globs: r.Globs, rule: true}, r.Path)
		}
		return about
	})
}
