package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
)

// Set is the result of [Discover].
type Set struct {
	Skills   []*Skill  // by name, without skills that are hidden by another skill with the same name
	Shadowed []*Skill  // skills that are not used because another skill has the same name, each together with that other skill
	Problems []Problem // of unusable skills

	read []*Skill // all, in the order in which they were read
	seen map[string][]byte
}

// skillFile is the file of a skill.
const skillFile = "SKILL.md"

// Discover reads skills. If several skills have the same name, the one from the last location is
// used. A location that does not exist has no skills. A skill that cannot be used only causes a
// problem, not an error.
func Discover(places []Location) *Set {
	s := &Set{seen: map[string][]byte{}}
	for _, p := range places {
		s.readLocation(p)
	}
	byName := map[string]*Skill{}
	for _, sk := range s.read {
		if old := byName[sk.Name]; old != nil {
			old.Shadowed = sk.File
			s.Shadowed = append(s.Shadowed, old)
		}
		byName[sk.Name] = sk
	}
	for _, sk := range byName {
		s.Skills = append(s.Skills, sk)
	}
	slices.SortFunc(s.Skills, func(a, b *Skill) int { return strings.Compare(a.Name, b.Name) })
	return s
}

func (s *Set) readLocation(p Location) {
	dir, err := openLocation(p)
	if err != nil {
		if info, serr := os.Lstat(p.Dir); !absent(err) && (serr != nil || info.Mode() != os.ModeSocket) { // a placeholder of the sandbox
			s.addProblem(p, p.Dir, err)
		}
		return
	}
	defer dir.Close()
	entries, err := dir.list()
	if err != nil {
		s.addProblem(p, p.Dir, err)
		return
	}
	if p.Only != "" {
		entries = []string{p.Only}
	}
	if p.Commands {
		entries = dir.commands(entries)
	}
	n := 0
	for _, name := range entries {
		path := filepath.Join(name, skillFile)
		if p.Commands {
			path = name
		}
		b, err := dir.read(path)
		if absent(err) {
			continue
		}
		if n++; n > maxSkills {
			s.addProblem(p, p.Dir, fmt.Errorf("more than %d skills in this folder; the rest is ignored", maxSkills))
			return
		}
		whole := filepath.Join(p.Dir, path)
		s.seen[whole] = b
		if err != nil {
			s.addProblem(p, whole, err)
			continue
		}
		sk, err := parse(p, whole, b)
		if err != nil {
			s.addProblem(p, whole, err)
			continue
		}
		s.read = append(s.read, sk)
	}
}

func (s *Set) addProblem(p Location, path string, err error) {
	out := Problem{File: path, Source: p.Source}
	if p.Plugin != nil {
		out.Plugin = p.Plugin.Name
	}
	if e, ok := errors.AsType[*problem](err); ok {
		out.Line, out.Column, out.Detail, out.Hint = e.line, e.column, e.what, e.hint
	} else if e, ok := errors.AsType[*fs.PathError](err); ok {
		out.Detail = e.Err.Error()
	} else {
		out.Detail = err.Error()
	}
	s.Problems = append(s.Problems, out)
}

// Digest returns the digest of the names and contents of a source's skills and commands. This
// includes skills and commands that cannot be used. The digest is "" if there are none.
func (s *Set) Digest(places []Location, of Source) string {
	h := sha256.New()
	n := 0
	for _, p := range places {
		if p.Source != of {
			continue
		}
		var files []string
		for path := range s.seen {
			if strings.HasPrefix(path, p.Dir+string(filepath.Separator)) {
				files = append(files, path)
			}
		}
		slices.Sort(files)
		for _, path := range files {
			n++
			fmt.Fprintf(h, "%d:%s %d:", len(path), path, len(s.seen[path]))
			h.Write(s.seen[path])
		}
	}
	if n == 0 {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Find returns the skill with the given name.
func (s *Set) Find(name string) (*Skill, bool) {
	i := slices.IndexFunc(s.Skills, func(sk *Skill) bool { return sk.Name == name })
	if i < 0 {
		return nil, false
	}
	return s.Skills[i], true
}

// UserSkill returns the skill that the user selects with /name. A name takes precedence over an
// alias.
func (s *Set) UserSkill(name string) (*Skill, bool) {
	if sk, ok := s.Find(name); ok {
		return sk, true
	}
	i := slices.IndexFunc(s.Skills, func(sk *Skill) bool { return slices.Contains(sk.Aliases, name) })
	if i < 0 {
		return nil, false
	}
	return s.Skills[i], true
}

// Filter removes the skills for which the function leave returns true.
func (s *Set) Filter(leave func(*Skill) bool) *Set {
	out := *s
	out.Skills = slices.DeleteFunc(slices.Clone(s.Skills), leave)
	return &out
}

// openedLocation is a location that is being read.
type openedLocation struct {
	root *os.Root // nil if links may lead to any place
	dir  string   // inside root, or absolute
}

func openLocation(p Location) (*openedLocation, error) {
	if p.Root == "" {
		info, err := os.Stat(p.Dir)
		if err == nil && !info.IsDir() {
			err = errors.New("not a folder")
		}
		if err == nil && info.Mode().Perm()&0o002 != 0 {
			err = errors.New("the folder is world-writable")
		}
		return &openedLocation{dir: p.Dir}, err
	}
	rel, err := filepath.Rel(p.Root, p.Dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(p.Root)
	if err != nil {
		return nil, err
	}
	f := &openedLocation{root: root, dir: rel}
	info, err := root.Stat(rel)
	if err == nil && !info.IsDir() {
		err = errors.New("not a folder")
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return f, nil
}

func (f *openedLocation) Close() {
	if f.root != nil {
		_ = f.root.Close()
	}
}

func (f *openedLocation) list() ([]string, error) {
	entries, err := f.entries("")
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// entries returns the entries of a folder below the location.
func (f *openedLocation) entries(below string) ([]fs.DirEntry, error) {
	if f.root == nil {
		return os.ReadDir(filepath.Join(f.dir, below))
	}
	return fs.ReadDir(f.root.FS(), filepath.ToSlash(filepath.Join(f.dir, below)))
}

// maxFolders is the number of nested folders that are searched for commands.
const maxFolders = 4

// commands returns the command files among entries, and in their folders. It does not follow links to
// folders.
func (f *openedLocation) commands(names []string) (files []string) {
	for _, name := range names {
		if strings.HasPrefix(filepath.Base(name), ".") {
			continue
		}
		if filepath.Ext(name) == ".md" {
			files = append(files, name)
			continue
		}
		if strings.Count(name, string(filepath.Separator)) >= maxFolders {
			continue
		}
		if info, err := f.lstat(name); err != nil || !info.IsDir() {
			continue
		}
		entries, err := f.entries(name)
		if err != nil {
			continue
		}
		var below []string
		for _, e := range entries {
			below = append(below, filepath.Join(name, e.Name()))
		}
		files = append(files, f.commands(below)...)
	}
	return files
}

func (f *openedLocation) lstat(name string) (fs.FileInfo, error) {
	if f.root == nil {
		return os.Lstat(filepath.Join(f.dir, name))
	}
	return f.root.Lstat(filepath.Join(f.dir, name))
}

// commandName returns the name of the command in a file. It consists of the file's folders below
// the location and the file's name.
func (p Location) commandName(path string) string {
	rel, err := filepath.Rel(p.Dir, path)
	if err != nil {
		rel = filepath.Base(path)
	}
	return strings.ReplaceAll(strings.TrimSuffix(filepath.ToSlash(rel), ".md"), "/", ":")
}

// read reads a regular file, up to slightly more than the maximum size of a skill.
func (f *openedLocation) read(path string) ([]byte, error) {
	path = filepath.Join(f.dir, path)
	stat, open := os.Stat, os.OpenFile
	if f.root != nil {
		stat, open = f.root.Stat, f.root.OpenFile
	}
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if err := workdir.Regular(info); err != nil {
		return nil, err
	}
	r, err := open(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block on a pipe
	if err != nil {
		return nil, err
	}
	defer r.Close()
	const most = maxBody + 64<<10
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && len(b) > most {
		err = fmt.Errorf("the file is larger than %d KiB; move optional details to other files in the skill's folder", most>>10)
	}
	return b, err
}

func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }
