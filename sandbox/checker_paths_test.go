package sandbox

import (
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

// Protected paths are readable and not writable, in calls and in command lines.
func TestProtectedPaths(t *testing.T) {
	const some = `{"protectedPaths": ["/p/.git", "~/.bashrc", "/p/Makefile"]}`
	c := checker(t, some, &Options{Home: "/home/u", Dir: "/p"})
	for _, tt := range []struct {
		path string
		op   policy.Operation
		rule string // "" allows
	}{
		{"/p/.git/config", policy.OpRead, ""},
		{"/p/.git", policy.OpWrite, "/p/.git"},
		{"/p/.git/hooks/x", policy.OpWrite, "/p/.git"},
		{".git/../.git/x", policy.OpWrite, "/p/.git"},
		{"~/.bashrc", policy.OpWrite, "~/.bashrc"},
		{"/p/.gitignore", policy.OpWrite, ""},
		{"/p/x", policy.OpWrite, ""},
		{"/q/\x00", policy.OpRead, ""},
	} {
		d := denial(t, c.CheckPath(tt.path, "/p", tt.op))
		if d.Rule != tt.rule || tt.rule != "" && (d.Setting != fieldProtectedPaths || d.Hint() == "") {
			t.Errorf("%s %s: got %+v", tt.op, tt.path, d)
		}
	}
	if d := denial(t, c.CheckPath("/q/\x00", "/p", policy.OpWrite)); d.Setting != fieldProtectedPaths || d.kind != kindUnclear {
		t.Errorf("a path that cannot be judged: %+v", d)
	}
	for line, allowed := range map[string]bool{
		"cat .git/config Makefile":        true,
		"make && git status":              true,
		"echo x > out":                    true,
		"rm -rf build":                    true,
		"grep -r x .":                     true,
		"cp Makefile copy":                true,
		"echo x > Makefile":               false,
		"echo x >> .git/config":           false,
		"rm Makefile":                     false,
		"rm -rf .git":                     false,
		"rm -rf .":                        false,
		"mv .git old":                     false,
		"mv /p /q":                        false,
		"sed -i s/a/b/ Makefile":          false,
		"cp x Makefile":                   false,
		"ln -sf x ~/.bashrc":              false,
		"tee -a ~/.bashrc":                false,
		"touch .git/hooks/pre-commit":     false,
		"echo x > $F":                     false,
		"sh -c 'echo x > .git/hooks/y'":   false,
		"find .git -delete":               false,
		"cd .git && echo x > hooks/y":     false,
		"echo $(echo y > .git/HEAD)":      false,
		"cat Makefile | tee .git/HEAD":    false,
		`eval "$X"`:                       false,
		"chmod +x .git/hooks/post-commit": false,
	} {
		if err := c.CheckCommand(line, "/p"); (err == nil) != allowed {
			t.Errorf("%s: got %v", line, err)
		}
	}
}

// Denied paths override protected ones, and both override allowed ones.
func TestProtectedAndOtherPaths(t *testing.T) {
	c := checker(t, `{"allowedWritePaths": ["/p"], "protectedPaths": ["/p/a"], "deniedPaths": ["/p/a/b"]}`, nil)
	for path, setting := range map[string]string{
		"/p/x": "", "/p/a/x": fieldProtectedPaths, "/p/a/b/x": fieldDeniedPaths, "/q": fieldWritePaths,
	} {
		if d := denial(t, c.CheckPath(path, "", policy.OpWrite)); d.Setting != setting {
			t.Errorf("%s: got %+v", path, d)
		}
	}
}

// The settings must not allow and deny the same path.
func TestAdditionalWritePathsOutside(t *testing.T) {
	_, err := NewChecker(&Settings{AllowedWritePaths: []string{"/p"}, AdditionalWritePaths: []string{"/p/x", "/q"}}, nil)
	if e, ok := errors.AsType[*Error](err); !ok || e.Field != "additionalWritePaths[1]" || e.Hint() == "" {
		t.Errorf("got %v", err)
	}
}

// Disabled settings must be valid, and restrict nothing.
func TestDisabled(t *testing.T) {
	c := checker(t, `{"enabled": false, "deniedPaths": ["/"], "allowedCommands": [], "network": {}}`, nil)
	if !c.IsPathAllowed("/x", "", policy.OpWrite) || !c.IsCommandAllowed("rm x", "/") || c.CheckHost("a.org") != nil {
		t.Error("it restricts")
	}
	if _, err := NewChecker(&Settings{Enabled: new(false), DeniedPaths: []string{"/*"}}, nil); err == nil {
		t.Error("a wrong entry was accepted")
	}
	if c := checker(t, `{"enabled": true, "deniedPaths": ["/"]}`, nil); c.IsPathAllowed("/x", "", policy.OpRead) {
		t.Error("settings that are enabled do not restrict")
	}
}
