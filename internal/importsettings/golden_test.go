package importsettings_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/holdfast-dev/holdfast/internal/importsettings"
)

// TestReadGolden translates the files of testdata. The first line of each names the
// program and the kind of file; "in" is that file, "settings" what becomes of it, and
// "left" the keys without an equal, quiet ones in brackets.
func TestReadGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(a.Comment), "\n")
			program, kind, _ := strings.Cut(first, " ")
			part := map[string][]byte{}
			for _, f := range a.Files {
				part[f.Name] = bytes.TrimSpace(f.Data)
			}
			f, err := importsettings.Read(importsettings.Program(program), importsettings.Kind(kind), part["in"])
			if err != nil {
				t.Fatal(err)
			}
			if !sameJSON(t, f.JSON, part["settings"]) {
				t.Errorf("the settings are\n%s\nwant\n%s", f.JSON, part["settings"])
			}
			if got := unsupportedKeys(f); got != string(part["left"]) {
				t.Errorf("left\n%s\nwant\n%s", got, part["left"])
			}
			checkNotices(t, f, string(part["in"]))
		})
	}
}

// checkNotices checks that what has no equal says why, and where it is.
func checkNotices(t *testing.T, f *importsettings.File, in string) {
	t.Helper()
	for _, n := range f.Unsupported {
		if n.Key == "" || n.Reason == "" {
			t.Errorf("a notice without a key or a reason: %+v", n)
		}
		if n.Line < 1 || n.Line > strings.Count(in, "\n")+1 {
			t.Errorf("%s is in line %d of %d", n.Key, n.Line, strings.Count(in, "\n")+1)
		}
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var x, y any
	for text, v := range map[*[]byte]any{&a: &x, &b: &y} {
		if err := json.Unmarshal(*text, v); err != nil {
			t.Fatalf("%v in %s", err, *text)
		}
	}
	return reflect.DeepEqual(x, y)
}

// A file of one program that another wrote is translated or rejected, and never read
// as one that allows more than it says.
func TestReadOfAnotherProgramAllowsNothing(t *testing.T) {
	for _, text := range []string{
		`{"permissions": "allow"}`, `{"permission": 1}`, `{"tools": "allow"}`, `{"mcpServers": []}`, `{"mcp": "x"}`, `{"permission": {"bash": []}}`,
		`{"tools": {"allowed": {"a": 1}}}`, `{"permission": {"bash": {"ls": 1}}}`, `{"allowedTools": [1, null]}`, `{"tools": {"allowed": [[]]}}`,
		`{"permission": {"bash": {"ls": null}}}`, `null`, `"x"`, `1`, `true`, `[]`, `[{"permission": "allow"}]`,
	} {
		for _, p := range []importsettings.Program{importsettings.Claude, importsettings.Gemini, importsettings.OpenCode} {
			f, err := importsettings.Read(p, importsettings.Settings, []byte(text))
			if err == nil && strings.Contains(string(f.JSON), `"allow"`) {
				t.Errorf("%s reads %s as %s", p, text, f.JSON)
			}
		}
	}
}
