package settings

import (
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// Source is a settings file that counts when it is there.
type Source struct {
	File string
	Name string // as ConfigChange hooks read it: user_settings, project_settings, local_settings, policy_settings
}

// Sources are the files of the layers that a run keeps an eye on, whether they are there
// or not: the user's, the project's, and the administrator's with their folder
// settings.d. What was handed in (Given, Files) has no file that could change.
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
	if o.Portable == nil && s.others {
		for _, f := range slices.Concat(o.foreignManaged(), o.foreignUser(), o.foreignProject()) {
			name := map[string]string{layernames.Managed: "policy_settings", layernames.User: "user_settings", layernames.Local: "local_settings", layernames.Project: "project_settings"}[f.layer]
			list = append(list, Source{f.file, name})
		}
	}
	own := filepath.Join(o.Project, projectDir)
	if home, err := canonical(o.Home); err == nil && home == own {
		return list
	}
	return append(list, Source{filepath.Join(own, projectFile), "project_settings"}, Source{filepath.Join(own, localFile), "local_settings"})
}

// SourceOf says what a file is called; false when it is none of the sources.
func (s *Settings) SourceOf(file string) (string, bool) {
	for _, src := range s.Sources() {
		if file == src.File || filepath.Dir(file) == src.File && filepath.Ext(file) == ".json" {
			return src.Name, true
		}
	}
	return "", false
}

// Reload reads all layers as [Load] has, and as they are now.
func (s *Settings) Reload() (*Settings, error) {
	o := s.opt
	return Load(&o)
}

// StricterRules are the deny and ask rules that are in s and not in before, ready for
// [policy.DynamicRules]: what can come into force while an agent runs. n counts them.
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
