package settings

import (
	"strings"
	"testing"
)

func TestPosition(t *testing.T) {
	source := []byte("ab\n\nü\r\nc")
	for _, tt := range []struct{ at, line, col int }{
		{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 2, 1}, {4, 3, 1}, {6, 3, 3}, {8, 4, 1}, {9, 4, 2}, {99, 4, 2},
	} {
		if line, col := position(source, tt.at); line != tt.line || col != tt.col {
			t.Errorf("%d is at %d:%d, want %d:%d", tt.at, line, col, tt.line, tt.col)
		}
	}
}

func TestFind(t *testing.T) {
	source := []byte(`{"a": {"b": ["x", "y"], "c": 1}, "d": [1], "e": 2}`)
	n, err := parse(source)
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{
		"a": "{", "a.b": "[", "a.b[0]": `"x"`, "a.b[1]": `"y"`, "a.b[2]": "[", "a.b[x]": "[", "a.b[]": "[", "a.c": "1", "a.none": `{"b"`,
		"d[0]": "1]", "d.x": "[1", "e": "2", "e.x": "2", "none": `{"a"`, "": `{"a"`, "a.b[99999999999999999999]": "[",
	} {
		if at := find(&n, field); !strings.HasPrefix(string(source[at:]), want) {
			t.Errorf("%q is found at %s, want %s", field, source[at:], want)
		}
	}
}

func TestKeyHint(t *testing.T) {
	known := map[string]bool{"allow": true, "defaultMode": true}
	for _, tt := range []struct{ path, key, want string }{
		{"permissions", "Allow", "write it as allow"},
		{"permissions", "defaultmode", "write it as defaultMode"},
		{"permissions", "autoMode", "remove it: "},
		{"", "disableAutoMode", "remove it: write deny rules for what auto mode must not do"},
		{"permissions", "alow", "did you mean allow?"},
		{"", "forbidden", "move it into permissions"},
		{"permissions", "x", "the settings are allow, defaultMode"},
	} {
		if got := keyHint(tt.path, tt.key, known); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s.%s: %q, want %q", tt.path, tt.key, got, tt.want)
		}
	}
	for _, key := range permissionKeys {
		s := decode(source{file: "f", dir: "/w", data: []byte(`{"permissions": {"` + key + `": 1}}`)})
		if len(s.problems) != 1 || strings.Contains(s.problems[0].Detail, "unknown key") {
			t.Errorf("%s is no key: %v", key, s.problems)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"/a/b-c.json": "/a/b-c.json", "/a b": "'/a b'", "/it's": `'/it'\''s'`, "/$x": "'/$x'"} {
		if got := quote(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}
