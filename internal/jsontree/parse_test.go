package jsontree

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// plain is a node as encoding/json would have it.
func plain(n *Node) any {
	switch n.Kind {
	case Object:
		m := map[string]any{}
		for i := range n.Members {
			m[n.Members[i].Key] = plain(&n.Members[i].Value)
		}
		return m
	case List:
		l := []any{}
		for i := range n.Items {
			l = append(l, plain(&n.Items[i]))
		}
		return l
	case Text:
		return n.Text
	case Number:
		return json.Number(n.Text)
	case Bool:
		return n.Text == "true"
	case Null:
	}
	return nil
}

// sameAsJSON compares a parsed text with what encoding/json makes of it.
func sameAsJSON(t *testing.T, source string, n *Node) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(source))
	dec.UseNumber()
	var want any
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if got := plain(n); !reflect.DeepEqual(got, want) {
		t.Errorf("%s\nis read as %v", source, got)
	}
	checkPositions(t, source, n)
}

// checkPositions checks that each node has the right position.
func checkPositions(t *testing.T, source string, n *Node) {
	t.Helper()
	if n.At < 0 || n.End > len(source) || n.At >= n.End || !json.Valid([]byte(source[n.At:n.End])) {
		t.Fatalf("%s at %d to %d is not there", n.Kind, n.At, n.End)
	}
	for i := range n.Members {
		var key string
		m := &n.Members[i]
		if err := json.NewDecoder(strings.NewReader(source[m.At:])).Decode(&key); err != nil || key != m.Key {
			t.Errorf("key %q is not at %d", m.Key, m.At)
		}
		if n.Field(m.Key) != &m.Value {
			t.Errorf("key %q is not found", m.Key)
		}
		checkPositions(t, source, &m.Value)
	}
	for i := range n.Items {
		checkPositions(t, source, &n.Items[i])
	}
}

func TestParse(t *testing.T) {
	for _, text := range []string{
		`{}`, ` [ ] `, `"x"`, `-1.5e3`, `true`, ` null`,
		"{\"a\": [1, {\"b\" : \"c\\n\"} ,true],\n\t\"\": null, \"\\u0061b\": {}}",
		`{"nested": {"list": [[], [[]], {"x": {}}]}, "text": "a,:]}"}`,
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth),
	} {
		n, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		sameAsJSON(t, text, &n)
	}
}

func TestParseErrors(t *testing.T) {
	deep := strings.Repeat(`{"a":`, maxDepth)
	for _, tt := range []struct {
		text   string
		offset int
		what   string
		hint   string
	}{
		{"", 0, "not JSON: unexpected end", ""},
		{"{", 0, "not JSON: unexpected end", ""},
		{`{"a": 1,}`, 8, "not JSON: invalid character '}'", ""},
		{`{"a" 1}`, 5, "not JSON", ""},
		{"1 2", 2, "not JSON", ""},
		{"{} // x", 3, "not JSON", ""},
		{"'a'", 0, "not JSON", ""},
		{"NaN", 0, "not JSON", ""},
		{"\ufeff{}", 0, "not JSON", ""},
		{"\"\xff\"", 1, "not UTF-8", "save the file as UTF-8"},
		{`["\ud800 \ufffd"]`, 1, "the text contains half of a surrogate pair (U+FFFD)", "write the character itself"},
		{`["\\ufffd\ud800"]`, 1, "the text contains half of a surrogate pair (U+FFFD)", "write the character itself"},
		{`["\ud800"]`, 1, "the text contains half of a surrogate pair (U+FFFD)", "write the character itself"},
		{`{"a": 1, "a": 2}`, 9, `duplicate key "a"`, "keep one of them"},
		{`{"a": 1, "\u0061": 2}`, 9, `duplicate key "a"`, "keep one of them"},
		{`{"x": {"a": 1, "a": 1}}`, 15, `duplicate key "a"`, "keep one of them"},
		{deep + "[]" + strings.Repeat("}", maxDepth), len(deep), "nested deeper than 64", ""},
	} {
		_, err := Parse([]byte(tt.text))
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Offset != tt.offset || !strings.HasPrefix(e.Error(), tt.what) || e.Hint != tt.hint {
			t.Errorf("%.40q: %+v", tt.text, err)
			continue
		}
		if _, ok := errors.AsType[*json.SyntaxError](err); ok != strings.HasPrefix(e.What, "not JSON") {
			t.Errorf("%.40q wraps %v", tt.text, e.Err)
		}
		if errors.Is(err, ErrDeep) != strings.HasPrefix(e.What, "nested") {
			t.Errorf("%.40q wraps %v", tt.text, e.Err)
		}
	}
}

func TestNode(t *testing.T) {
	n, err := Parse([]byte(`{"o": {"a": 1}, "l": [1], "t": "a\n` + strings.Repeat("x", 80) + `", "n": 1.50, "b": true, "z": null}`))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"o": "an object", "l": "a list", "t": `"a\n` + strings.Repeat("x", 58) + `"`, "n": "1.50", "b": "true", "z": "null",
	} {
		if got := n.Field(key).Show(); got != want {
			t.Errorf("%s is shown as %s, want %s", key, got, want)
		}
	}
	if n.Field("none") != &n || n.Field("n").Field("none") != n.Field("n") {
		t.Error("a field that is not there is found elsewhere than at the node")
	}
}

// FuzzParse checks that accepted texts equal those of encoding/json with the right positions,
// and that errors have a position.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "{}", " [1, -2.5e1]", `{"a": {"b": [null, true, "c\u00e4"]}}`, `{"a": 1, "a": 2}`, `{"a": "\ud800"}`, "{\"\xff\": 1}", "{} //"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		n, err := Parse([]byte(source))
		if err == nil {
			sameAsJSON(t, source, &n)
		} else if e, ok := errors.AsType[*Error](err); !ok || e.Offset < 0 || e.Offset > len(source) || e.What == "" {
			t.Errorf("%+v has no place", err)
		}
	})
}

// A text may itself contain U+FFFD.
func TestParseReplacementCharacter(t *testing.T) {
	for _, text := range []string{"\"a\ufffdb\"", `"a\ufffdb"`, `"a\uFFFDb"`} {
		if n, err := Parse([]byte(text)); err != nil || n.Text != "a\ufffdb" {
			t.Errorf("%s: %q, %v", text, n.Text, err)
		}
	}
}
