package hook

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/environ"
)

// environ returns a command's environment. vars are the variables in it that are also substituted
// in Command and Args if Args is set. It also returns a notice for each requested variable that is
// not passed.
func (c *Commands) environ(d *Definition, in *Input, j *job) (env []string, vars map[string]string, notices []string) {
	if j.confined {
		env = j.box.Environ(c.opt.Environ)
	} else {
		env = environ.ForSandbox(c.opt.Environ)
	}
	named, notices := c.allowedVars(d)
	vars = d.withVars(map[string]string{"CLAUDE_PROJECT_DIR": c.opt.Project, "CLAUDE_CODE_SESSION_ID": in.SessionID})
	if in.Event.SetsVariables() && c.opt.EnvFile != "" {
		vars["CLAUDE_ENV_FILE"] = c.opt.EnvFile
	}
	set := map[string]string{
		"HOOK_EVENT": in.Event.Spelled(dialectOf(d)), "HOOK_TOOL_NAME": in.Tool.Name,
		"HOOK_SESSION_ID": in.SessionID, "HOOK_CWD": in.CWD, "PWD": j.dir,
	}
	maps.Copy(set, vars)
	for name, value := range named {
		if _, reserved := set[name]; !reserved {
			set[name] = value
		}
	}
	env = slices.DeleteFunc(env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, again := set[name]
		return again
	})
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env, vars, notices
}

// withVars adds the variables of a hook to others, which take precedence.
func (d *Definition) withVars(others map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, d.Vars)
	maps.Copy(all, others)
	return all
}

// allowedVars returns the variables that a hook lists in Env and may have, and a notice for each
// variable that it may not have.
func (c *Commands) allowedVars(d *Definition) (vars map[string]string, notices []string) {
	vars = map[string]string{}
	for _, name := range d.Env {
		switch {
		case strings.HasPrefix(name, "OTEL_") || name == "CLAUDE_CODE_REMOTE":
			notices = append(notices, fmt.Sprintf("the variable %s is never passed to hooks", name))
			continue
		case c.opt.EnvVars != nil && !slices.Contains(c.opt.EnvVars, name):
			notices = append(notices, fmt.Sprintf("the variable %s is not passed: the settings list the variables that hooks may have, and it is not on the list", name))
			continue
		}
		for _, entry := range c.opt.Environ { // the last one wins
			if key, value, _ := strings.Cut(entry, "="); key == name {
				vars[name] = value
			}
		}
	}
	return vars, notices
}

// substitute replaces "${NAME}" by the values of variables. Unknown names are not changed.
func substitute(text string, vars map[string]string) string {
	for name, value := range vars {
		text = strings.ReplaceAll(text, "${"+name+"}", value)
	}
	return text
}
