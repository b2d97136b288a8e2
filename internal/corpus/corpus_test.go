package corpus

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var files = map[string]int{
	"open-agent-sdk.json":                 686,
	"agentkit-commaagents-parachute.json": 246,
	"escapes.json":                        102,
}

func TestLoad(t *testing.T) {
	for file, want := range files {
		cases := Load(t, file)
		if len(cases) != want {
			t.Errorf("%s has %d cases, want %d", file, len(cases), want)
		}
		ids := map[string]bool{}
		for _, c := range cases {
			if c.ID == "" || ids[c.ID] {
				t.Errorf("%s: id %q is empty or twice", file, c.ID)
			}
			ids[c.ID] = true
			if c.Expect() == nil || len(c.Raw) == 0 {
				t.Errorf("%s has no expectation", c.ID)
			}
		}
	}
}

func TestArea(t *testing.T) {
	cases := Area(t, "open-agent-sdk.json", "session_id", "session_fork")
	if len(cases) != 28 {
		t.Errorf("got %d cases", len(cases))
	}
	var input map[string]any
	cases[0].Decode(t, cases[0].Input(), &input)
}

// The copies in the project equal those of a folder shared/corpus next to the repository.
func TestCopiesAreCurrent(t *testing.T) {
	shared := filepath.Join(filepath.Dir(Root(t)), "shared", "corpus")
	entries, err := os.ReadDir(shared)
	if err != nil {
		t.Logf("nothing to compare with: %v", err)
		return
	}
	for _, e := range entries {
		theirs, err := os.ReadFile(filepath.Join(shared, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		copied, err := os.ReadFile(filepath.Join(Root(t), "testdata", "corpus", e.Name()))
		if err != nil || !bytes.Equal(copied, theirs) {
			t.Errorf("testdata/corpus/%s differs from %s (%v)", e.Name(), shared, err)
		}
	}
}

func TestClaim(t *testing.T) {
	run := func(*testing.T, Case) {}
	cases := []Case{{ID: "a-1", Area: "a"}, {ID: "a-2", Area: "a"}, {ID: "b-1", Area: "b", Name: "lonely"}}
	type handlers = map[string]func(*testing.T, Case)
	for _, tt := range []struct {
		name    string
		handled handlers
		named   map[string]string
		runs    string // which cases run
		want    []string
	}{
		{"all", handlers{"a": run, "b-1": run}, nil, "+++", nil},
		{"named", handlers{"a": run}, map[string]string{"b-1": "later"}, "++-", nil},
		{"named beats area", handlers{"a": run, "b": run}, map[string]string{"a-2": "later"}, "+-+", nil},
		{"no handler", handlers{"a": run}, nil, "++-", []string{"no test handles b-1 (b): lonely"}},
		{"both", handlers{"a": run, "b-1": run}, map[string]string{"b-1": "later"}, "++-", []string{"b-1 is both handled and named"}},
		{"no reason", handlers{"a": run}, map[string]string{"b-1": ""}, "++-", []string{"b-1 is named without a reason"}},
		{
			"stale",
			handlers{"a": run, "b": run, "c": run},
			map[string]string{"d-1": "gone"},
			"+++",
			[]string{"c is handled and fits no case", "d-1 is named and fits no case"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan, problems := claim(cases, tt.handled, tt.named)
			var runs strings.Builder
			for _, p := range plan {
				runs.WriteByte("-+"[b2i(p != nil)])
			}
			if runs.String() != tt.runs || !slices.Equal(problems, tt.want) {
				t.Errorf("got %s %q, want %s %q", runs.String(), problems, tt.runs, tt.want)
			}
		})
	}
}

func TestClaimRunsByID(t *testing.T) {
	var got []string
	Claim(t, []Case{{ID: "x-1", Area: "x"}, {ID: "x-2", Area: "x"}},
		map[string]func(*testing.T, Case){"x": func(t *testing.T, c Case) { got = append(got, t.Name()) }},
		map[string]string{"x-2": "an example of a case that is left out"})
	if !slices.Equal(got, []string{"TestClaimRunsByID/x-1"}) {
		t.Error(got)
	}
}

func TestParseRefusesBrokenFiles(t *testing.T) {
	for _, s := range []string{"", "{}", `[{"id":1}]`, `[{"id":"a"}`} {
		if _, err := parse([]byte(s)); err == nil {
			t.Errorf("parse(%q) succeeded", s)
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A case is read if its inputs and expectations were all requested; steps in prose, and empty fields, need not
// be.
func TestUnread(t *testing.T) {
	c := NewCase(map[string]string{"given": `{"a":1}`, "when": `["x"]`, "expect": `{"b":[]}`, "settings": `{}`, "input": `null`})
	if got := c.unread(); !slices.Equal(got, []string{"given", "expect"}) {
		t.Errorf("unread are %v", got)
	}
	c.Setup()
	if got := c.unread(); !slices.Equal(got, []string{"expect"}) {
		t.Errorf("unread are %v", got)
	}
	c.Expect()
	if got := c.unread(); len(got) > 0 {
		t.Errorf("unread are %v", got)
	}
}

func TestCompareClaim(t *testing.T) {
	c := NewCase(map[string]string{"given": `{"a": 1}`, "when": `["x"]`, "expect": `{"b":[]}`, "settings": `{}`})
	for claim, same := range map[string]bool{
		`{"expect": {"b": []}, "given": {"a": 1}, "when": ["x"]}`:                    true,
		`{"expect": {"b": []}, "given": {"a": 2}, "when": ["x"]}`:                    false,
		`{"expect": {"b": [1]}, "given": {"a": 1}, "when": ["x"]}`:                   false,
		`{"expect": {"b": []}, "given": {"a": 1}}`:                                   false,
		`{"expect": {}, "given": {"a": 1}, "when": ["x"]}`:                           false,
		`{"expect": {"b": []}, "given": {"a": 1}, "when": ["x"], "input": {"c": 1}}`: false,
		`no JSON`: false,
	} {
		if err := c.CompareClaim(claim); (err == nil) != same {
			t.Errorf("%s: %v", claim, err)
		}
	}
	if len(c.unread()) > 0 {
		t.Error("what was compared was read")
	}
}
