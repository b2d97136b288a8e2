package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// A variable that makes an allowed program run others is denied, however the line sets it.
func TestAllowedCommandsDenyDangerousVariables(t *testing.T) {
	const allowed = `{"allowedCommands":["tar","rsync","cargo","make","grep","npm","git","export"]}`
	deny := func(line string) commandTest { return commandTest{allowed, line, "allowedCommands", ""} }
	allow := func(line string) commandTest { return commandTest{allowed, line, "", ""} }
	runCommandTests(t, "/project", []commandTest{
		deny(`TAR_OPTIONS='--to-command=sh' tar xf a.tar`),
		deny(`TAR_OPTIONS=--to-command=./x tar xf a.tar`),
		deny(`export TAR_OPTIONS=--to-command=./x; tar xf a.tar`),
		deny(`export CC=./x && make`),
		deny(`RSYNC_RSH=./x rsync a b:`),
		deny(`RUSTC_WRAPPER=./x cargo build`),
		deny(`CC=./x make`),
		deny(`MAKEFLAGS=--eval=x make`),
		deny(`NPM_CONFIG_SCRIPT_SHELL=./x npm test`),
		deny(`PERL5DB=x git add -p`),
		deny(`GIT_PAGER=./x git log`),
		allow(`tar xf a.tar`),
		allow(`A=1 tar xf a.tar`),
		allow(`NODE_ENV=test npm test`),
		allow(`export A=1; tar xf a.tar`),
	})
}

// TestTarOptionsRunAProgram runs tar with the variable, which the check must deny.
func TestTarOptionsRunAProgram(t *testing.T) {
	for _, name := range []string{"bash", "tar"} {
		if _, err := exec.LookPath(name); err != nil {
			testneed.Need(t, "no bash or no tar on the PATH: apt-get install bash tar makes this run")
		}
	}
	dir := t.TempDir()
	const line = `TAR_OPTIONS='--to-command=touch${IFS}canary' tar xf a.tar`
	cmd := exec.Command("bash", "--norc", "-c", "echo a >a && tar cf a.tar a && "+line)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "canary")); err != nil {
		t.Errorf("%s does not run a program: %v", line, err)
	}
	c := checker(t, `{"allowedCommands":["tar"]}`, nil)
	if c.CheckCommand(line, dir) == nil {
		t.Errorf("%s is allowed", line)
	}
}
