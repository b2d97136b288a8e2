package settings

import (
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// Source is a possible settings file.
type Source struct {
	File string
	Name string // name in ConfigChange hooks: user_settings, project_settings, local_settings or policy_settings
}

// Sources returns the files of the layers that a run watches, existing or not: the user's, the
// project's, and the managed files with their folder settings.d. Settings from Portable and Files
// are not watched, because they have no file that could change.
func (s *Settings) Sources() []Source {
	o := &s.opt
	if o.FlagsOnly {
		return nil
	}
	var list []Source
	if o.Portable == nil {
		list = append(list, Source{o.Managed, "policy_settings"}, Source{filepath.Join(filepath.Dir(o.Managed), "settings.d"), "policy_settings"})
		if o.Home != "" {
			list = append(list, Source{filepath.Join(o.Home, projectFile), "user_settings"})
		}
	}
	if o.Portable == nil && s.readsForeign {
		for _, f := range slices.Concat(o.foreignManaged(), o.foreignUser(), o.foreignProject()) {
			name := map[string]string{layernames.Managed: "policy_settings", layernames.User: "user_settings", layernames.Local: "local_settings", layernames.Project: "project_settings"}[f.layer]
			list = append(list, Source{f.file, name})
		}
	}
	folder := filepath.Join(o.Project, projectDir)
	if home, err := canonical(o.Home); err == nil && home == folder {
		return list
	}
	return append(list, Source{filepath.Join(folder, projectFile), "project_settings"}, Source{filepath.Join(folder, localFile), "local_settings"})
}

// SourceOf returns the name of a file's source; false if it is not a source.
func (s *Settings) SourceOf(file string) (string, bool) {
	for _, src := range s.Sources() {
		if file == src.File || filepath.Dir(file) == src.File && filepath.Ext(file) == ".json" {
			return src.Name, true
		}
	}
	return "", false
}

// Reload loads all layers again, as [Load] did.
func (s *Settings) Reload() (*Settings, error) {
	o := s.opt
	return Load(&o)
}

// StricterRules returns the deny and ask rules of s that before does not have, for
// [policy.DynamicRules]: rules that can take effect while an agent runs. n is their number.
func (s *Settings) StricterRules(before *Settings) (rules *policy.Rules, n int, err error) {
	var list []policy.RuleSource
	for _, r := range s.Rules {
		known := func(old policy.RuleSource) bool {
			return old.Effect == r.Effect && old.Text == r.Text && old.Dir == r.Dir
		}
		if r.Effect != policy.Allow && !slices.ContainsFunc(before.Rules, known) {
			list = append(list, r)
		}
	}
	rules, _, err = s.ruleOptions().Compile(list)
	return rules, len(list), err
}
