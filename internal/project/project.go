// Package project determines which project a folder belongs to.
//
//	folder ─┬─ git repository ─► .git/holdfast-project ─┐
//	        ├─ .holdfast ──────► .holdfast/project ─────┼─► project id, branch
//	        └─ neither ────────► hash of the path ──────┘
//
// The shortest use:
//
//	id, branch, err := project.ID(dir)
//
// The package runs no program, git included, and does not read settings.
package project

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/session"
)

// Files that store a project's id.
const (
	gitProjectFile    = "holdfast-project" // in the git common directory
	markerProjectFile = "project"          // in .holdfast of the folder
)

// ID returns the stable id of the project that the folder dir belongs to, and the git branch
// checked out there ("" outside of git; a short commit hash on a detached HEAD).
//
// The id is created once and stored in the repository's git directory, which its worktrees share,
// or, without git, in dir/.holdfast/project if dir/.holdfast exists, so a moved folder keeps its
// sessions. Otherwise the id is derived from the folder's path and nothing is written. The file is
// world-readable because other users read a project's settings in .holdfast. No program is run.
func ID(dir string) (id, branch string, err error) {
	if dir, err = canonical(dir); err != nil {
		return "", "", err
	}
	if g, ok := findGit(dir); ok {
		branch = g.branch()
		if id, err = ensureID(filepath.Join(g.common, gitProjectFile), randomID()); err == nil {
			return id, branch, nil
		}
		return pathID(g.common), branch, nil
	}
	settings := filepath.Join(dir, ".holdfast")
	if st, err := os.Lstat(settings); err == nil && st.IsDir() {
		if id, err = ensureID(filepath.Join(settings, markerProjectFile), pathID(dir)); err == nil {
			return id, "", nil
		}
	}
	return pathID(dir), "", nil
}

// Branch returns the git branch of a folder, or the start of the commit's id if no branch is checked
// out; "" without a repository. It reads files only.
func Branch(dir string) string {
	dir, err := canonical(dir)
	if err != nil {
		return ""
	}
	g, ok := findGit(dir)
	if !ok {
		return ""
	}
	return g.branch()
}

func canonical(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", &session.Error{Op: "find project", Err: err, Hint: "give a folder that exists"}
	}
	st, err := os.Stat(dir)
	if err == nil && !st.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a directory")}
	}
	if err != nil {
		return "", &session.Error{Op: "find project", Err: err, Hint: "give a folder that exists"}
	}
	return dir, nil
}

// pathID returns the id of a folder that cannot store one.
func pathID(dir string) string {
	d := session.Digest(sha256.Sum256([]byte("holdfast project\n" + dir)))
	return hex.EncodeToString(d[:16])
}

func randomID() string {
	var random [16]byte
	rand.Read(random[:])
	return hex.EncodeToString(random[:])
}

// ensureID reads the id in a file, or creates the file with the given id. Two processes that do so
// at once get the same id.
func ensureID(file, made string) (string, error) {
	if id, err := readID(file); !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".project-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(tmp.Name())
	chownToParent(tmp, filepath.Dir(file))
	_, err = tmp.WriteString(made + "\n")
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return "", err
	}
	if err := os.Link(tmp.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		if err := os.Rename(tmp.Name(), file); err != nil { // file systems without hard links
			return "", err
		}
	}
	return readID(file)
}

// readID reads an id from a small regular file. Links are not followed.
func readID(file string) (string, error) {
	st, err := os.Lstat(file)
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() || st.Size() > 256 {
		return "", errors.New("project: " + file + " is not a project id")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(b))
	if raw, err := hex.DecodeString(id); err != nil || len(raw) != 16 {
		return "", errors.New("project: " + file + " is not a project id")
	}
	return id, nil
}

// git is a repository seen from one worktree.
type git struct {
	dir    string // of this worktree: contains HEAD
	common string // shared by all worktrees
}

// findGit looks for a repository at dir and in its parents.
func findGit(dir string) (git, bool) {
	for {
		if g, ok := openGit(filepath.Join(dir, ".git")); ok {
			return g, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return git{}, false
		}
		dir = up
	}
}

// openGit resolves a .git directory, or the .git file of a worktree or a submodule. Anything that
// does not look like a repository is ignored.
func openGit(path string) (git, bool) {
	st, err := os.Lstat(path)
	if err != nil {
		return git{}, false
	}
	g := git{dir: path, common: path}
	switch {
	case st.Mode().IsRegular():
		if g, err = linkedGit(path); err != nil {
			return git{}, false
		}
	case !st.IsDir(): // a link may lead into another user's repository
		return git{}, false
	}
	if firstLine(filepath.Join(g.dir, "HEAD")) == "" {
		return git{}, false
	}
	if st, err := os.Stat(filepath.Join(g.common, "objects")); err != nil || !st.IsDir() {
		return git{}, false
	}
	return g, true
}

// linkedGit follows a .git file. A folder must not be able to claim to be part of another project
// with such a file, so the repository must confirm it: a worktree's directory names the file, and a
// submodule's directory is below the .git of a parent folder.
func linkedGit(file string) (git, error) {
	unknown := errors.New("project: " + file + " points to a repository that does not refer back to it")
	to, ok := strings.CutPrefix(firstLine(file), "gitdir: ")
	if !ok {
		return git{}, unknown
	}
	dir, err := filepath.EvalSymlinks(resolve(filepath.Dir(file), to))
	if err != nil {
		return git{}, err
	}
	if back := firstLine(filepath.Join(dir, "gitdir")); back != "" {
		back, err := filepath.EvalSymlinks(resolve(dir, back))
		common := filepath.Dir(filepath.Dir(dir)) // <common>/worktrees/<name>
		if err != nil || back != file || resolve(dir, firstLine(filepath.Join(dir, "commondir"))) != common {
			return git{}, unknown
		}
		return git{dir: dir, common: common}, nil
	}
	for around := filepath.Dir(filepath.Dir(file)); ; around = filepath.Dir(around) {
		if strings.HasPrefix(dir, filepath.Join(around, ".git", "modules")+string(filepath.Separator)) {
			return git{dir: dir, common: dir}, nil
		}
		if around == filepath.Dir(around) {
			return git{}, unknown
		}
	}
}

func resolve(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// branch returns the branch or commit that HEAD points to.
func (g git) branch() string {
	head := firstLine(filepath.Join(g.dir, "HEAD"))
	if ref, ok := strings.CutPrefix(head, "ref: "); ok {
		return strings.TrimPrefix(ref, "refs/heads/")
	}
	return head[:min(7, len(head))]
}

// firstLine returns the first line of a small regular file, or "".
func firstLine(file string) string {
	st, err := os.Stat(file)
	if err != nil || !st.Mode().IsRegular() || st.Size() > 4096 {
		return ""
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}
