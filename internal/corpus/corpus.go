// Package corpus reads the project's cases: what goes in and what a correct
// implementation answers, as data. Tests run them by id.
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
// Where a folder shared/corpus lies beside the repository, its files are read in
// place of the copies in testdata/corpus.
//
// The package is for tests only. What a case means is said in testdata/corpus/README.md.
package corpus

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Case is one case of a corpus file. Fields that a file does not have are empty;
// the shapes of the raw ones differ from area to area.
type Case struct {
	ID     string `json:"id"`
	Area   string `json:"area"`
	Name   string `json:"name"`
	System string `json:"system"`
	Source string `json:"source"`
	Parity string `json:"parity"` // match, fix or new
	Group  string `json:"group"`
	Note   string `json:"note"`

	Settings json.RawMessage `json:"settings"`
	Input    json.RawMessage `json:"input"`
	Expect   json.RawMessage `json:"expect"`
	Message  string          `json:"message"`

	Given    json.RawMessage `json:"given"`
	When     json.RawMessage `json:"when"`
	Original string          `json:"original"` // how the original differs

	Category string          `json:"category"`
	Attempt  string          `json:"attempt"`
	Policy   string          `json:"policy"`
	Probe    string          `json:"probe"`
	Measured json.RawMessage `json:"measured"`

	Raw json.RawMessage `json:"-"` // the whole case
}

// Decode unpacks one of the case's raw fields into v, or ends the test.
func (c Case) Decode(t testing.TB, raw json.RawMessage, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatalf("%s: %v in %s", c.ID, err, raw)
	}
}

// Strict is Decode for who looks at all that the case says: a field that v does not have
// ends the test.
func (c Case) Strict(t testing.TB, raw json.RawMessage, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
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

// Path is where a corpus file is read from.
func Path(t testing.TB, file string) string {
	t.Helper()
	root := Root(t)
	shared := filepath.Join(filepath.Dir(root), "shared", "corpus", file)
	if _, err := os.Stat(shared); err == nil {
		return shared
	}
	return filepath.Join(root, "testdata", "corpus", file)
}

// Root is the folder of the project's go.mod.
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

// Area reads the cases of a file that belong to one of the areas. An area
// without cases ends the test.
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
		cases[i].Raw = raw
	}
	return cases, nil
}
