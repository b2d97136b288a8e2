package shellparse

// pathVars are variables whose value is a path. If one is set, programs read, or read and write,
// that path.
var pathVars = map[string]Access{
	"GIT_DIR": Read | Write, "GIT_WORK_TREE": Read | Write, "GIT_INDEX_FILE": Read | Write, "GIT_OBJECT_DIRECTORY": Read | Write,
	"GIT_COMMON_DIR": Read | Write, "GIT_ALTERNATE_OBJECT_DIRECTORIES": Read, "GIT_CONFIG": Read, "GIT_CONFIG_GLOBAL": Read, "GIT_CONFIG_SYSTEM": Read,
	"HOME": Read, "TMPDIR": Write, "GOPATH": Read | Write, "GOCACHE": Read | Write, "GOMODCACHE": Read | Write, "GOBIN": Write, "GOTMPDIR": Write,
	"CARGO_TARGET_DIR": Write, "CARGO_HOME": Read | Write, "CARGO_INSTALL_ROOT": Write, "npm_config_prefix": Write, "npm_config_cache": Write, "NPM_CONFIG_PREFIX": Write,
	"PIP_TARGET": Write, "PIP_CACHE_DIR": Write, "PYTHONPYCACHEPREFIX": Write, "DESTDIR": Write, "KUBECONFIG": Read, "NETRC": Read, "GNUPGHOME": Read | Write,
	"XDG_CONFIG_HOME": Read, "XDG_CACHE_HOME": Write, "XDG_DATA_HOME": Write, "XDG_STATE_HOME": Write, "PGPASSFILE": Read, "AWS_SHARED_CREDENTIALS_FILE": Read, "AWS_CONFIG_FILE": Read,
}

// varPaths adds the paths that a program would access because of the variables set for it.
func (f *frame) varPaths(s *scope, set []assignment, e *effects) {
	add := func(name string, w word) {
		if access := pathVars[name]; access != 0 && (!w.static || w.text != "") && (!w.static || w.text != f.opts.Home) {
			e.paths = append(e.paths, use{path: w, arg: name + "=" + w.text, access: access, from: FromArgument, tree: true})
		}
	}
	for _, a := range set {
		add(a.name, a.word)
	}
	for _, name := range s.tainted {
		if v := f.lookup(s, name); v.exported {
			add(name, word{text: v.text, static: v.known})
		}
	}
}

// stateless are commands that do not read such variables.
const stateless = "cd echo printf true false : test [ pwd export unset read set"
