package image

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// download gets a package with npm. It uses this user's npm settings for the registry and the
// proxy. It runs no script of the package and ignores the settings of the current folder.
func (b *build) download(ctx context.Context, t *npmAgent, file string) error {
	spec := t.spec(t.version, nodeCPU[b.arch])
	fail := func(why, hint string) error {
		return &Error{Op: "download package", Name: spec, Err: ErrPackage, Detail: why, Advice: hint}
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fail("npm is not on the PATH", "install npm, or save the package as "+file)
	}
	b.progress(Progress{Stage: Package, Text: "npm downloads " + spec})
	dir := filepath.Join(b.lock.dir, t.name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return &Error{Op: "download package", Name: spec, Err: err}
	}
	cmd := exec.CommandContext(ctx, npm, "pack", "--json", "--loglevel=error", "--ignore-scripts", "--pack-destination="+dir, "--", spec)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return &Error{Op: "download package", Name: spec, Err: ctx.Err()}
	}
	if err != nil {
		return fail(firstNonEmpty(npmError(out), strings.TrimSpace(stderr.String()), err.Error()), "check the registry with npm ping")
	}
	list, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(list) != 1 {
		return fail("npm did not create exactly one file", "")
	}
	if err := t.check(list[0], b.arch); err != nil {
		return err
	}
	if err := os.Rename(list[0], file); err == nil {
		return nil
	} else if !errors.Is(err, os.ErrExist) {
		return &Error{Op: "download package", Name: spec, Err: err}
	}
	return nil
}

// npmError returns the error message in the output of npm.
func npmError(out []byte) string {
	var report struct {
		Error struct{ Code, Summary string }
	}
	if json.Unmarshal(out, &report) != nil || report.Error.Summary == "" {
		return ""
	}
	return report.Error.Code + ": " + strings.Join(strings.Fields(report.Error.Summary), " ")
}

func firstNonEmpty(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
