package sandbox

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/environ"
	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

func (c *Checker) checkCommand(line, cwd string, confined bool) *Denial {
	return c.checkReading(line, cwd, confined, nil, nil)
}

// checkReading is checkCommand for a line that may have been parsed already: reading is the result,
// and known are the parser's options. The checker parses the line itself if reading is nil, if the
// folder or the home folder differs (for example, because the folder is behind a symbolic link), or
// if there are variables with known values. The parameter confined is true if a kernel sandbox
// confines the command.
func (c *Checker) checkReading(line, cwd string, confined bool, reading *shellparse.Reading, known *shellparse.Options) *Denial {
	hasPaths := len(c.denied)+len(c.read)+len(c.write)+len(c.protected) > 0
	if c.deniedPrograms == nil && c.allowedPrograms == nil && !hasPaths && c.net == nil {
		return nil
	}
	o := shellparse.Options{Home: c.home, Vars: c.vars}
	if path.IsAbs(cwd) {
		o.Dir = path.Clean(cwd)
		if hasPaths {
			dir, err := realpath.Resolve(cwd)
			if err != nil {
				return c.unclearDenial(line, "the current folder: "+err.Error())
			}
			o.Dir = dir
		}
	}
	if reading == nil || known.Dir != o.Dir || known.Home != o.Home || len(known.Vars)+len(o.Vars) > 0 {
		reading = shellparse.Parse(line, &o)
	}
	for i := range reading.Commands {
		if d := c.checkProgram(&reading.Commands[i]); d != nil {
			return d
		}
	}
	if !reading.Static() {
		return c.unclearDenial(line, reading.Unclear[0])
	}
	var asked *Denial // a denial that the user may lift; returned if nothing else denies
	for i := range reading.Commands {
		cmd := &reading.Commands[i]
		if hasPaths {
			if d := c.checkPaths(cmd); d != nil {
				return d
			}
		}
		d := c.net.checkCommand(cmd, confined)
		if d != nil && !d.asks {
			return d
		}
		asked = cmp.Or(asked, d)
	}
	return asked
}

// unclearDenial denies a line whose commands cannot be determined.
func (c *Checker) unclearDenial(line, why string) *Denial {
	d := &Denial{Tool: "Bash", Subject: line, kind: kindUnclear, Reason: "command cannot be read: " + why}
	switch {
	case c.allowedPrograms != nil:
		d.Setting = fieldAllowedCommands
	case c.deniedPrograms != nil:
		d.Setting = fieldDeniedCommands
	case len(c.denied) > 0:
		d.Setting = fieldDeniedPaths
	case len(c.read) > 0:
		d.Setting = fieldReadPaths
	case len(c.write) > 0:
		d.Setting = fieldWritePaths
	case len(c.protected) > 0:
		d.Setting = fieldProtectedPaths
	default:
		d.Setting = fieldDomains
	}
	return d
}

// checkProgram compares one command with the lists of commands. A wrapper, a shell and the commands
// that they run are checked separately.
func (c *Checker) checkProgram(cmd *shellparse.Command) *Denial {
	switch {
	case c.allowedPrograms != nil:
		return c.checkAllowed(cmd)
	case c.deniedPrograms == nil || cmd.Name == "":
		return nil // a command without a name is unclear
	}
	if entry, ok := c.deniedPrograms.denies(cmd); ok {
		d := programDenial(cmd)
		d.Setting, d.Rule = fieldDeniedCommands, entry
		return d
	}
	return nil
}

func programDenial(cmd *shellparse.Command) *Denial {
	return &Denial{
		Tool: "Bash", Subject: cmd.Name, kind: kindCommand,
		Reason: "command '" + cmd.Name + "' is denied by sandbox policy",
	}
}

func (c *Checker) checkAllowed(cmd *shellparse.Command) *Denial {
	d := programDenial(cmd)
	d.Setting = fieldAllowedCommands
	switch {
	case cmd.Name == "":
		d.Subject = cmd.Source
		d.Reason = "command '" + cmd.Source + "' is denied by sandbox policy: its name cannot be determined"
		return d
	case slices.Contains(shellBuiltins, cmd.Name) && cmd.Name == cmd.Program && !c.noCommands:
		return nil
	case !c.allowedPrograms.allows(cmd):
		return d
	}
	if i := slices.IndexFunc(cmd.Assigns, environ.Dangerous); i >= 0 {
		d.Reason += ": " + cmd.Assigns[i] + " may change which program runs"
		return d
	}
	return nil
}

// shellBuiltins are the builtins that only control the shell: they start nothing and change nothing
// outside it. They are allowed even if a list of allowed commands does not contain them. If the
// list is empty, nothing is allowed.
var shellBuiltins = []string{
	":", "[", "break", "cd", "continue", "dirs", "exit", "false", "popd", "pushd", "return", "shift", "test", "true", "wait",
}

// denies returns the entry that matches a command. A path in the list also matches the bare name,
// because the name may resolve to it. Case is ignored, as on some file systems.
func (p *programs) denies(cmd *shellparse.Command) (string, bool) {
	entry, ok := p.folded[strings.ToLower(cmd.Name)]
	return entry, ok
}

// allows reports whether the list contains a command, by its path or by its bare name. A bare name
// means the system's program of that name.
func (p *programs) allows(cmd *shellparse.Command) bool {
	full := cmd.Program
	if strings.Contains(full, "/") {
		if !path.IsAbs(full) {
			if !path.IsAbs(cmd.Dir) {
				return false
			}
			full = cmd.Dir + "/" + full
		}
		if strings.Contains(full, "/../") { // after a link, ".." leads to another folder than its text says
			real, err := realpath.Resolve(full)
			if clean, err2 := realpath.Resolve(path.Clean(full)); err != nil || err2 != nil || real != clean {
				return false
			}
		}
		full = path.Clean(full)
	}
	if _, ok := p.paths[full]; ok {
		return true
	}
	_, ok := p.names[cmd.Name]
	return ok && shellparse.IsSystemProgram(full)
}
