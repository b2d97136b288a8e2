package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// source is the commit that is released.
type source struct {
	Version string // without v
	Tag     string // none for a snapshot
	Commit  string // the full hash, with the suffix -dirty if files differ
	Time    time.Time
}

var (
	tagName  = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)
	nextLine = regexp.MustCompile(`(?m)^const next = "([^"]+)"$`)
)

// readSource reads the commit and the tag of the checkout from git.
func readSource(ctx context.Context, root string) (*source, error) {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w", args[0], err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	commit, err := git("rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	seconds, err := git("log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	changes, err := git("status", "--porcelain")
	if err != nil {
		return nil, err
	}
	tags, err := git("tag", "--points-at", "HEAD")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "internal", "version", "version.go"))
	if err != nil {
		return nil, err
	}
	next := nextLine.FindSubmatch(text)
	if next == nil {
		return nil, fmt.Errorf("no next version in internal/version/version.go")
	}
	return newSource(commit, time.Unix(unix, 0).UTC(), strings.Fields(tags), changes != "", string(next[1]))
}

// newSource decides what is made: a release if all files are committed and the commit has a tag, otherwise a
// snapshot of the next release.
func newSource(commit string, at time.Time, tags []string, changed bool, next string) (*source, error) {
	s := &source{Commit: commit, Time: at}
	for _, tag := range tags {
		switch {
		case changed || !tagName.MatchString(tag):
		case s.Tag != "":
			return nil, fmt.Errorf("the commit has two versions, %s and %s", s.Tag, tag)
		default:
			s.Tag, s.Version = tag, tag[1:]
		}
	}
	if s.Tag == "" {
		s.Version = next + "-dev." + at.Format("20060102150405") + ".g" + commit[:8]
		if changed {
			s.Version += ".dirty"
			s.Commit += "-dirty"
		}
	}
	return s, nil
}
