package image

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
)

// npmAgent is an agent in an npm package that contains a native program and does not need Node.
type npmAgent struct {
	name    string
	version string
	// spec returns the package for a version and a processor in Node's notation.
	spec func(version, cpu string) string
	// pinned are the digests of the package of the tested version, by processor in Go's notation.
	// For other versions the digest comes from npm.
	pinned map[string]string
	// target returns the path below /opt/NAME for a file of the package, or "" to omit the file.
	target  func(name string) string
	program string // path below /opt/NAME; /usr/local/bin/NAME is a link to it
	env     []string
}

// npmAgents are the agents. A version change also changes the digests, which are those of `npm view PACKAGE
// dist.integrity`, and the recorded conversations of the drivers.
var npmAgents = []npmAgent{{
	name:    "claude",
	version: "2.1.197",
	spec: func(version, cpu string) string {
		return "@anthropic-ai/claude-code-linux-" + cpu + "@" + version
	},
	pinned: map[string]string{
		"amd64": "sha512-rIlKmrY0QMyHgPRX/MYWNj039vbypICvI9jVe3rs9Xy2RnNklySjyPxqh62QadznzoftEO23uYQ1tFePcQ//bg==",
		"arm64": "sha512-sx6SoGj3MNR5CV+YDkNtbLHXa1tn3G8qcYFgm1gnvOi9ODQUKbhiPfankJfkTMDVekOvnKJhm6i9hGFIPzp7cQ==",
	},
	target: func(name string) string {
		if name == "claude" || name == "LICENSE.md" {
			return name
		}
		return ""
	},
	program: "claude",
	env:     []string{"DISABLE_AUTOUPDATER=1"}, // the image is read-only
}, {
	name:    "codex",
	version: "0.169.0",
	spec: func(version, cpu string) string {
		return "@openai/codex@" + version + "-linux-" + cpu
	},
	pinned: map[string]string{
		"amd64": "sha512-o05NyAOCDygSPRo1yinzxvkRSdmsZyBD9E7mbpmjRanSfM8lypqWtQgEo4XfNkwhuCR2aFu8mlGOsQGFXVbVww==",
		"arm64": "sha512-NZ/DaQUpcQmxmqee7Z9uC1rzw3GhSbooawcaTe1LN5Yk+WlinUKGdTXJgClRT/9ogQEEM9TWxYzvxPfj5G/xFg==",
	},
	target: func(name string) string {
		rest, ok := strings.CutPrefix(name, "vendor/")
		_, rest, below := strings.Cut(rest, "/")
		if !ok || !below || strings.HasPrefix(rest, "codex-resources/voice/") { // a container has no use for voice
			return ""
		}
		return rest
	},
	program: "bin/codex",
}}

// nodeCPU maps a processor to Node's notation.
var nodeCPU = map[string]string{"amd64": "x64", "arm64": "arm64"}

// The version becomes part of a package name for npm and must not contain anything else.
var versionPattern = lazyregexp.Must(`^[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(-[0-9A-Za-z.-]{1,64})?\z`)

// parseAgents parses the agents of a [Spec], sorted by name.
func parseAgents(with []string) ([]npmAgent, error) {
	var out []npmAgent
	for _, text := range with {
		name, version, named := strings.Cut(text, "@")
		i := slices.IndexFunc(npmAgents, func(t npmAgent) bool { return t.name == name })
		bad := func(why string) ([]npmAgent, error) {
			return nil, &Error{Op: "build image with", Name: text, Err: ErrInvalid, Detail: why}
		}
		switch {
		case i < 0:
			return bad("unknown agent: use claude or codex")
		case named && !versionPattern().MatchString(version):
			return bad("its version is not of the form 1.2.3")
		case slices.ContainsFunc(out, func(t npmAgent) bool { return t.name == name }):
			return bad("it is given twice")
		}
		t := npmAgents[i]
		if named && version != t.version {
			t.version, t.pinned = version, nil
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b npmAgent) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// PackageFile returns the file name of an agent's package in [Spec.Packages]; npm is not needed if the file
// exists. The arch is in Go's notation.
func PackageFile(name, version, arch string) string {
	return name + "-" + version + "-linux-" + arch + ".tgz"
}

func (b *build) packageFile(t *npmAgent) string {
	return filepath.Join(b.spec.Packages, PackageFile(t.name, t.version, b.arch))
}

// downloadAgents downloads the missing packages.
func (b *build) downloadAgents(ctx context.Context) error {
	for i := range b.agents {
		t := &b.agents[i]
		file := b.packageFile(t)
		_, err := os.Lstat(file)
		if errors.Is(err, os.ErrNotExist) {
			err = b.download(ctx, t, file)
		}
		if err == nil {
			err = t.check(file, b.arch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// check compares a package with its digest.
func (t *npmAgent) check(file, arch string) error {
	want := t.pinned[arch]
	if want == "" {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return &Error{Op: "read package", Err: err}
	}
	defer f.Close()
	digest := sha512.New()
	if _, err := io.Copy(digest, f); err != nil {
		return &Error{Op: "read package", Name: file, Err: err}
	}
	if got := "sha512-" + base64.StdEncoding.EncodeToString(digest.Sum(nil)); got != want {
		return &Error{
			Op: "read package", Name: file, Err: ErrPackage, Detail: "its digest is " + got + ", want " + want,
			Advice: "remove it unless you put it there; the next build downloads it again",
		}
	}
	return nil
}

// maxUnpacked is the maximum unpacked size of a package in bytes.
const maxUnpacked = 4 << 30

// writeAgents writes the agents' files below a folder of the build context.
func (b *build) writeAgents(t *tar.Writer, below string) error {
	above := []file{folder("opt", 0o755), folder("usr", 0o755), folder("usr/local", 0o755), folder("usr/local/bin", 0o755)}
	for i := range b.agents {
		name := b.agents[i].name
		above = append(above, folder("opt/"+name, 0o755), file{
			name: "usr/local/bin/" + name, typ: tar.TypeSymlink, mode: 0o777, link: "/opt/" + name + "/" + b.agents[i].program,
		})
	}
	for i := range above {
		if err := above[i].write(t, below, true); err != nil {
			return err
		}
	}
	for i := range b.agents {
		if err := b.writeAgent(t, &b.agents[i], below); err != nil {
			return err
		}
	}
	return nil
}

func (b *build) writeAgent(t *tar.Writer, l *npmAgent, below string) error {
	name := b.packageFile(l)
	f, err := os.Open(name)
	if err != nil {
		return &Error{Op: "read package", Err: err}
	}
	defer f.Close()
	found, made := false, map[string]bool{".": true}
	err = unpack(f, func(name string, mode, size int64, body io.Reader) error {
		at := l.target(name)
		if at == "" {
			return nil
		}
		found = found || at == l.program
		if err := writeFolders(t, path.Join(below, "opt", l.name), path.Dir(at), made); err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{
			Name: path.Join(below, "opt", l.name, at), Typeflag: tar.TypeReg, Mode: mode, Size: size, ModTime: time.Unix(0, 0),
		}); err != nil {
			return err
		}
		_, err := io.Copy(t, body)
		return err
	})
	if err == nil && !found {
		err = &Error{Op: "read package", Name: name, Err: ErrPackage, Detail: "it contains no program " + l.program}
	}
	return err
}

// writeFolders writes a folder and the parents that are missing, because an engine would create them
// with the current time.
func writeFolders(t *tar.Writer, below, dir string, made map[string]bool) error {
	if made[dir] {
		return nil
	}
	made[dir] = true
	if err := writeFolders(t, below, path.Dir(dir), made); err != nil {
		return err
	}
	f := folder(dir, 0o755)
	return f.write(t, below, true)
}

// unpack yields the files in a package one after the other. It accepts only regular files, as npm
// creates them, with names inside the package.
func unpack(r io.Reader, each func(name string, mode, size int64, body io.Reader) error) error {
	bad := func(err error) error { return &Error{Op: "read package", Err: ErrPackage, Detail: err.Error()} }
	z, err := gzip.NewReader(r)
	if err != nil {
		return bad(err)
	}
	total := int64(0)
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return bad(err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		_, name, ok := strings.Cut(path.Clean(h.Name), "/") // the first component is always the package's folder
		if h.Typeflag != tar.TypeReg || !ok || !filepath.IsLocal(h.Name) || h.Name != path.Clean(h.Name) || strings.Contains(h.Name, `\`) {
			return bad(fmt.Errorf("%q is not a file inside the package", h.Name))
		}
		if total += h.Size; total > maxUnpacked {
			return bad(fmt.Errorf("its unpacked size exceeds %d GB", maxUnpacked>>30))
		}
		mode := int64(0o644)
		if h.Mode&0o111 != 0 {
			mode = 0o755
		}
		if err := each(name, mode, h.Size, t); err != nil {
			return err
		}
	}
}
