package settings_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

func TestCompaction(t *testing.T) {
	p := newTestHome(t)
	if c := p.load().Compaction; !c.Auto.Value || c.Share.Value != 0 || c.Steps.Value != nil {
		t.Errorf("nobody says %+v", c)
	}
	p.write("home/settings.json", `{"compact": {"share": 0.5, "items": 400, "keep": 9000, "steps": ["dropThinking", {"keepRecent": 40}, "redact", "summarise"]}}`)
	p.write("etc/settings.json", `{"compact": {"items": 100}}`)
	o := p.options()
	o.Files = []string{`{"autoCompactEnabled": false, "compact": {"share": 1}}`}
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	c := s.Compaction
	want := []settings.CompactionStep{{Name: "dropThinking"}, {Name: "keepRecent", Items: 40}, {Name: "redact"}, {Name: "summarise"}}
	if c.Auto.Value || c.Share.Value != 1 || c.Items.Value != 100 || c.KeepTokens.Value != 9000 || !slices.Equal(c.Steps.Value, want) {
		t.Errorf("%+v", c)
	}
	if c.Items.Origin.Layer != layernames.Managed || c.KeepTokens.Origin.File != p.path("home/settings.json") || c.Auto.Origin.Layer != layernames.Flag {
		t.Errorf("it is said in %+v", c)
	}
}

// A folder that nobody trusts does not have the agent forget.
func TestCompactionOfAnUntrustedFolder(t *testing.T) {
	p := newTestHome(t)
	p.write("project/.holdfast/settings.json", `{"compact": {"auto": false, "share": 0.1, "items": 4, "keep": 1, "steps": ["summarise"]}}`)
	s := p.load()
	if c := s.Compaction; !c.Auto.Value || c.Share.Value != 0 || c.Items.Value != 0 || c.KeepTokens.Value != 0 || c.Steps.Value != nil {
		t.Errorf("it counts: %+v", c)
	}
	what, _ := s.Notice()
	if !strings.Contains(what, "compact.auto false, compact.share 0.1, compact.items 4, compact.keep 1, compact.steps summarise are ignored") {
		t.Errorf("the notice is %q", what)
	}
	p.trust()
	if c := p.load().Compaction; c.Auto.Value || c.Items.Value != 4 {
		t.Errorf("trusted, it does not count: %+v", c)
	}
}

func TestCompactionInvalid(t *testing.T) {
	for text, want := range map[string]string{
		`{"compact": {"share": 80}}`:                               "compact.share: want a fraction between 0 and 1",
		`{"compact": {"share": 0}}`:                                "compact.share: want a fraction between 0 and 1",
		`{"compact": {"share": "0.5"}}`:                            "compact.share: want a fraction between 0 and 1",
		`{"compact": {"items": 3}}`:                                "compact.items: want a number of at least 4",
		`{"compact": {"items": 4.5}}`:                              "compact.items: want a number of at least 4",
		`{"compact": {"keep": -1}}`:                                "compact.keep: want a number of at least 1",
		`{"compact": {"steps": []}}`:                               "compact.steps is empty",
		`{"compact": {"steps": "summarise"}}`:                      "compact.steps is a text, want a list",
		`{"compact": {"steps": ["summarize"]}}`:                    "unknown step compact.steps[0]",
		`{"compact": {"steps": ["keepRecent"]}}`:                   "unknown step compact.steps[0]",
		`{"compact": {"steps": [{"keepRecent": 0}]}}`:              "compact.steps[0].keepRecent: want a number of at least 1",
		`{"compact": {"steps": [{"keepRecent": 5, "x": 1}]}}`:      "unknown step compact.steps[0]",
		`{"compact": {"steps": ["redact", "redact"]}}`:             "compact.steps[1]: duplicate step redact",
		`{"compact": {"keep": 10, "steps": ["dropThinking"]}}`:     "compact.keep has no effect",
		`{"compact": {"auto": "yes"}}`:                             "compact.auto is a text",
		`{"compact": {"auto": true}, "autoCompactEnabled": false}`: "are the same setting",
		`{"compact": {"enabled": true}}`:                           `unknown key "compact.enabled"`,
	} {
		p := newTestHome(t)
		p.write("home/settings.json", text)
		_, err := settings.Load(p.options())
		if !errors.Is(err, settings.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
