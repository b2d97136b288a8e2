package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/settings"
)

func TestContextFiles(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"contextFiles": "nearest", "claudeMdExcludes": ["~/x/CLAUDE.md", "**/vendor/**"]}`)
	p.write("project/.holdfast/settings.json", `{"contextFiles": "none", "claudeMdExcludes": ["/**"]}`)
	s := p.load()
	if s.Texts.Mode.Value != "nearest" || len(s.Texts.Excludes) != 2 || strings.HasPrefix(s.Texts.Excludes[0].Value, "~") || len(s.Ignored) != 2 {
		t.Errorf("%+v, ignored %+v", s.Texts, s.Ignored)
	}
	for text, want := range map[string]string{
		`{"contextFiles": "some"}`:             `unknown value "some"`,
		`{"contextFiles": true}`:               "contextFiles is true or false, want a text",
		`{"claudeMdExcludes": ["CLAUDE.md"]}`:  "never matches",
		`{"claudeMdExcludes": ["/[", "/x"]}`:   "not a usable glob",
		`{"claudeMdExcludes": "**/CLAUDE.md"}`: "want a list",
	} {
		p.write("home/settings.json", text)
		if _, err := settings.Load(p.options()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTrustedTexts(t *testing.T) {
	p := newTestHome(t)
	s := p.load()
	list, err := settings.OpenTrust(p.options().Home)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.TrustedTexts(); err != nil || got != (settings.TrustedTexts{}) {
		t.Errorf("%+v %v", got, err)
	}
	if err := list.AddTexts(s, "digest", time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.TrustedTexts(); err != nil || got != (settings.TrustedTexts{Folder: true, Skills: "digest"}) {
		t.Errorf("%+v %v", got, err)
	}
	p.write("project/.holdfast/settings.json", `{"permissions": {"allow": ["Read"]}}`)
	if s := p.load(); len(s.Rules) != 0 {
		t.Error("trust in texts is none in settings")
	}
}
