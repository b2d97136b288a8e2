package shellparse

import "testing"

func TestDangerous(t *testing.T) {
	for name, want := range map[string]bool{
		"": false, "FOO": false, "path": false, "PATHS": false, "DEBUG": false, "CGO_ENABLED": false, "PORT": false,
		"PATH": true, "LD_PRELOAD": true, "DYLD_INSERT_LIBRARIES": true, "BASH_ENV": true, "ENV": true, "IFS": true, "GIT_DIR": true,
		"PAGER": true, "GH_PAGER": true, "KUBE_EDITOR": true, "SSH_ASKPASS": true, "PYTHONPATH": true, "NODE_OPTIONS": true,
		"HOME": true, "CDPATH": true, "PROMPT_COMMAND": true, "BASH_FUNC_ls%%": true,
	} {
		if got := isDangerous(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A variable that holds a command runs it.
func TestCommandVariables(t *testing.T) {
	for _, line := range []string{
		`PAGER='x a' git log`, `export EDITOR=x; git commit`, `GIT_SSH_COMMAND='ssh -i k; x' git fetch`, `MANPAGER='sh -c x' man ls`,
		`LESSOPEN='|x %s' less f`, `declare VISUAL=x`, `PROMPT_COMMAND=x`,
	} {
		r := Parse(line, nil)
		found := false
		for _, c := range r.Commands {
			found = found || c.Name == "x"
		}
		if !found {
			t.Errorf("%s: no x in\n%s", line, dump(r))
		}
	}
	for _, line := range []string{`PAGER=$x git log`, `PS4='$(x)' a`, `ENV=$(x) sh`, `GIT_CONFIG_KEY_0=alias.x a`, `GIT_CONFIG_GLOBAL=x git log`} {
		if r := Parse(line, nil); r.Static() {
			t.Errorf("%s is static", line)
		}
	}
	for _, line := range []string{`PAGER= git log`, `PAGER=cat git log`, `GIT_CONFIG_GLOBAL=/dev/null git log`, `LESSOPEN= less f`} {
		if r := Parse(line, nil); !r.Static() {
			t.Errorf("%s is unclear: %q", line, r.Unclear)
		}
	}
}
