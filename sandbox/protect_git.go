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

// git protects a .git folder, or the .git file of a linked worktree or submodule.
func (c *compiler) git(full string, mode fs.FileMode) error {
	if mode.IsDir() {
		return c.repository(full)
	}
	c.fix(full, decidingReason)
	c.remember(full)
	target, ok := strings.CutPrefix(firstLine(full), "gitdir:")
	if !ok {
		return nil
	}
	dir, err := realpath.Normalize(strings.TrimSpace(target), path.Dir(full), c.home)
	if err != nil || !isDir(dir) {
		return nil //nolint:nilerr // git finds no repository there either
	}
	if !c.written(dir) {
		c.notice("the repository of %s is %s, which commands cannot write: git commit will not work there", path.Dir(full), dir)
		return nil
	}
	shared := c.commonDir(dir)
	if shared == "" {
		return c.repository(dir)
	}
	if err := c.worktree(dir); err != nil || !c.written(shared) {
		return err
	}
	return c.repository(shared)
}

// repository protects the parts of a repository that make git run programs: its hooks and
// configuration, those of its worktrees and submodules, and the files that say where these are.
func (c *compiler) repository(dir string) error {
	if inAny(c.pin, dir) && c.reasons[path.Join(dir, "config")] != (planReason{}) {
		return nil // already protected
	}
	c.pinned(dir)
	for _, name := range []string{"hooks/", "config", "config.worktree"} {
		if err := c.guard(path.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := c.redirected(dir); err != nil {
		return err
	}
	if err := c.configured(dir); err != nil {
		return err
	}
	for _, e := range entriesOf(path.Join(dir, "worktrees"), scanEntries) {
		if e.IsDir() {
			if err := c.worktree(path.Join(dir, "worktrees", e.Name())); err != nil {
				return err
			}
		}
	}
	return c.modules(path.Join(dir, "modules"), scanDepth)
}

// commonDir is the file that points git to another repository's settings.
const commonDir = "commondir"

// redirected protects the file that points git to another repository's settings. Only linked worktrees
// have one; if it appears elsewhere, that is an error.
func (c *compiler) redirected(dir string) error {
	full := path.Join(dir, commonDir)
	info, exists := lookAt(full)
	switch {
	case !exists:
		c.forbidden(full, decidingReason)
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		return c.linked(full)
	case isDir(path.Join(dir, "objects")):
		return &Error{
			Detail: full + " points git to the settings and hooks of another repository, and does not belong there",
			hint:   "do not run git there; check the file, then remove it",
		}
	}
	c.fix(full, decidingReason)
	return nil
}

// worktree protects a linked worktree's part of the repository.
func (c *compiler) worktree(dir string) error {
	c.pinned(dir)
	for _, name := range []string{commonDir, "config.worktree"} {
		full := path.Join(dir, name)
		if _, err := os.Lstat(full); err != nil && name == commonDir {
			continue // git does not treat it as a worktree
		}
		if err := c.guard(full); err != nil {
			return err
		}
	}
	return nil
}

// modules protects the repositories of submodules, whose names may contain slashes.
func (c *compiler) modules(dir string, depth int) error {
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
			err = c.repository(sub)
		} else {
			err = c.modules(sub, depth-1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// configured protects the files that a repository's configuration names: the folder of its hooks, and
// included files.
func (c *compiler) configured(dir string) error {
	full := path.Join(dir, "config")
	c.remember(full)
	for _, s := range gitSettings(head(full, 1<<20)) {
		from := dir
		switch s.key {
		case "core.hookspath":
			from = path.Dir(dir) // the folder in which hooks run
		case "include.path", "includeif.path":
		default:
			continue
		}
		named, err := realpath.Normalize(s.value, from, c.home)
		if err != nil || s.value == "" || !c.written(named) || within(named, dir) && within(named, path.Join(dir, "hooks")) {
			continue
		}
		if inAny(c.fixed, named) {
			continue
		}
		for _, w := range c.write {
			if w.path == named {
				return &Error{Detail: full + ": " + s.key + " is " + named + ", which is writable as a whole", hint: "move the hooks to a separate folder"}
			}
		}
		if _, exists := lookAt(named); !exists {
			c.forbidFirst(named, decidingReason)
		} else {
			c.fix(named, decidingReason)
		}
	}
	return nil
}

// commonDir returns the repository of a linked worktree, or "".
func (c *compiler) commonDir(dir string) string {
	line := firstLine(path.Join(dir, commonDir))
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

// head reads the start of a regular file; a file that cannot be read is treated as empty.
func head(name string, limit int64) []byte {
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
	line, _, _ := strings.Cut(string(head(name, 4096)), "\n")
	return strings.TrimRight(line, "\r")
}
