package jsontree

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

type inner struct {
	Limit int               `json:"limit"`
	Words []string          `json:"words,omitempty"`
	Env   map[string]string `json:"env"`
}

type outer struct {
	inner
	Name  string          `json:"name"`
	Deep  *inner          `json:"deep"`
	Since time.Time       `json:"since"`
	Raw   json.RawMessage `json:"raw"`
	Plain bool
	Any   any     `json:"any"`
	Skip  string  `json:"-"`
	Cost  float64 `json:"cost"`
}

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		text, err string // err "" for none
		at        int
		path      string
	}{
		{`{"name": "n", "limit": 3, "deep": {"words": ["a"], "env": {"A": "b"}}, "cost": 0.5, "Plain": true}`, "", 0, ""},
		{`{"raw": {"x": null}, "any": [1, null], "since": "2026-01-02T03:04:05Z"}`, "", 0, ""},
		{`{"nam": "n"}`, `has no field "nam"`, 1, ""},
		{`{"Name": "n"}`, `has no field "Name"`, 1, ""},
		{`{"Skip": "n"}`, `has no field "Skip"`, 1, ""},
		{`{"deep": {"word": []}}`, `deep has no field "word"`, 10, "deep"},
		{`{"deep": {"words": ["a", 1]}}`, `deep.words[1] is a number, and must be a text`, 25, "deep.words[1]"},
		{`{"env": {"A": 1}}`, `env.A is a number, and must be a text`, 14, "env.A"},
		{`{"name": null}`, `name is null, and must be a text`, 9, "name"},
		{`{"deep": {"limit": 1.5}}`, `deep.limit is number 1.5 and cannot be int`, 0, "deep.limit"},
		{`{"since": "yesterday"}`, `does not fit`, 0, ""},
		{`[]`, `is a list, and must be an object`, 0, ""},
	} {
		var v outer
		err := Decode([]byte(tt.text), &v)
		if tt.err == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.text, err)
			}
			continue
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || !errors.Is(err, ErrType) || !strings.Contains(e.Error(), tt.err) || e.Offset != tt.at || e.Path != tt.path {
			t.Errorf("%s: %+v, want %q at %d of %q", tt.text, err, tt.err, tt.at, tt.path)
		}
	}
	for _, text := range []string{`{"name": "a", "name": "b"}`, `{} {}`, `{`, ``} {
		if err := Decode([]byte(text), new(outer)); err == nil || errors.Is(err, ErrType) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What Decode takes, encoding/json takes, with the same result.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name": "n", "deep": {"words": ["a"]}, "raw": 1}`))
	f.Add([]byte(`{"env": {"A": "b"}, "since": "2026-01-02T03:04:05Z"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var ours, theirs outer
		if Decode(b, &ours) != nil {
			return
		}
		if err := json.Unmarshal(b, &theirs); err != nil {
			t.Fatal(err)
		}
		x, _ := json.Marshal(ours)
		y, _ := json.Marshal(theirs)
		if string(x) != string(y) {
			t.Errorf("%s\n%s", x, y)
		}
	})
}
