package compose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/runspec"
)

// A style is found in the project when that is trusted, with the person, and among the built-in
// ones; one that nobody has is refused with the names of those that there are.
func TestStyle(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := &env.Env{Vars: []string{"HOME=" + filepath.Join(root, "user"), "HOLDFAST_HOME=" + filepath.Join(root, "home")}, Managed: filepath.Join(root, "none.json")}
	load := func(style string) *settings.Settings {
		t.Helper()
		s, err := e.Settings(filepath.Join(root, "project"), []string{`{"outputStyle": "` + style + `"}`})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	write("project/.git/HEAD", "")
	write("project/.claude/output-styles/Pirate.md", "---\nname: Sea Dog\ndescription: d\n---\nSay arr.\n")
	write("home/output-styles/poet.md", "Rhyme.\n")
	write("user/.claude/output-styles/haiku.md", "---\nname: Haiku\n---\nSeventeen syllables.\n")
	write("home/output-styles/empty.md", "---\nname: empty\n---\n")
	write("outside.md", "Told from outside.")
	if err := os.Symlink(filepath.Join(root, "outside.md"), filepath.Join(root, "home/output-styles/link.md")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"poet": "Rhyme.", "Haiku": "Seventeen syllables.", "default": "", "Explanatory": "Besides doing the task, teach",
		"pirate": `unknown output style "pirate"`, "empty": "it is empty", "link": "output style", "none": "unknown output style",
	} {
		text, err := styleText(e, load(name))
		if err != nil {
			text = err.Error()
		}
		if !strings.HasPrefix(text, want) && (err == nil || !strings.Contains(text, want)) || strings.Contains(text, "outside.") {
			t.Errorf("%s: %q", name, text)
		}
	}
	trust, err := e.Trust()
	if err == nil {
		err = trust.AddTexts(load("default"), "", time.Unix(0, 0))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pirate", "sea dog"} {
		if text, err := styleText(e, load(name)); err != nil || text != "Say arr." {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	spec := &runspec.Spec{}
	if got := SystemPrompt(spec, "/w", "Rhyme."); !strings.HasSuffix(got, "\nHow to write to the user:\n\nRhyme.\n") || SystemPrompt(spec, "/w", "") != strings.TrimSuffix(got, "\nHow to write to the user:\n\nRhyme.\n") {
		t.Errorf("%q", got)
	}
	spec.Instructions.System = "Only this."
	if got := SystemPrompt(spec, "/w", "Rhyme."); got != "Only this." {
		t.Errorf("%q", got)
	}
}
