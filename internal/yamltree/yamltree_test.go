package yamltree_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/yamltree"
)

func TestParse(t *testing.T) {
	n, err := yamltree.Parse([]byte("name: ñ # that\nlist:\n  - &a {x: 1}\n  - *a\nmore: {<<: *a, y: yes}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := n.Field("name"); got.Kind != jsontree.Text || got.Text != "ñ" || got.At != 6 {
		t.Errorf("%+v", got)
	}
	if got := n.Field("list"); got.Kind != jsontree.List || len(got.Items) != 2 || got.Items[1].Field("x").Text != "1" {
		t.Errorf("%+v", got)
	}
	if got := n.Field("more"); got.Field("x").Text != "1" || got.Field("y").Text != "yes" {
		t.Errorf("%+v", got)
	}
}

func TestErrorPositions(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"a: [", "1:4"},
		{"a: 1\na: 2\n", `2:1: not YAML: mapping key "a" already`},
		{"é: *none\n", `1:4: unknown anchor "none"`},
		{"a: !!map {}\n", "1:4: tag !!map: tags are not supported"},
		{"1: 2\n", "1:1: a key must be a text"},
		{"a: 1\n<<: [1]\n", "2:1: << takes an object"},
		{"a: 1\n---\nb: 2\n", "0:0: the file has 2 documents"},
		{"", "0:0: the file is empty"},
		{"a: \xff\n", "0:0: not UTF-8"},
	} {
		_, err := yamltree.Parse([]byte(tt.in))
		if got := placed(tt.in, err); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%q: %s, want %s", tt.in, got, tt.want)
		}
	}
}

func placed(in string, err error) string {
	e, ok := errors.AsType[*yamltree.Error](err)
	if !ok {
		return fmt.Sprint(err)
	}
	line, column := yamltree.Position([]byte(in), e.Offset)
	return fmt.Sprintf("%d:%d: %s", line, column, e.Detail)
}

func TestLimits(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		alias := fmt.Sprintf("*a%d, ", i)
		fmt.Fprintf(&laughs, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(alias, 8), ", "))
	}
	for name, in := range map[string]string{
		"aliases": laughs.String(), "brackets": strings.Repeat("[", 5000), "dashes": strings.Repeat("- ", 4000) + "x",
		"braces": strings.Repeat("{a: ", 500), "long": strings.Repeat("- v\n", 20_000),
	} {
		if _, err := yamltree.Parse([]byte(in)); err == nil || len(err.Error()) > 200 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct {
		name, in, front, body string
		has                   bool
	}{
		{"none", "# Title\n---\nno: front\n---\n", "", "# Title\n---\nno: front\n---\n", false},
		{"empty file", "", "", "", false},
		{"some", "---\nname: a\n---\nbody\n", "a", "body\n", true},
		{"windows", "---\r\nname: a\r\n---\r\nbody\r\n", "a", "body\r\n", true},
		{"byte order mark", "\ufeff---\nname: a\n---\nbody", "a", "body", true},
		{"spaces behind", "--- \nname: a\n---\t\nbody", "a", "body", true},
		{"rule in the body", "---\nname: a\n---\nx\n---\ny", "a", "x\n---\ny", true},
		{"no body", "---\nname: a\n---", "a", "", true},
		{"nothing in it", "---\n---\nbody", "", "body", true},
		{"comments", "---\n# what\n\n---\nbody", "", "body", true},
		{"dashes in a text", "---\nname: |\n  a\n  ---\n---\nbody", "", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := yamltree.Split([]byte(tt.in))
			if tt.name == "dashes in a text" {
				if err != nil || got.Front.Field("name").Text != "a\n---\n" {
					t.Errorf("%+v %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			name := got.Front.Field("name").Text
			if name != tt.front || got.Body != tt.body || got.HasFrontMatter != tt.has || got.Front.Kind != jsontree.Object {
				t.Errorf("%+v", got)
			}
			if tt.in[got.BodyAt:] != tt.body {
				t.Errorf("the body is at %d", got.BodyAt)
			}
		})
	}
}

func TestSplitErrorPositions(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"---\nname: a\n", "1:1: the front matter does not end"},
		{"---\nname: a\nname: b\n---\n", `3:1: not YAML: mapping key "name" already`},
		{"\ufeff---\né: !!map {}\n---\n", "2:4: tag !!map"},
		{"---\n- a\n---\n", "2:1: the front matter must be an object, not a list"},
		{"---\n\nname: *b\n---\n", "3:7: unknown anchor"},
		{"---\nx: \"\n---\n", "2:4"},
		{"---\nabout: Use it: always\n---\n", "2:8: not YAML: mapping value is not allowed in this context"},
		{"---\nx: " + strings.Repeat("y", 70_000) + "\n---\n", "2:1: the front matter is larger"},
		{"\xff", "0:0: not UTF-8"},
	} {
		_, err := yamltree.Split([]byte(tt.in))
		if got := placed(tt.in, err); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%.60q: %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestColonInTextHint(t *testing.T) {
	_, err := yamltree.Split([]byte("---\nabout: Use it: always\n---\n"))
	if e, ok := errors.AsType[*yamltree.Error](err); !ok || !strings.Contains(e.Hint, "in quotes") {
		t.Errorf("%#v", err)
	}
}

// Other programs read such a line, and people write it.
func TestColonInProse(t *testing.T) {
	for in, want := range map[string]string{
		"description: Use it when: somebody asks":                          "Use it when: somebody asks",
		"description: Use it when: xxxx: x\r":                              "Use it when: xxxx: x",
		"description: Für: Äpfel # a comment":                              "Für: Äpfel",
		"description: Use it when:":                                        "Use it when:",
		"when_to_use: a: b\ndescription: c: d":                             "c: d",
		"description: one: two\n  three":                                   "one: two three",
		"description: |\n  one: two":                                       "one: two",
		"description: 'one: two'":                                          "one: two",
		"description: see https://example.org:80/x":                        "see https://example.org:80/x",
		"description: a \"quoted\": word":                                  `a "quoted": word`,
		"name: x\ndescription: one: two\nallowed-tools: [Read, Bash(x:*)]": "one: two",
	} {
		text := "---\n" + in + "\nlast: at\n---\nbody"
		got, err := yamltree.Split([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if said := strings.TrimSpace(got.Front.Field("description").Text); said != want {
			t.Errorf("%q: got %q, want %q", in, said, want)
		}
		if at := got.Front.Field("last").At; text[at:at+2] != "at" {
			t.Errorf("%q: the offset %d is not that of its value", in, at)
		}
	}
	for _, in := range []string{"description: 'a: b", "description: {a: b: c", "description: a: b\nname: c: d", "description: a: b\n\tx: y", "- description: a: b"} {
		if got, err := yamltree.Split([]byte("---\n" + in + "\n---\n")); err == nil {
			t.Errorf("%q: taken as %+v", in, got.Front)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, in := range []string{
		"---\nname: a\n---\nbody", "\ufeff---\r\n# c\r\n---\r\n", "---\na: &x [1]\nb: {<<: *x}\n---\n", "---\n---", "---\nx: |\n  ---\n---\n", "---\n? [a]\n: b\n---\n",
	} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := yamltree.Split(in)
		if err != nil {
			e, ok := errors.AsType[*yamltree.Error](err)
			if !ok || e.Detail == "" || e.Offset > len(in) {
				t.Fatalf("%#v", err)
			}
			return
		}
		if got.Front.Kind != jsontree.Object || string(in[got.BodyAt:]) != got.Body {
			t.Fatalf("%+v", got)
		}
		within(t, &got.Front, len(in))
	})
}

func within(t *testing.T, n *jsontree.Node, size int) {
	if n.At > size {
		t.Fatalf("a value at %d of %d", n.At, size)
	}
	for i := range n.Members {
		within(t, &n.Members[i].Value, size)
	}
	for i := range n.Items {
		within(t, &n.Items[i], size)
	}
}
