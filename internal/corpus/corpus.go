// Package corpus reads the project's cases: inputs and the answers of a correct implementation, as data. Tests
// run them by ID.
//
//	testdata/corpus/open-agent-sdk.json ──► Load ──► Area ──► Claim ──► one subtest per id
//
// The shortest use:
//
//	cases := corpus.Area(t, "open-agent-sdk.json", "session_id")
//	corpus.Claim(t, cases,
//		map[string]func(*testing.T, corpus.Case){"session_id": checkID},
//		map[string]string{"session_id-009": "Windows names; the policy issue has it"})
//
// If there is a folder shared/corpus next to the repository, its files are read instead of the copies in
// testdata/corpus.
//
// The package is for tests only. testdata/corpus/README.md explains the cases.
package corpus

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Case is one case of a corpus file. Fields that a file does not have are empty; the raw fields have different
// forms in different areas.
type Case struct {
	ID     string `json:"id"`
	Area   string `json:"area"`
	Name   string `json:"name"`
	System string `json:"system"`
	Source string `json:"source"`
	Parity string `json:"parity"` // match, fix or new
	Group  string `json:"group"`
	Note   string `json:"note"`

	Message  string `json:"message"`
	Original string `json:"original"` // how the original differs

	Category string          `json:"category"`
	Attempt  string          `json:"attempt"`
	Policy   string          `json:"policy"`
	Probe    string          `json:"probe"`
	Measured json.RawMessage `json:"measured"`

	Raw json.RawMessage `json:"-"` // the whole case

	data map[string]json.RawMessage // inputs and expectations, by name
	read map[string]bool            // the fields that a test has read
}

// Settings returns the settings, or nil. A test that calls it, or one of the following methods, has read that
// field: [Claim] fails if a test leaves a relevant field of a case unread.
func (c Case) Settings() json.RawMessage { return c.lookup("settings") }

// Input returns the input, or nil.
func (c Case) Input() json.RawMessage { return c.lookup("input") }

// Setup returns the initial state, or nil.
func (c Case) Setup() json.RawMessage { return c.lookup("given") }

// Action returns the actions, or nil.
func (c Case) Action() json.RawMessage { return c.lookup("when") }

// Expect returns the expected results.
func (c Case) Expect() json.RawMessage { return c.lookup("expect") }

func (c Case) lookup(name string) json.RawMessage {
	c.read[name] = true
	return c.data[name]
}

// unread lists the fields of a case that no test has read. The steps of "when" are mostly prose; inputs and
// expectations are relevant.
func (c Case) unread() []string {
	var list []string
	for _, name := range []string{"settings", "input", "given", "expect"} {
		if raw := string(c.data[name]); raw != "" && raw != "{}" && raw != "null" && !c.read[name] {
			list = append(list, name)
		}
	}
	return list
}

// NewCase creates cases that a test defines itself: JSON texts by the name of the field.
func NewCase(fields map[string]string) Case {
	c := Case{ID: "near", data: map[string]json.RawMessage{}, read: map[string]bool{}}
	for name, text := range fields {
		c.data[name] = json.RawMessage(text)
	}
	return c
}

// Decode decodes one of the case's raw fields into v. A field without a place in v fails the test, so that
// nothing of a case is ignored.
func (c Case) Decode(t testing.TB, raw json.RawMessage, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v in %s", c.ID, err, raw)
	}
}

// Part is Decode for a test that checks a part of a case, while another test checks all of it.
func (c Case) Part(t testing.TB, raw json.RawMessage, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatalf("%s: %v in %s", c.ID, err, raw)
	}
}

// Load reads all cases of a file, such as "open-agent-sdk.json".
func Load(t testing.TB, file string) []Case {
	t.Helper()
	b, err := os.ReadFile(Path(t, file))
	if err != nil {
		t.Fatal(err)
	}
	cases, err := parse(b)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return cases
}

// Path returns the path of a corpus file.
func Path(t testing.TB, file string) string {
	t.Helper()
	root := Root(t)
	shared := filepath.Join(filepath.Dir(root), "shared", "corpus", file)
	if _, err := os.Stat(shared); err == nil {
		return shared
	}
	return filepath.Join(root, "testdata", "corpus", file)
}

// Root returns the folder of the project's go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod here or above")
		}
		dir = up
	}
}

// Area reads the cases of a file that belong to one of the areas. An area without cases fails the test.
func Area(t testing.TB, file string, areas ...string) []Case {
	t.Helper()
	var out []Case
	seen := map[string]bool{}
	for _, c := range Load(t, file) {
		if slices.Contains(areas, c.Area) {
			seen[c.Area] = true
			out = append(out, c)
		}
	}
	for _, a := range areas {
		if !seen[a] {
			t.Fatalf("%s has no area %q", file, a)
		}
	}
	return out
}

func parse(b []byte) ([]Case, error) {
	var raws []json.RawMessage
	if err := json.Unmarshal(b, &raws); err != nil {
		return nil, err
	}
	cases := make([]Case, len(raws))
	for i, raw := range raws {
		if err := json.Unmarshal(raw, &cases[i]); err != nil {
			return nil, err
		}
		c := &cases[i]
		c.Raw, c.read = raw, map[string]bool{}
		if err := json.Unmarshal(raw, &c.data); err != nil {
			return nil, err
		}
	}
	return cases, nil
}
