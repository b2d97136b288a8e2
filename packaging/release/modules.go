package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// module is a linked module, with its license texts.
type module struct {
	Path, Version string
	Source        string // the URL of its source
	Licence       string // an SPDX expression
	Texts         []text // its licenses and notices; those of the top folder come first
}

type text struct {
	Name string // the path of the file within the module
	Data []byte
}

// textFile matches the names of files with a license or a notice, and otherFile the names of files
// that are not text for people.
var (
	textFile  = regexp.MustCompile(`(?i)^((un)?licen[cs]e|copying|notice|copyright|patents)s?([._-].*)?$`)
	otherFile = regexp.MustCompile(`(?i)\.(go|s|json|ya?ml|mod|sum|html|tmpl|py|sh)$`)
)

// describe reads the modules linked into a build, with their licenses and notices.
func (r *release) describe(ctx context.Context, b *build) error {
	folders, err := r.linkedFolders(ctx, b.target)
	if err != nil {
		return err
	}
	roots, err := r.moduleFolders(ctx, b)
	if err != nil {
		return err
	}
	add := func(m module, root string, folders []string) error {
		if root == "" {
			return fmt.Errorf("%s is linked into the program, but is not in the module cache", m.Path)
		}
		if m.Texts, err = readTexts(root, folders); err != nil {
			return err
		}
		m.Licence, err = expression(m.Texts)
		if err != nil {
			return fmt.Errorf("%s %s: %w", m.Path, m.Version, err)
		}
		b.modules = append(b.modules, m)
		return nil
	}
	main := module{Path: b.info.Main.Path, Version: "v" + r.Version, Source: "https://" + b.info.Main.Path}
	errs := []error{add(main, r.root, folders[main.Path])}
	for _, d := range b.info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		m := module{Path: d.Path, Version: d.Version, Source: "https://proxy.golang.org/" + escape(d.Path) + "/@v/" + escape(d.Version) + ".zip"}
		errs = append(errs, add(m, roots[d.Path], folders[d.Path]))
	}
	std := module{Path: "std", Version: b.info.GoVersion, Source: "https://go.dev/dl/" + strings.Fields(b.info.GoVersion)[0] + ".src.tar.gz"}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	errs = append(errs, add(std, strings.TrimSpace(string(goroot)), nil))
	b.notices = notices(b, r.Version)
	return errors.Join(errs...)
}

// linkedFolders lists the folders of the packages in a build, by module.
func (r *release) linkedFolders(ctx context.Context, t target) (map[string][]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-trimpath", "-f", "{{with .Module}}{{.Path}}\t{{$.Dir}}{{end}}", "./cmd/holdfast")
	cmd.Dir, cmd.Env, cmd.Stderr = r.root, environment(t), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	folders := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		if path, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			folders[path] = append(folders[path], dir)
		}
	}
	return folders, nil
}

// moduleFolders finds the modules of a build in the module cache.
func (r *release) moduleFolders(ctx context.Context, b *build) (map[string]string, error) {
	args := []string{"mod", "download", "-json"}
	for _, d := range b.info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		args = append(args, d.Path+"@"+d.Version)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env, cmd.Stderr = r.root, environment(b.target), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go mod download: %w", err)
	}
	roots := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return roots, nil
		} else if err != nil {
			return nil, err
		}
		roots[m.Path] = m.Dir
	}
}

// readTexts reads the licenses and notices of a module: those of its root, and those of every
// folder between it and a linked package. A folder named vendor below such a package contains other
// modules' files.
func readTexts(root string, packages []string) (texts []text, err error) {
	dirs := []string{root}
	for _, dir := range packages {
		vendored, err := filepath.Glob(filepath.Join(dir, "*", "vendor"))
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, vendored...)
		for ; len(dir) > len(root); dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !textFile.MatchString(e.Name()) || otherFile.MatchString(e.Name()) {
				continue
			}
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			name, err := filepath.Rel(root, filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			texts = append(texts, text{filepath.ToSlash(name), data})
		}
	}
	return texts, nil
}

// escape encodes a path or a version for the module proxy.
func escape(s string) string {
	var b strings.Builder
	for _, c := range s {
		if unicode.IsUpper(c) {
			b.WriteByte('!')
			c = unicode.ToLower(c)
		}
		b.WriteRune(c)
	}
	return b.String()
}
