package supervisor

import (
	"slices"
	"strconv"
	"strings"
)

// blocked are names of variables, or prefixes ("*"), that decide which code runs or which identity
// a process assumes. If a client may set a credential variable, it must not be able to set anything
// but a credential with it.
var blocked = []struct {
	why   string
	names []string
}{
	{"the workspace sets it", []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY",
		"http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy",
	}},
	{"it controls what programs load", []string{
		"LD_*", "DYLD_*", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "NLSPATH", "HOSTALIASES", "RESOLV_HOST_CONF", "MALLOC_*",
		"OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES",
		"NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "BUN_OPTIONS", "DENO_DIR", "ELECTRON_RUN_AS_NODE",
		"PYTHON*", "PERL*", "RUBY*", "GEM_PATH", "GEM_HOME", "BUNDLE_GEMFILE", "LUA_*", "PHPRC", "PHP_INI_SCAN_DIR",
		"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "ERL_*", "DOTNET_STARTUP_HOOKS", "CORECLR_*",
		"COR_*", "GODEBUG", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER",
	}},
	{"it controls what shells run", []string{
		"BASH_ENV", "ENV", "BASH_FUNC_*", "BASHOPTS", "SHELLOPTS", "BASH_XTRACEFD", "IFS", "PS1", "PS2", "PS4",
		"PROMPT_COMMAND", "CDPATH", "GLOBIGNORE", "FPATH", "ZDOTDIR", "INPUTRC",
	}},
	{"it controls which helper programs are run", []string{
		"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER",
		"GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND", "GIT_TEMPLATE_DIR", "GIT_CONFIG*", "GIT_DIR", "GIT_WORK_TREE",
		"SSH_ASKPASS*", "SUDO_ASKPASS", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "BROWSER", "TAR_OPTIONS",
		"MAKEFLAGS", "GNUMAKEFLAGS", "npm_config_*", "NPM_CONFIG_*",
	}},
}

// CheckEnv checks whether variables may be passed to a process. Each must have the form
// "NAME=value"; the name must be valid in shells (letters, digits and underscores, no digit first)
// and must not decide which code runs; the value must not contain a NUL byte. The error is an
// *[EnvError]. Both sides of a connection check.
func CheckEnv(env []string) error {
	for _, entry := range env {
		name, value, ok := strings.Cut(entry, "=")
		switch {
		case !ok:
			return &EnvError{Name: "(unnamed)", Reason: "not of the form NAME=value"} // the text may be a value
		case !validName(name):
			return &EnvError{Name: strconv.QuoteToASCII(name), Reason: "an invalid name: use letters, digits and _, and no digit first"}
		case strings.IndexByte(value, 0) >= 0:
			return &EnvError{Name: name, Reason: "its value has a NUL byte"}
		}
		if why := whyBlocked(name); why != "" {
			return &EnvError{Name: name, Reason: "not allowed: " + why}
		}
	}
	return nil
}

func validName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', i > 0 && c >= '0' && c <= '9':
		default:
			return false
		}
	}
	return name != ""
}

func whyBlocked(name string) string {
	for _, group := range blocked {
		if slices.ContainsFunc(group.names, func(n string) bool {
			start, family := strings.CutSuffix(n, "*")
			return name == n || family && strings.HasPrefix(name, start)
		}) {
			return group.why
		}
	}
	return ""
}

// mergeEnv combines layers of variables. If a name occurs several times, its last value is used.
func mergeEnv(layers ...[]string) []string {
	at := map[string]int{}
	var out []string
	for _, entry := range slices.Concat(layers...) {
		name, _, _ := strings.Cut(entry, "=")
		if i, ok := at[name]; ok {
			out[i] = entry
			continue
		}
		at[name] = len(out)
		out = append(out, entry)
	}
	return out
}
