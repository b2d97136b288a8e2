package settings

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/importsettings"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/plugin"
)

const enabledPlugins = "enabledPlugins"

// importPlugins returns the folders of the plugins that a file of Claude Code enables and that Claude
// Code has installed on this machine. The result left has the others.
func (o *Options) importPlugins(src *source) (list []importable, left []UnsupportedSetting) {
	root, err := parse(src.data)
	enabled := root.Member(enabledPlugins)
	if src.program != importsettings.Claude || err != nil || enabled == nil {
		return nil, nil
	}
	s := &parsedSource{source: *src}
	for _, m := range enabled.Members {
		if m.Value.Text == "false" {
			continue
		}
		at := jsontree.Node{At: m.At}
		skip := func(format string, args ...any) {
			left = append(left, UnsupportedSetting{Key: enabledPlugins + "." + m.Key, Reason: fmt.Sprintf(format, args...), Origin: s.origin(at, m.Key)})
		}
		dir := o.installedPlugin(m.Key)
		if dir == "" {
			skip("it is not installed on this machine, and Holdfast downloads nothing")
			continue
		}
		if _, err := plugin.Read(dir); err != nil {
			skip("%v", err)
			continue
		}
		if src.layer != layernames.User {
			skip(`it is in %s; name this folder in "plugins" of your own settings`, dir)
			continue
		}
		list = append(list, importable{[]string{"plugins"}, Quote(dir), true, Effective{Key: "plugins", Value: dir, Origin: s.origin(at, m.Key), Program: string(src.program)}})
	}
	return list, left
}

// installedPlugin returns the folder in which Claude Code has installed a plugin NAME@MARKETPLACE for
// the user or for the project, or "".
func (o *Options) installedPlugin(key string) string {
	b, err := os.ReadFile(filepath.Join(o.claudeHome(), "plugins", "installed_plugins.json"))
	if err != nil {
		return ""
	}
	type install struct {
		Project string `json:"projectPath"`
		Path    string `json:"installPath"`
	}
	var doc struct {
		Plugins map[string]json.RawMessage `json:"plugins"`
	}
	if json.Unmarshal(b, &doc) != nil {
		return ""
	}
	var list []install
	if raw := doc.Plugins[key]; json.Unmarshal(raw, &list) != nil { // version 1 has one installation
		var one install
		if json.Unmarshal(raw, &one) != nil {
			return ""
		}
		list = []install{one}
	}
	i := slices.IndexFunc(list, func(at install) bool { return at.Project == "" || at.Project == o.Project })
	if i < 0 || list[i].Path == "" {
		return ""
	}
	dir := list[i].Path
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		dir = filepath.Join(o.User, rest)
	}
	return dir
}
