package skills_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/plugin"
	"github.com/holdfast-dev/holdfast/internal/tool/skills"
)

// The names of a plugin's skills and commands begin with the plugin's name, and their texts and rules
// name the plugin's folder.
func TestDiscoverInAPlugin(t *testing.T) {
	long := strings.Repeat("x", 62)
	dir := writeTree(t, map[string]string{
		"skills/ship/SKILL.md":         skillText("ship", "allowed-tools: Bash(${CLAUDE_PLUGIN_ROOT}/run.sh:*)\n") + "See ${CLAUDE_PLUGIN_ROOT}/notes.txt.\n",
		"skills/" + long + "/SKILL.md": skillText(long, ""), "skills/broken/SKILL.md": "nothing", "skills/other/SKILL.md": skillText("other", ""),
		"commands/front/new.md": "New.", "commands/more.md": "More.",
	})
	p := &plugin.Plugin{Name: "kit", Root: dir}
	set := skills.Discover([]skills.Location{
		{Dir: dir + "/skills", Root: dir, Plugin: p}, {Dir: dir + "/commands", Only: "front", Root: dir, Plugin: p, Commands: true},
	})
	if got := names(set.Skills); !slices.Equal(got, []string{"kit:front:new", "kit:other", "kit:ship"}) || len(set.Problems) != 2 {
		t.Errorf("%q %v", got, set.Problems)
	}
	sk, text, err := set.Expand("/kit:ship")
	if err != nil || !strings.Contains(text, "See "+dir+"/notes.txt.") || !slices.Equal(sk.Allow, []string{"Bash(" + dir + "/run.sh:*)"}) || sk.Plugin != "kit" {
		t.Errorf("%+v %q %v", sk, text, err)
	}
	if _, _, err := set.Expand("/kit:broken"); err == nil || !strings.Contains(err.Error(), "the front matter is missing") {
		t.Error(err)
	}
	set = skills.Discover([]skills.Location{{Dir: dir + "/skills", Only: "other", Root: dir, Plugin: p}})
	if got := names(set.Skills); !slices.Equal(got, []string{"kit:other"}) || len(set.Problems) != 0 {
		t.Errorf("%q %v", got, set.Problems)
	}
}
