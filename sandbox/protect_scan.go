package sandbox

import (
	"io/fs"
	"os"
	"path"
	"strings"
)

// Limits of the scan.
const (
	scanDepth   = 4      // maximum depth: a/b/c/.protectGit is found
	scanEntries = 20_000 // maximum number of entries; the rest is skipped, the deepest folders first
)

// scanResult is the result of a scan.
type scanResult struct {
	names []foundName
	bare  []string // folders that are bare repositories
	cut   bool     // the scan is incomplete
}

type foundName struct {
	path string
	mode fs.FileMode
}

// notScanned are folders with packages, caches and build results: their content is replaced often and
// is not edited by hand.
var notScanned = map[string]bool{
	"node_modules": true, "bower_components": true, "vendor": true, "site-packages": true, ".venv": true, "venv": true,
	"__pycache__": true, ".tox": true, ".nox": true, ".cache": true, ".mypy_cache": true, ".pytest_cache": true, ".ruff_cache": true,
	".gradle": true, ".next": true, ".nuxt": true, ".svelte-kit": true, ".turbo": true, ".npm": true, ".pnpm-store": true, ".terraform": true,
}

// systemFolders are system folders that contain no projects.
var systemFolders = map[string]bool{"/proc": true, "/sys": true, "/dev": true, "/run": true, "/tmp": true, "/var/tmp": true}

// scanner finds protected names and repositories in trees. It remembers the content of folders and
// reads only changed ones again.
type scanner struct{ seen map[string]*folder }

// folder is the content of one folder.
type folder struct {
	state   folderState
	entries int
	names   []foundName
	next    []string // the folders to scan
	bare    bool     // it is a bare repository
}

// scan searches a tree, level by level. It does not follow symbolic links and does not search what it
// found.
func (s *scanner) scan(root string) *scanResult {
	out := &scanResult{}
	seen := make(map[string]*folder, len(s.seen))
	level := []string{root}
	left := scanEntries
	for depth := 0; depth < scanDepth && len(level) > 0 && !out.cut; depth++ {
		var next []string
		for _, dir := range level {
			f := s.folder(dir, left)
			seen[dir] = f
			out.names = append(out.names, f.names...)
			if f.bare {
				out.bare = append(out.bare, dir)
			}
			next = append(next, f.next...)
			if left -= f.entries; left <= 0 {
				out.cut = true
				break
			}
		}
		level = next
	}
	for dir, f := range s.seen {
		if !within(dir, root) {
			seen[dir] = f
		}
	}
	s.seen = seen
	return out
}

// folder reads one folder if it has changed.
func (s *scanner) folder(dir string, limit int) *folder {
	now := stateOf(dir)
	if f := s.seen[dir]; f != nil && now.same(&f.state) && f.entries <= limit {
		return f
	}
	f := &folder{state: now}
	entries := entriesOf(dir, limit)
	f.entries = len(entries)
	f.classify(dir, entries, protectedNames())
	return f
}

// entriesOf returns some of the entries of a folder, in no order. A folder that cannot be listed is
// treated as empty: commands have no more rights than this process.
func entriesOf(dir string, limit int) []fs.DirEntry {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(limit)
	return entries
}

// classify classifies the entries of a folder.
func (f *folder) classify(dir string, entries []fs.DirEntry, names *nameSet) {
	parent := path.Base(dir)
	repository := 0
	for _, e := range entries {
		name := e.Name()
		switch {
		case names.has(parent, name):
			f.names = append(f.names, foundName{path.Join(dir, name), e.Type()})
			continue
		case name == "HEAD" || name == "objects" || name == "refs":
			repository++
		}
		if e.IsDir() && !notScanned[strings.ToLower(name)] {
			if full := path.Join(dir, name); !systemFolders[full] {
				f.next = append(f.next, full)
			}
		}
	}
	if repository == 3 {
		f.bare, f.next = true, nil
	}
}
