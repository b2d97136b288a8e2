package image

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

func TestSpec(t *testing.T) {
	for name, tt := range map[string]struct {
		spec Spec
		tags string
		bad  string
	}{
		"nothing":           {Spec{}, "holdfast/workspace:scratch holdfast/workspace:latest", ""},
		"debian":            {Spec{Variant: Debian, Agents: []string{"claude"}}, "holdfast/workspace:debian holdfast/workspace:latest", ""},
		"base":              {Spec{Variant: Debian, Base: "debian@sha256:abc", Tag: "a:1"}, "a:1", ""},
		"no tag in tag":     {Spec{Tag: "localhost:5000/a/b"}, "localhost:5000/a/b:latest", ""},
		"variant":           {Spec{Variant: "alpine"}, "", "unknown variant"},
		"upper case":        {Spec{Tag: "Mine"}, "", "is not an image name"},
		"option":            {Spec{Tag: "-x"}, "", "is not an image name"},
		"newline":           {Spec{Tag: "a:1\n"}, "", "is not an image name"},
		"dots":              {Spec{Tag: "../a"}, "", "is not an image name"},
		"digest":            {Spec{Tag: "a@sha256:abc"}, "", "is not an image name"},
		"scratch base":      {Spec{Base: "debian"}, "", "has no base"},
		"scratch with":      {Spec{Agents: []string{"claude"}}, "", "agents need a base system"},
		"scratch suite":     {Spec{Suite: "trixie"}, "", "apply only to the debian variant"},
		"base and suite":    {Spec{Variant: Debian, Base: "a", Suite: "trixie"}, "", "set them or a base, not both"},
		"base of two lines": {Spec{Variant: Debian, Base: "a\nRUN b"}, "", "is not an image name"},
		"base and more":     {Spec{Variant: Debian, Base: "a AS b"}, "", "is not an image name"},
		"suite":             {Spec{Variant: Debian, Suite: "--help"}, "", "is not a Debian suite"},
		"suite path":        {Spec{Variant: Debian, Suite: "../x"}, "", "is not a Debian suite"},
		"mirror":            {Spec{Variant: Debian, Mirror: "http://a/$(id)"}, "", "is not a Debian package address"},
		"mirror option":     {Spec{Variant: Debian, Mirror: "--x"}, "", "is not a Debian package address"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.spec.Folder = t.TempDir()
			s, err := tt.spec.complete()
			if tt.bad == "" {
				if err != nil || strings.Join(s.tags(), " ") != tt.tags {
					t.Errorf("%q, %v", s.tags(), err)
				}
				return
			}
			if f, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), tt.bad) || f.Outcome() != outcome.Usage {
				t.Errorf("%v", err)
			}
		})
	}
}

// The default folder is in the user's cache and only accessible to this user.
func TestSpecFolder(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	t.Setenv("LocalAppData", cache)
	s, err := Spec{}.complete()
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(cache, s.Packages)
	st, looked := os.Stat(s.Packages)
	if err != nil || looked != nil || !strings.HasSuffix(filepath.ToSlash(rel), "holdfast/images/packages") || st.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("%s, %v, %v", rel, err, looked)
	}
	if _, err := (Spec{Folder: filepath.Join(cache, "file", "x"), Packages: cache}).complete(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(cache, "taken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (Spec{Folder: filepath.Join(cache, "taken")}).complete(); err == nil {
		t.Error("a file as the folder")
	}
}

func TestProgress(t *testing.T) {
	for want, p := range map[string]Progress{
		"send 50 of 100 MB":        {Stage: Send, Bytes: 50e6, Total: 100e6},
		"send 50 MB":               {Stage: Send, Bytes: 50e6},
		"base: I: Retrieving libc": {Stage: Base, Text: "I: Retrieving libc"},
	} {
		if got := p.String(); !strings.HasPrefix(got, strings.SplitN(want, " ", 2)[0]) || !strings.HasSuffix(got, strings.SplitN(want, " ", 2)[1]) {
			t.Errorf("%q", got)
		}
	}
}

func TestCertificates(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if b, err := readCertificates(""); b != nil || err != nil {
		t.Error(b, err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "none",
		dir:                        "it is not a regular file",
		put("empty", ""):           "it contains no certificate",
		put("key", "-----BEGIN "+"PRIVATE KEY-----\nAAAA\n-----END "+"PRIVATE KEY-----\n"): "block 1 is a PRIVATE KEY",
		put("bad", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"):       "certificate 1",
	} {
		if _, err := readCertificates(path); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
