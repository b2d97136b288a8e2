package workspace

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// slugPattern is the pattern of an earlier program, with its error corrected.
var slugPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?\z`)

func TestCheckSlug(t *testing.T) {
	long := strings.Repeat("a", maxSlugBytes)
	for slug, want := range map[string]bool{
		"a": true, "0": true, "ab": true, "a-b": true, "a--b": true, "0-9": true, "my-project-2": true, long: true,
		"": false, "-": false, "--": false, "-a": false, "a-": false, "A": false, "aB": false, "a_b": false, "a.b": false,
		".": false, "..": false, ".a": false, "a/b": false, "/": false, "a\\b": false, "a b": false, " a": false, "a ": false,
		"a\n": false, "\na": false, "a\nb": false, "a\x00": false, "a\r": false, "é": false, "ａ": false, "a\xff": false,
		"a\u200b": false, "%61": false, "~": false, "con:": false, long + "a": false, "*": false, "a,b": false,
	} {
		err := CheckSlug(slug)
		if (err == nil) != want {
			t.Errorf("CheckSlug(%q) = %v", slug, err)
		}
		if err == nil {
			continue
		}
		e, ok := errors.AsType[*Error](err)
		if !errors.Is(err, ErrInvalidSlug) || !ok || e.Hint() == "" || outcome.FromError(err).Code != outcome.Usage.Code {
			t.Errorf("%q: %v, hint %q, outcome %v", slug, err, outcome.Hint(err), outcome.FromError(err))
		}
		if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
			t.Errorf("the error of %q is not printable: %q", slug, err)
		}
	}
}

func FuzzCheckSlug(f *testing.F) {
	for _, s := range []string{"a", "a-b", "a\n", "-", strings.Repeat("a", 64)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := slugPattern.MatchString(s) && len(s) <= maxSlugBytes
		if got := CheckSlug(s) == nil; got != want {
			t.Errorf("%q: %v, want %v", s, got, want)
		}
	})
}
