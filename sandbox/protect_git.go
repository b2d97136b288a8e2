package sandbox

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
)

// protectGit protects a .protectGit folder, or the .protectGit file of a linked worktree or submodule.
func (c *compiler) protectGit(full string, mode fs.FileMode) error {
	if mode.IsDir() {
		return c.protectRepository(full)
	}
	c.makeReadOnly(full, decidingReason)
	c.watchContent(full)
	target, ok := strings.CutPrefix(firstLine(full), "gitdir:")
	if !ok {
		return nil
	}
	dir, err := realpath.Normalize(strings.TrimSpace(target), path.Dir(full), c.home)
	if err != nil || !isDir(dir) {
		return nil //nolint:nilerr // git finds no repository there either
	}
	if !c.isWritable(dir) {
		c.addNotice("the repository of %s is %s, which commands cannot write: git commit will not work there", path.Dir(full), dir)
		return nil
	}
	shared := c.commonDir(dir)
	if shared == "" {
		return c.protectRepository(dir)
	}
	if err := c.protectLinkedWorktree(dir); err != nil || !c.isWritable(shared) {
		return err
	}
	return c.protectRepository(shared)
}

// protectRepository protects the parts of a repository that make git run programs: its hooks and
// configuration, those of its worktrees and submodules, and the files that say where these are.
func (c *compiler) protectRepository(dir string) error {
	if inAny(c.pin, dir) && c.reasons[path.Join(dir, "config")] != (planReason{}) {
		return nil // already protected
	}
	c.pinFolder(dir)
	for _, name := range []string{"hooks/", "config", "config.worktree"} {
		if err := c.protectOrForbid(path.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := c.protectCommonDirFile(dir); err != nil {
		return err
	}
	if err := c.protectConfiguredFiles(dir); err != nil {
		return err
	}
	for _, e := range entriesOf(path.Join(dir, "worktrees"), scanEntries) {
		if e.IsDir() {
			if err := c.protectLinkedWorktree(path.Join(dir, "worktrees", e.Name())); err != nil {
				return err
			}
		}
	}
	return c.protectSubmodules(path.Join(dir, "modules"), scanDepth)
}

// commonDirFile is the file that points git to another repository's settings.
const commonDirFile = "commondir"

// protectCommonDirFile protects the file that points git to another repository's settings. Only linked worktrees
// have one; if it appears elsewhere, that is an error.
func (c *compiler) protectCommonDirFile(dir string) error {
	full := path.Join(dir, commonDirFile)
	info, exists := lstat(full)
	switch {
	case !exists:
		c.forbidName(full, decidingReason)
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		return c.rejectLink(full)
	case isDir(path.Join(dir, "objects")):
		return &Error{
			Detail: full + " points git to the settings and hooks of another repository, and does not belong there",
			hint:   "do not run git there; check the file, then remove it",
		}
	}
	c.makeReadOnly(full, decidingReason)
	return nil
}

// protectLinkedWorktree protects a linked worktree's part of the repository.
func (c *compiler) protectLinkedWorktree(dir string) error {
	c.pinFolder(dir)
	for _, name := range []string{commonDirFile, "config.worktree"} {
		full := path.Join(dir, name)
		if _, err := os.Lstat(full); err != nil && name == commonDirFile {
			continue // git does not treat it as a worktree
		}
		if err := c.protectOrForbid(full); err != nil {
			return err
		}
	}
	return nil
}

// protectSubmodules protects the repositories of submodules, whose names may contain slashes.
func (c *compiler) protectSubmodules(dir string, depth int) error {
	if depth == 0 {
		return nil
	}
	for _, e := range entriesOf(dir, scanEntries) {
		if !e.IsDir() {
			continue
		}
		sub := path.Join(dir, e.Name())
		var err error
		if _, no := os.Lstat(path.Join(sub, "HEAD")); no == nil {
			err = c.protectRepository(sub)
		} else {
			err = c.protectSubmodules(sub, depth-1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// protectConfiguredFiles protects the files that a repository's configuration names: the folder of its hooks, and
// included files.
func (c *compiler) protectConfiguredFiles(dir string) error {
	full := path.Join(dir, "config")
	c.watchContent(full)
	for _, s := range gitSettings(readHead(full, 1<<20)) {
		from := dir
		switch s.key {
		case "core.hookspath":
			from = path.Dir(dir) // the folder in which hooks run
		case "include.path", "includeif.path":
		default:
			continue
		}
		named, err := realpath.Normalize(s.value, from, c.home)
		if err != nil || s.value == "" || !c.isWritable(named) || within(named, dir) && within(named, path.Join(dir, "hooks")) {
			continue
		}
		if inAny(c.readOnly, named) {
			continue
		}
		for _, w := range c.write {
			if w.path == named {
				return &Error{Detail: full + ": " + s.key + " is " + named + ", which is writable as a whole", hint: "move the hooks to a separate folder"}
			}
		}
		if _, exists := lstat(named); !exists {
			c.forbidFirstComponent(named, decidingReason)
		} else {
			c.makeReadOnly(named, decidingReason)
		}
	}
	return nil
}

// commonDir returns the repository of a linked worktree, or "".
func (c *compiler) commonDir(dir string) string {
	line := firstLine(path.Join(dir, commonDirFile))
	if line == "" {
		return ""
	}
	shared, err := realpath.Normalize(line, dir, c.home)
	if err != nil {
		return ""
	}
	return shared
}

type gitSetting struct{ key, value string }

// gitSettings parses a git configuration in which each value is on one line. Keys are in lower case
// and without the subsection.
func gitSettings(text []byte) []gitSetting {
	var out []gitSetting
	section := ""
	for line := range bytes.Lines(text) {
		s := strings.TrimSpace(string(line))
		if rest, ok := strings.CutPrefix(s, "["); ok {
			name, tail, _ := strings.Cut(rest, "]")
			section, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			section, _, _ = strings.Cut(section, ".")
			s = strings.TrimSpace(tail)
		}
		key, value, ok := strings.Cut(s, "=")
		if !ok || s[0] == '#' || s[0] == ';' {
			continue
		}
		out = append(out, gitSetting{strings.ToLower(section + "." + strings.TrimSpace(key)), gitValue(strings.TrimSpace(value))})
	}
	return out
}

// gitValue removes quotes and comments.
func gitValue(text string) string {
	var out strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == '"':
			quoted = !quoted
		case ch == '\\' && i+1 < len(text):
			i++
			out.WriteByte(text[i])
		case !quoted && (ch == '#' || ch == ';'):
			return strings.TrimSpace(out.String())
		default:
			out.WriteByte(ch)
		}
	}
	return strings.TrimSpace(out.String())
}

// readHead reads the start of a regular file; a file that cannot be read is treated as empty.
func readHead(name string, limit int64) []byte {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, limit))
	return data
}

func firstLine(name string) string {
	line, _, _ := strings.Cut(string(readHead(name, 4096)), "\n")
	return strings.TrimRight(line, "\r")
}
