package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // the formats
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const (
	homepage    = "https://github.com/holdfast-dev/holdfast"
	maintainer  = "Holdfast maintainers <holdfast-dev@users.noreply.github.com>"
	summary     = "agents that remember, ask first and cannot step outside"
	description = summary + "\nRuns AI agents with sessions that survive a crash, permission rules and\napprovals for their actions, and kernel-confined commands."
)

// copyright is the copyright file in Debian's format.
const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: holdfast
Source: ` + homepage + `

Files: *
Copyright: 2026 The Holdfast Authors
License: Apache-2.0
 On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.
 .
 The program contains modules of others. Their licences are in
 /usr/share/doc/holdfast/THIRD_PARTY_NOTICES.txt.
`

// packageFiles are the files of a package by their path.
func (r *release) packageFiles(b *build, texts map[string][]byte, format string) (map[string][]byte, error) {
	page, err := gzipped(texts["man/holdfast.1"])
	if err != nil {
		return nil, err
	}
	unit := texts["systemd/holdfast.service"]
	const start = "ExecStart=%h/.local/bin/holdfast " // of a manual installation
	if !bytes.Contains(unit, []byte(start)) {
		return nil, errors.New("holdfast.service has no line " + start)
	}
	unit = bytes.Replace(unit, []byte(start), []byte("ExecStart=/usr/bin/holdfast "), 1)
	in := map[string][]byte{
		"/usr/bin/holdfast":                                    b.program,
		"/usr/lib/systemd/user/holdfast.service":               unit,
		"/usr/lib/systemd/user/holdfast.socket":                texts["systemd/holdfast.socket"],
		"/usr/share/man/man1/holdfast.1.gz":                    page,
		"/usr/share/bash-completion/completions/holdfast":      texts["completions/holdfast.bash"],
		"/usr/share/fish/vendor_completions.d/holdfast.fish":   texts["completions/holdfast.fish"],
		"/usr/share/zsh/site-functions/_holdfast":              texts["completions/_holdfast"],
		"/usr/share/licenses/holdfast/LICENSE":                 texts["LICENSE"],
		"/usr/share/licenses/holdfast/THIRD_PARTY_NOTICES.txt": b.notices,
	}
	if format == "deb" {
		if in["/usr/share/doc/holdfast/changelog.gz"], err = gzipped(texts["CHANGELOG.md"]); err != nil {
			return nil, err
		}
		in["/usr/share/doc/holdfast/copyright"] = []byte(copyright)
		in["/usr/share/doc/holdfast/THIRD_PARTY_NOTICES.txt"] = b.notices
		in["/usr/share/zsh/vendor-completions/_holdfast"] = texts["completions/_holdfast"]
		for _, elsewhere := range []string{"zsh/site-functions/_holdfast", "licenses/holdfast/LICENSE", "licenses/holdfast/THIRD_PARTY_NOTICES.txt"} {
			delete(in, "/usr/share/"+elsewhere)
		}
	}
	return in, nil
}

var digits = regexp.MustCompile(`\d+`)

// apkVersion converts a version to the order of apk-tools: 1.0.0_rc1 before 1.0.0. A pre-release
// that is not alpha, beta or rc is named pre, followed by its first number.
func apkVersion(version string) string {
	core, pre, ok := strings.Cut(version, "-")
	if !ok {
		return core
	}
	kind, _, _ := strings.Cut(pre, ".")
	if kind = strings.TrimRight(kind, "0123456789"); !slices.Contains([]string{"alpha", "beta", "rc"}, kind) {
		kind = "pre"
	}
	return core + "_" + kind + digits.FindString(pre)
}

// writePackages writes the deb, rpm and apk of a build.
func (r *release) writePackages(b *build, texts map[string][]byte) error {
	for _, format := range []string{"deb", "rpm", "apk"} {
		in, err := r.packageFiles(b, texts, format)
		if err != nil {
			return err
		}
		stage := filepath.Join(r.work, "stage", format+"_"+b.Arch)
		var contents files.Contents
		for _, at := range slices.Sorted(maps.Keys(in)) {
			from := filepath.Join(stage, at)
			if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(from, in[at], 0o644); err != nil {
				return err
			}
			mode := fs.FileMode(0o644)
			if at == "/usr/bin/holdfast" {
				mode = 0o755
			}
			contents = append(contents, &files.Content{Source: from, Destination: at, FileInfo: &files.ContentFileInfo{Mode: mode, MTime: r.Time, Owner: "root", Group: "root"}})
		}
		for _, dir := range []string{"/usr/share/doc/holdfast", "/usr/share/licenses/holdfast"} {
			if slices.ContainsFunc(contents, func(c *files.Content) bool { return strings.HasPrefix(c.Destination, dir+"/") }) {
				contents = append(contents, &files.Content{Destination: dir, Type: files.TypeDir, FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.Time, Owner: "root", Group: "root"}})
			}
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "holdfast", Arch: b.Arch, Platform: b.OS, Version: r.Version, VersionSchema: "semver",
			Section: "devel", Priority: "optional", Maintainer: maintainer, Description: description, Vendor: "Holdfast",
			Homepage: homepage, License: "Apache-2.0", MTime: r.Time, DisableGlobbing: true,
			Overridables: nfpm.Overridables{
				Contents: contents, Umask: 0o022,
				RPM: nfpm.RPM{Summary: summary, BuildHost: "localhost", Packager: maintainer},
				Deb: nfpm.Deb{Compression: "xz"},
			},
		})
		if format == "apk" { // apk has no recommendations
			info.Version, info.Prerelease, info.Description = apkVersion(r.Version), "", summary
		} else {
			info.Recommends = []string{"ca-certificates", "git"}
		}
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		if err := nfpm.PrepareForPackager(info, format); err != nil {
			return err
		}
		var out bytes.Buffer
		if err := packager.Package(info, &out); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
		if err := r.write(r.name(b.target, "."+format), out.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
