package shellparse

import (
	"slices"
	"strings"
)

// isDangerous reports whether setting a variable changes which programs run, which code they load, or how a
// line is parsed. A command with such a variable is never Safe.
func isDangerous(name string) bool {
	if name == "" || name[0] < 'A' || name[0] > 'Z' {
		return false
	}
	return slices.Contains(dangerNames, name) ||
		slices.ContainsFunc(dangerPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		strings.HasSuffix(name, "_PAGER") || strings.HasSuffix(name, "_EDITOR") || strings.HasSuffix(name, "_ASKPASS")
}

var dangerPrefixes = []string{"LD_", "DYLD_", "GIT_", "BASH_FUNC_", "PYTHON", "PERL5", "NODE_", "NPM_CONFIG_", "RUBY", "LESS", "XDG_", "GCONV_", "LUA_", "R_PROFILE", "R_ENVIRON", "JULIA_", "GUILE_", "PHP", "DENO_", "BUN_", "ANSIBLE_"}

var dangerNames = []string{
	"PATH", "IFS", "BASH_ENV", "ENV", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "SHELLOPTS", "BASHOPTS", "GLOBIGNORE",
	"CDPATH", "HOME", "SHELL", "EXECIGNORE", "FPATH", "ZDOTDIR", "PAGER", "MANPAGER", "MANOPT", "MANPATH", "EDITOR", "VISUAL",
	"BROWSER", "TAR_OPTIONS", "RSYNC_RSH", "RIPGREP_CONFIG_PATH", "GREP_OPTIONS", "CVS_RSH", "SVN_SSH", "HGRCPATH",
	"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "LOCPATH", "NLSPATH", "TERMINFO", "TERMCAP",
	"MAKEFLAGS", "CARGO_HOME", "RUSTC_WRAPPER", "GOFLAGS", "CURL_HOME", "WGETRC", "INPUTRC", "TZDIR", "KUBECONFIG", "DOCKER_HOST",
	"FZF_DEFAULT_COMMAND", "FZF_DEFAULT_OPTS", "OPENSSL_CONF", "GNUPGHOME", "SQLITE_HISTORY", "PSQLRC", "MYSQL_HOME", "EXINIT", "VIMINIT", "GVIMINIT",
	"SCREENRC", "SYSSCREENRC", "HGEDITOR", "FCEDIT", "TEXEDIT", "RSYNC_CONNECT_PROG", "MAKEFILES", "GNUMAKEFLAGS", "AWKPATH", "AWKLIBPATH", "TCLLIBPATH", "PIP_CONFIG_FILE", "XINITRC", "TF_CLI_CONFIG_FILE",
}

// commandVars are the variables whose values programs run as command lines.
var commandVars = []string{
	"PAGER", "MANPAGER", "GIT_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_SSH_COMMAND", "GIT_SSH",
	"GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "GIT_PROXY_COMMAND", "SSH_ASKPASS", "SUDO_ASKPASS", "SUDO_EDITOR", "RSYNC_RSH",
	"PROMPT_COMMAND", "FZF_DEFAULT_COMMAND", "BROWSER", "CVS_RSH", "SVN_SSH", "SVN_EDITOR", "HGEDITOR", "PSQL_PAGER", "PSQL_EDITOR",
	"SYSTEMD_PAGER", "SYSTEMD_EDITOR", "DELTA_PAGER", "BAT_PAGER", "KUBE_EDITOR", "RUSTC_WRAPPER", "CRONTAB_EDITOR", "FCEDIT",
	"AWS_PAGER", "GH_PAGER", "GH_EDITOR", "LESSEDIT", "TEXEDIT",
}

// promptVars are expanded by the shell, which runs their substitutions.
var promptVars = []string{"PS0", "PS1", "PS2", "PS4", "LESSOPEN", "LESSCLOSE", "BASH_ENV", "ENV"}

// namesOpenFile reports whether the value of a variable contains the name of a file that the shell
// already has open, such as /dev/stdin, -r/dev/fd/3 or @/proc/self/fd/0.
func namesOpenFile(value string) bool {
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(" \t\n=:,;@'\"", r) }) {
		if i := strings.IndexByte(part, '/'); i >= 0 && openFileNumber(part[i:]) != "" {
			return true
		}
	}
	return false
}

// unclearValue returns the reason why the effect of a variable with this value cannot be
// determined, or "".
func unclearValue(name string, w word) string {
	switch {
	case w.static && isDangerous(name) && namesOpenFile(w.text):
		return "cannot determine what $" + name + " has programs load from " + w.text
	case slices.Contains(promptVars, name) && !strings.HasPrefix(name, "LESS") && (!w.static || strings.ContainsAny(w.text, "$`")):
		return "cannot determine what $" + name + " would run"
	}
	return ""
}

// parseCommandVar parses the value of a variable that contains a command.
func (f *frame) parseCommandVar(s *scope, name string, w word) {
	if why := unclearValue(name, w); why != "" {
		f.unclear(why)
	}
	switch {
	case slices.Contains(commandVars, name):
		if !w.static {
			f.unclear("cannot determine the command in $" + name)
			return
		}
		if w.text != "" {
			f.nested(s.child(), name, w.text, &stdin{kind: stdinUnknown}, nil)
		}
	case strings.HasPrefix(name, "LESS") && slices.Contains(promptVars, name):
		w.text = strings.TrimLeft(w.text, "|-")
		if !w.static {
			f.unclear("cannot determine what $" + name + " would run")
		} else if w.text != "" {
			f.nested(s.child(), name, w.text, &stdin{kind: stdinUnknown}, nil)
		}
	case strings.HasPrefix(name, "GIT_CONFIG") && name != "GIT_CONFIG_NOSYSTEM" && (!w.static || w.text != "/dev/null"):
		f.unclear("git commands configured in $" + name + " are not parsed")
	}
}
