package engine

import (
	"strings"
	"testing"
)

var sum = "sha256:" + strings.Repeat("0a", 32)

func TestReference(t *testing.T) {
	for _, tt := range []struct{ text, name, tag, digest string }{
		{"debian", "docker.io/library/debian", "", ""},
		{"debian:12", "docker.io/library/debian", "12", ""},
		{"me/app", "docker.io/me/app", "", ""},
		{"docker.io/debian:12", "docker.io/library/debian", "12", ""},
		{"index.docker.io/debian", "docker.io/library/debian", "", ""},
		{"index.docker.io/me/app:x", "docker.io/me/app", "x", ""},
		{"localhost/app", "localhost/app", "", ""},
		{"localhost:5000/app:1.0_a-b", "localhost:5000/app", "1.0_a-b", ""},
		{"GHCR.io/me/app", "GHCR.io/me/app", "", ""},
		{"Host/app", "Host/app", "", ""},
		{"[fe80::1]:5000/app:1", "[fe80::1]:5000/app", "1", ""},
		{"[fe80::1]/app", "[fe80::1]/app", "", ""},
		{"a.b-c.d:1/e__f/g---h/i.j", "a.b-c.d:1/e__f/g---h/i.j", "", ""},
		{"a__b.c/d", "a__b.c/d", "", ""}, // no host, but a valid name
		{"debian@" + sum, "docker.io/library/debian", "", sum},
		{"x.y/z:1@" + sum, "x.y/z", "1", sum},
		{"app@sha512:" + strings.Repeat("f", 128), "docker.io/library/app", "", "sha512:" + strings.Repeat("f", 128)},
		{strings.Repeat("a", 247), "docker.io/library/" + strings.Repeat("a", 247), "", ""},
		{"a:" + strings.Repeat("t", 128), "docker.io/library/a", strings.Repeat("t", 128), ""},
	} {
		if got, err := parseReference(tt.text); err != nil || got != (reference{tt.name, tt.tag, tt.digest}) {
			t.Errorf("%s: %+v, %v", tt.text, got, err)
		}
	}
}

func TestReferenceRefused(t *testing.T) {
	for text, why := range map[string]string{
		"": "is empty", ":1": "is empty", "@" + sum: "is empty", "docker.io/": "is empty",
		"Debian": "lower case", "me/App": "lower case", "É": "lower case",
		"a b": "is invalid", "a//b": "is invalid", "/a": "is invalid", "a/": "is invalid", "../a": "is invalid", "a..b": "is invalid",
		"a___b": "is invalid", "-a": "is invalid", "a-": "is invalid", "a._b": "is invalid", "é": "is invalid", "-h.x/a": "is invalid",
		"h:x/a": "is invalid", "h:/a": "is invalid", "[x]/a": "is invalid", "[]:1/a": "is invalid", "[::1/a": "is invalid",
		"a:": "tag", "a:-b": "tag", "a:.b": "tag", "a:b:c": "tag", "a:é": "tag", "a:" + strings.Repeat("t", 129): "tag", "a:\n": "tag",
		"a@": "digest", "a@sha256:00": "digest", "a@md5:" + strings.Repeat("0", 32): "digest", "a@" + strings.ToUpper(sum): "digest", "a@" + sum + "0": "digest", "a@b@c": "digest",
		strings.Repeat("a", 64): "is an image id", strings.Repeat("a", 248): "longer than 255",
	} {
		if got, err := parseReference(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %+v, %v; want %s", text, got, err, why)
		}
	}
}

func TestCheckSource(t *testing.T) {
	for text, want := range map[string]bool{"debian": true, sum: true, strings.Repeat("0", 64): true, "sha256:00": true /* a name and a tag */, "": false, "a b": false} {
		if err := checkSource(text); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzReference(f *testing.F) {
	for _, s := range []string{"debian", "x.y:1/a/b:t@" + sum, "[::1]/a", "A/b", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseReference(s)
		if err != nil {
			return
		}
		whole := r.name
		if r.tag != "" {
			whole += ":" + r.tag
		}
		if r.digest != "" {
			whole += "@" + r.digest
		}
		if again, err := parseReference(whole); err != nil || again != r {
			t.Errorf("%q is %+v, and read again %+v, %v", s, r, again, err)
		}
	})
}
