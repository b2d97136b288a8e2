package settings

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/layernames"
)

// schemaOf reads the schema.
func schemaOf(t *testing.T) (*jsonschema.Schema, *jsonschema.Resolved) {
	t.Helper()
	s := &jsonschema.Schema{}
	if err := json.Unmarshal(Schema(), s); err != nil {
		t.Fatal(err)
	}
	if s.ID != SchemaID {
		t.Errorf("the schema is %s", s.ID)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// eachObject calls visit for each object of the schema that has keys of its own: around puts one into a document.
func eachObject(root, s *jsonschema.Schema, around func(any) any, visit func(s *jsonschema.Schema, around func(any) any)) {
	if s == nil {
		return
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		s = root.Defs[name]
	}
	for _, one := range s.OneOf {
		eachObject(root, one, around, visit)
	}
	eachObject(root, s.Items, func(v any) any { return around([]any{v}) }, visit)
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not == nil {
		eachObject(root, s.AdditionalProperties, func(v any) any { return around(map[string]any{"x/y": v}) }, visit)
	}
	if s.Properties == nil {
		return
	}
	visit(s, around)
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		eachObject(root, s.Properties[key], func(v any) any { return around(with(s, key, v)) }, visit)
	}
}

// with is an object with a key, and with what it cannot be read without.
func with(s *jsonschema.Schema, key string, value any) map[string]any {
	out := map[string]any{key: value}
	for _, must := range s.Required {
		if _, ok := out[must]; ok {
			continue
		}
		switch {
		case must == "type" && (key == "url" || key == "headers"):
			out["type"] = "http"
		case must == "type":
			out["type"] = "command"
		case must == "hooks":
			out["hooks"] = []any{}
		default:
			out[must] = "x"
		}
	}
	return out
}

// listed finds the keys in a hint of the readers.
var listed = regexp.MustCompile(`the (?:settings|fields|events) are (.*)`)

// The schema has the keys that the reader knows, and no others.
func TestTheSchemaHasTheKeysOfTheReader(t *testing.T) {
	root, _ := schemaOf(t)
	strange := strings.Repeat("z", 80) // so that every reader lists what it knows
	count := 0
	eachObject(root, root, func(v any) any { return v }, func(s *jsonschema.Schema, around func(any) any) {
		said := func(doc any) string {
			text, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for _, layer := range []string{layernames.User, layernames.Managed} {
				for _, p := range decode(source{layer: layer, file: "f", dir: "/w", user: "/home/u", data: text}).problems {
					fmt.Fprintln(&out, p.Detail, p.Hint)
				}
			}
			return out.String()
		}
		keys := slices.Sorted(maps.Keys(s.Properties))
		probe := around(with(s, strange, 1))
		if text, _ := json.Marshal(probe); strings.Contains(string(text), `"steps"`) || strings.Contains(string(text), `"patterns"`) {
			return // they are read as a whole
		}
		found := listed.FindStringSubmatch(said(probe))
		if found == nil {
			t.Errorf("the reader does not say what it knows of %v:\n%s", keys, said(probe))
			return
		}
		for name := range strings.SplitSeq(strings.TrimSpace(found[1]), ", ") {
			if s.Properties[name] == nil {
				t.Errorf("the schema lacks %s beside %v", name, keys)
			}
		}
		for _, key := range keys {
			count++
			if text := said(around(with(s, key, 1))); strings.Contains(text, "unknown key") || strings.Contains(text, "there is no such") {
				t.Errorf("the reader does not know %s, which the schema has beside %v:\n%s", key, keys, text)
			}
		}
	})
	pattern := root.Properties["secrets"].Properties["patterns"].Items
	for _, f := range reflect.VisibleFields(reflect.TypeFor[secret.Pattern]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if pattern.Properties[name] == nil {
			t.Errorf("the schema lacks %s of a pattern", name)
		}
	}
	if n := reflect.TypeFor[secret.Pattern]().NumField(); n != len(pattern.Properties) {
		t.Errorf("a pattern has %d fields, and %d in the schema", n, len(pattern.Properties))
	}
	if count < 150 {
		t.Errorf("only %d keys were looked at", count)
	}
}

// Every key says what it is for.
func TestTheSchemaDescribes(t *testing.T) {
	root, _ := schemaOf(t)
	eachObject(root, root, func(v any) any { return v }, func(s *jsonschema.Schema, _ func(any) any) {
		for key, p := range s.Properties {
			if p.Description == "" && p.Ref == "" && p.Items.Ref == "" {
				t.Errorf("%s has no description", key)
			}
			for _, example := range p.Examples {
				if r, err := p.Resolve(nil); err != nil || r.Validate(example) != nil {
					t.Errorf("%s: the example %v does not fit", key, example)
				}
			}
		}
	})
}

var (
	fenced = regexp.MustCompile("(?s)```json\n(.*?)```")
	inline = regexp.MustCompile("`(\\{\"[^`]*\\})`")
)

// What the reader takes, the schema takes: the examples of the documentation, and the settings of the tests.
func TestSchemaAcceptsValid(t *testing.T) {
	_, schema := schemaOf(t)
	took := 0
	check := func(from, text string) {
		var doc any
		if json.Unmarshal([]byte(text), &doc) != nil {
			return
		}
		if _, ok := doc.(map[string]any); !ok || strings.TrimSpace(text) == "{}" {
			return
		}
		s := decode(source{layer: layernames.Managed, file: from, dir: "/w", user: "/home/u", data: []byte(text)})
		if slices.ContainsFunc(s.problems, func(p Problem) bool { return p.Fatal }) {
			return // it is about something else, or shows what is wrong
		}
		took++
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v\n%s", from, err, text)
		}
	}
	var docs []string
	for _, pattern := range []string{"../../docs/*.md", "../../docs/reference/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		docs = append(docs, found...)
	}
	for _, file := range docs {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range []*regexp.Regexp{fenced, inline} {
			for _, m := range pattern.FindAllStringSubmatch(string(b), -1) {
				check(file, m[1])
			}
		}
	}
	if took < 12 {
		t.Errorf("only %d examples of the documentation are settings", took)
	}
	took = 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.Name() != "settings.json" && d.Name() != "settings.local.json" && filepath.Ext(path) != ".txtar":
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if filepath.Ext(path) != ".txtar" {
			check(path, string(b))
			return nil
		}
		for part := range strings.SplitSeq("\n"+string(b), "\n-- ") {
			name, text, _ := strings.Cut(part, " --\n")
			if strings.HasSuffix(name, ".json") {
				check(path+" "+name, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if took < 30 {
		t.Errorf("only %d settings of the tests were looked at", took)
	}
}

// What is wrong in kind is refused by both.
func TestSchemaRejectsInvalid(t *testing.T) {
	_, schema := schemaOf(t)
	for _, text := range []string{
		`{"permission": {}}`, `{"permissions": {"allow": "Bash"}}`, `{"permissions": {"defaultMode": "yolo"}}`, `{"sandbox": {"netwrok": {}}}`,
		`{"hooks": {"PreToolUse": [{"hooks": [{"command": "x"}]}]}}`, `{"hooks": {"Before": []}}`, `{"compact": {"share": 2}}`,
		`{"providers": {"x": {"apiKey": "sk-1"}}}`, `{"prices": {"a/b": {"input": 1}}}`, `{"deniedMcpServers": [{}]}`, `{"strictHooks": "yes"}`,
	} {
		var doc any
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if schema.Validate(doc) == nil {
			t.Errorf("the schema takes %s", text)
		}
		if decode(source{layer: layernames.User, file: "f", dir: "/w", user: "/home/u", data: []byte(text)}).problems == nil {
			t.Errorf("the reader takes %s", text)
		}
	}
}
