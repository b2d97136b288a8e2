//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// poisons are files that one project plants for others, by the tools that would use them. plant writes the
// file to the tool's cache; look runs the tool offline, and prints "evil" if the tool uses the file.
var poisons = []struct{ name, needs, plant, look string }{
	{
		"Go module", "go version",
		`at=$(go env GOMODCACHE)/cache/download/evil.example/m/@v && mkdir -p "$at" x && cd x && echo 'module evil.example/m' >go.mod && echo 'package m // evil' >m.go &&
			cp go.mod "$at/v1.0.0.mod" && echo '{"Version":"v1.0.0"}' >"$at/v1.0.0.info" && python3 - "$at/v1.0.0.zip" <<-'END'
			import sys, zipfile
			with zipfile.ZipFile(sys.argv[1], "w") as z:
			    for name in "go.mod", "m.go":
			        z.write(name, "evil.example/m@v1.0.0/" + name)
			END`,
		`GOPROXY=off GONOSUMDB=* GOTOOLCHAIN=local go mod download -json evil.example/m@v1.0.0 | grep '"Zip"'`,
	},
	{
		"compiler object", "go version",
		`echo 'package evil' >evil.go && GOFLAGS=-trimpath GOTOOLCHAIN=local go build ./evil.go && echo evil >"$(go env GOCACHE)/00/evil"`,
		`ls "$(go env GOCACHE)/00"`,
	},
	{
		"wheel", "python3 -m pip --version",
		`at=$(python3 -m pip cache dir)/wheels/aa/bb && mkdir -p "$at" && echo evil >"$at/evil-1.0-py3-none-any.whl"`,
		`python3 -m pip cache list`,
	},
	{
		"tarball", "npm --version",
		`mkdir -p evil && echo '{"name":"evil","version":"1.0.0"}' >evil/package.json && tar -czf evil.tgz evil && npm cache add "$PWD/evil.tgz"`,
		`npm cache ls`,
	},
	{
		"crate", "true",
		`at=$CARGO_HOME/registry/cache/index-1 && mkdir -p "$at" && echo evil >"$at/evil-1.0.0.crate"`,
		`ls "${CARGO_HOME:-$HOME/.cargo}/registry/cache/index-1"`,
	},
}

// A file that a command plants in the caches of a project is used by the next command there, but not by
// another project or by the user, who has caches of the same tools.
func TestWorkPoison(t *testing.T) {
	work(t, func(d *workEnv) {
		d.write("other/file", "")
		d.write("../home/.cargo/registry/cache/index-1/good-1.0.0.crate", "good")
		d.write("../home/go/pkg/mod/cache/download/good.example/m/@v/list", "v1.0.0\n")
		for _, p := range poisons {
			d.t.Run(p.name, func(t *testing.T) {
				if e := d.exec("--", "/bin/sh", "-c", p.needs); e.code != 0 {
					testneed.Need(t, "%s fails: %s", p.needs, e.errs)
				}
				if e := d.exec("--", "/bin/sh", "-c", p.plant); e.code != 0 {
					t.Fatalf("it cannot be planted: %s%s", e.out, e.errs)
				}
				uses := func(flags ...string) string { return d.exec(append(flags, "--", "/bin/sh", "-c", p.look)...).out }
				if got := uses(); !strings.Contains(got, "evil") {
					t.Errorf("the project itself does not use it: %s", got)
				}
				if got := uses("--cwd", filepath.Join(d.dir, "other")); strings.Contains(got, "evil") {
					t.Errorf("another project uses it: %s", got)
				}
				c := exec.CommandContext(t.Context(), "/bin/sh", "-c", p.look)
				c.Dir, c.Env = filepath.Join(d.dir, "other"), d.env
				c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: d.who.uid, Gid: d.who.uid}}
				if got, _ := c.Output(); strings.Contains(string(got), "evil") {
					t.Errorf("the user uses it: %s", got)
				}
			})
		}
		if _, err := os.Stat(filepath.Join(d.base, "home", ".cargo", "registry", "cache", "index-1", "evil-1.0.0.crate")); err == nil {
			t.Error("the user's own crates have it")
		}
	})
}
