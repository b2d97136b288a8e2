package settings

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// plain is a node as encoding/json would have it.
func plain(n node) any {
	switch n.kind {
	case kindObject:
		m := map[string]any{}
		for _, x := range n.members {
			m[x.key] = plain(x.value)
		}
		return m
	case kindList:
		l := []any{}
		for _, x := range n.items {
			l = append(l, plain(x))
		}
		return l
	case kindText:
		return n.text
	case kindNumber:
		return json.Number(n.text)
	case kindBool:
		return n.text == "true"
	case kindNull:
	}
	return nil
}

// sameAsJSON compares a parsed text with what encoding/json makes of it.
func sameAsJSON(t *testing.T, source []byte, n node) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(source)))
	dec.UseNumber()
	var want any
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if got := plain(n); !reflect.DeepEqual(got, want) {
		t.Errorf("%s\nis read as %v", source, got)
	}
	places(t, source, &n)
}

// places checks that each node stands where it says.
func places(t *testing.T, source []byte, n *node) {
	t.Helper()
	if n.at < 0 || n.end > len(source) || n.at >= n.end || !json.Valid(source[n.at:n.end]) {
		t.Fatalf("%s at %d to %d is not there", n.kind, n.at, n.end)
	}
	for i := range n.members {
		var key string
		m := &n.members[i]
		if err := json.NewDecoder(strings.NewReader(string(source[m.at:]))).Decode(&key); err != nil || key != m.key {
			t.Errorf("key %q is not at %d", m.key, m.at)
		}
		places(t, source, &m.value)
	}
	for i := range n.items {
		places(t, source, &n.items[i])
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{
		`{}`, ` [ ] `, `"x"`, `-1.5e3`, `true`, ` null`,
		"{\"a\": [1, {\"b\" : \"c\\n\"} ,true],\n\t\"\": null, \"\\u0061b\": {}}",
		`{"nested": {"list": [[], [[]], {"x": {}}]}, "text": "a,:]}"}`,
	} {
		n, err := parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		sameAsJSON(t, []byte(text), n)
	}
	for _, text := range []string{"", "{", `{"a": 1,}`, `{"a": 1, "a": 2}`, `{"a": 1, "\u0061": 2}`, `{"x": {"a": 1, "a": 1}}`, "1 2", "\ufeff{}", "'a'", `{"a" 1}`, "NaN", "\"\xff\""} {
		if n, err := parse([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, plain(n))
		} else if f, ok := errors.AsType[*fault](err); !ok || f.at < 0 || f.at > len(text) || f.Error() == "" {
			t.Errorf("%q: %v has no place", text, err)
		}
	}
}

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
		if at := n.find(field); !strings.HasPrefix(string(source[at:]), want) {
			t.Errorf("%q is found at %s, want %s", field, source[at:], want)
		}
	}
}

func TestKeyHint(t *testing.T) {
	known := map[string]bool{"allow": true, "defaultMode": true}
	for _, tt := range []struct{ path, key, want string }{
		{"permissions", "Allow", "write it as allow"},
		{"permissions", "defaultmode", "write it as defaultMode"},
		{"permissions", "autoMode", "take it out: "},
		{"", "env", "take it out: set variables in the shell"},
		{"permissions", "alow", "did you mean allow?"},
		{"", "forbidden", "move it into permissions"},
		{"permissions", "x", "known here: allow, defaultMode"},
	} {
		if got := keyHint(tt.path, tt.key, known); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s.%s: %q, want %q", tt.path, tt.key, got, tt.want)
		}
	}
	for _, key := range permissionKeys {
		s := decode(source{file: "f", dir: "/w", data: []byte(`{"permissions": {"` + key + `": 1}}`)})
		if len(s.problems) != 1 || strings.Contains(s.problems[0].What, "unknown key") {
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
