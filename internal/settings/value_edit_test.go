package settings_test

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// A value is set in its place, and everything else stays.
func TestSetText(t *testing.T) {
	p := newTestHome(t)
	file := p.path("home/settings.json")
	set := func(text string, path ...string) (int, bool) {
		t.Helper()
		line, changed, err := settings.SetText(layernames.User, file, path, text)
		if err != nil {
			t.Fatal(err)
		}
		return line, changed
	}
	if line, changed := set("ollama/qwen3", "model"); line != 2 || !changed {
		t.Error(line, changed)
	}
	p.write("home/settings.json", `{"prices": {"ollama/*": {"input": 0, "output": 0}}, "model": "openai/a", "permissions": {"deny": ["Bash(rm:*)"]}}`)
	if _, changed := set("openai/a", "model"); changed {
		t.Error("changed, and said so before")
	}
	if line, changed := set("openai/b", "model"); line != 8 || !changed {
		t.Error(line, changed)
	}
	if _, changed := set("plan", "permissions", "defaultMode"); !changed {
		t.Error("not changed")
	}
	b, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(b), `"model": "openai/b"`) || !strings.Contains(string(b), "Bash(rm:*)") || !strings.Contains(string(b), `"defaultMode": "plan"`) {
		t.Errorf("%s, %v", b, err)
	}
	if s := p.load(); s.Models.Model.Value != "openai/b" || s.Mode.Value != "plan" {
		t.Errorf("%+v", s.Models.Model)
	}
	if _, _, err := settings.SetText(layernames.User, file, []string{"model"}, "nonsense"); err == nil {
		t.Error("a value that cannot be used is written")
	}
	if _, _, err := settings.SetText(layernames.User, file, []string{"model", "inner"}, "x"); err == nil {
		t.Error("a value inside of a text")
	}
}
