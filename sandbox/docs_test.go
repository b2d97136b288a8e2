package sandbox

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/reference/sandbox.md names every setting, Holdfast's and Claude Code's, and its examples can be
// decoded.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../docs/reference/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	holdfast, claude, _ := strings.Cut(text, "\n## Claude Code's block\n")
	for _, typ := range []reflect.Type{reflect.TypeFor[Settings](), reflect.TypeFor[Network](), reflect.TypeFor[Limits]()} {
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !strings.Contains(holdfast, "`"+name+"`") {
				t.Errorf("%s is not in the tables", name)
			}
		}
	}
	d := &decoder{setBy: map[string]string{}}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(d.claude(&Settings{}))), slices.Collect(maps.Keys(d.claudeNetwork(&Network{})))) {
		if !strings.Contains(claude, name) {
			t.Errorf("%s is not in Claude Code's table", name)
		}
	}
	examples := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(examples) < 2 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, m := range examples {
		var file struct{ Sandbox json.RawMessage }
		if err := json.Unmarshal([]byte(m[1]), &file); err != nil {
			t.Fatal(err)
		}
		block := []byte(m[1])
		if file.Sandbox != nil {
			block = file.Sandbox
		}
		s, err := decode(block)
		if err == nil {
			_, err = NewChecker(s, &Options{Home: "/home/u", Dir: "/p"})
		}
		if err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}
}
