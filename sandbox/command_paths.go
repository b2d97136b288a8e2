package sandbox

import (
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
	"github.com/holdfast-dev/holdfast/policy"
)

// checkPaths compares the paths that one command would touch with the lists of paths. A plain word
// that may be a file name is compared only with the denied paths.
func (c *Checker) checkPaths(cmd *shellparse.Command) *Denial {
	for i := range cmd.Paths {
		if d := c.checkCommandPath(&cmd.Paths[i]); d != nil {
			return d
		}
	}
	if strings.Contains(cmd.Program, "/") && cmd.Name != "" {
		p := shellparse.Path{Path: cmd.Program, Arg: cmd.Program, Access: shellparse.Exec}
		if !path.IsAbs(p.Path) {
			p.Path = ""
			if cmd.Dir != "" {
				p.Path = cmd.Dir + "/" + cmd.Program
			}
		}
		if d := c.checkCommandPath(&p); d != nil {
			return d
		}
	}
	return c.checkFolder(cmd)
}

// checkFolder denies a program that would start in a denied folder: it can read files there without
// naming them.
func (c *Checker) checkFolder(cmd *shellparse.Command) *Denial {
	if cmd.Dir == "" || cmd.Wrapper || len(c.denied) == 0 || slices.Contains(shellBuiltins, cmd.Name) || slices.Contains(anyFolderCommands, cmd.Name) {
		return nil
	}
	return c.compare(pathDenial("Bash", cmd.Dir, policy.OpRead), subject{literal: cmd.Dir, resolved: cmd.Dir}, "", nil)
}

// anyFolderCommands are commands that behave the same in every folder.
var anyFolderCommands = []string{"echo", "printf", "pwd", "sleep"}

func (c *Checker) checkCommandPath(p *shellparse.Path) *Denial {
	op, field, list := policy.OpRead, fieldReadPaths, c.read
	switch {
	case p.Source == shellparse.FromGuess:
		list = nil
	case p.Access&shellparse.Write != 0 && len(c.write) > 0:
		op, field, list = policy.OpWrite, fieldWritePaths, c.write
	case p.Access&shellparse.Write != 0 && p.Access&^shellparse.Write == 0:
		op, list = policy.OpWrite, nil
	case p.Access == shellparse.Exec && isSystemProgram(p.Path):
		list = nil
	}
	d := c.comparePath(p, op, field, list)
	if d == nil && op == policy.OpWrite && list != nil && p.Access&^shellparse.Write != 0 && len(c.read) > 0 {
		return c.comparePath(p, policy.OpRead, fieldReadPaths, c.read)
	}
	return d
}

func (c *Checker) comparePath(p *shellparse.Path, op policy.Operation, field string, list []tree) *Denial {
	write := p.Access&shellparse.Write != 0 && p.Source != shellparse.FromGuess
	if !c.restricts(list, write) {
		return nil
	}
	shown := p.Arg
	if shown == "" {
		shown = p.Path
	}
	d := pathDenial("Bash", shown, op)
	d.Setting = c.restrictingSetting(field, list)
	if p.Path == "" {
		d.Reason, d.kind = "path '"+shown+"' cannot be known before the command runs", kindUnclear
		return d
	}
	s := subject{literal: path.Clean(p.Path), write: write, tree: p.Tree, pattern: patternBelow(p)}
	d.Path = s.literal
	if isDevice(s.literal) {
		s.resolved, list = s.literal, nil
		return c.compare(d, s, field, list)
	}
	full := p.Raw
	if full == "" {
		full = p.Path
	}
	var err error
	if s.resolved, err = realpath.Resolve(full); err != nil {
		d.Reason, d.kind = d.Reason+": "+err.Error(), kindUnclear
		return d
	}
	d.Path = s.resolved
	return c.compare(d, s, field, list)
}

// isSystemProgram reports whether a path is a program of the operating system.
func isSystemProgram(p string) bool { return path.IsAbs(p) && shellparse.IsSystemProgram(p) }

// isDevice reports whether a path is a device without content, or a file that the command already has
// open. These are allowed even if a list of allowed paths does not contain them.
func isDevice(p string) bool {
	switch p {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
		"/dev/stdin", "/dev/stdout", "/dev/stderr":
		return true
	}
	fd, ok := strings.CutPrefix(p, "/dev/fd/")
	return ok && fd != "" && strings.Trim(fd, "0123456789") == ""
}
