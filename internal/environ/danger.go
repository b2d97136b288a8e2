package environ

import "strings"

// dangerousVariables change which code runs, or to which server a program connects: a rule that allows a
// command does not allow setting them. A name that ends with a star is a prefix.
var dangerousVariables = []string{
	// which program, library or start-up file
	"PATH", "LD_*", "DYLD_*", "BASH_ENV", "ENV", "ZDOTDIR", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS", "IFS", "CDPATH",
	"PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4", "SHELL", "GLOBIGNORE", "EXECIGNORE", "FPATH", "INPUTRC", "HOME", "XDG_*", "GCONV_*", "LOCPATH", "NLSPATH", "TERMINFO", "TERMCAP", "TZDIR", "TMPDIR",
	// programs that other programs start
	"EDITOR", "VISUAL", "PAGER", "*_PAGER", "*_EDITOR", "BROWSER", "LESS*", "MANPAGER", "MANOPT", "MANPATH", "*_ASKPASS", "SSH_*",
	"FCEDIT", "TEXEDIT", "HGEDITOR", "RSYNC_*", "CVS_RSH", "SVN_SSH", "FZF_DEFAULT_COMMAND", "FZF_DEFAULT_OPTS",
	// options and start-up files of programs, which may name other programs
	"TAR_OPTIONS", "GREP_OPTIONS", "RIPGREP_CONFIG_PATH", "EXINIT", "VIMINIT", "GVIMINIT", "PSQLRC", "SQLITE_HISTORY", "MYSQL_HOME", "SCREENRC", "SYSSCREENRC",
	"XINITRC", "WGETRC", "OPENSSL_CONF", "GNUPGHOME",
	// version control, compilers, package managers
	"GIT_*", "HG*", "CC", "CXX", "CPP", "LD", "AR", "AS", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS", "MAKEFILES", "GNUMAKEFLAGS",
	"GOFLAGS", "GOROOT", "GOPATH", "GOENV", "GOPROXY", "GONOSUMDB", "GONOSUMCHECK", "GOINSECURE", "GOPRIVATE", "GOTOOLCHAIN", "GOSUMDB", "CGO_*",
	"RUSTC*", "RUSTFLAGS", "RUSTDOC*", "CARGO*", "NPM_CONFIG_*", "npm_config_*", "YARN_*", "PNPM_*", "PIP_*", "UV_*", "POETRY_*", "BUNDLE_*", "GEM_*",
	// interpreters
	"NODE_OPTIONS", "NODE_PATH", "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "NODE_REPL_EXTERNAL_MODULE", "DENO_*", "BUN_*",
	"PYTHON*", "PERL5*", "PERLLIB", "RUBY*", "PHP*", "LUA_*", "JULIA_*", "GUILE_*", "R_PROFILE*", "R_ENVIRON*", "AWKPATH", "AWKLIBPATH", "TCLLIBPATH", "JAVA_*", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH", "MAVEN_*", "GRADLE_*",
	// to which server it connects, and as which user
	"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_*", "CURL_*", "REQUESTS_CA_BUNDLE",
	"DOCKER_*", "KUBECONFIG", "AWS_*", "AZURE_*", "GOOGLE_*", "CLOUDSDK_*", "ANSIBLE_*", "TF_*", "HOLDFAST_*",
}

// Dangerous reports whether a variable changes which code runs, or to which server a program connects.
func Dangerous(name string) bool {
	for _, d := range dangerousVariables {
		start, tail := strings.CutSuffix(d, "*")
		end, head := strings.CutPrefix(d, "*")
		switch {
		case name == d, tail && strings.HasPrefix(name, start), head && strings.HasSuffix(name, end):
			return true
		}
	}
	return false
}
