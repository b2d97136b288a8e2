package settings

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// RuleFile is the settings file of a layer in which a person keeps rules: layernames.User,
// Project or Local, for a project and HOLDFAST_HOME.
func RuleFile(layer, project, home string) string {
	switch layer {
	case layernames.User:
		return filepath.Join(home, projectFile)
	case layernames.Project:
		return filepath.Join(project, projectDir, projectFile)
	}
	return filepath.Join(project, projectDir, localFile)
}

// AddRule puts a rule into the list of an effect in a settings file. It returns the line on which
// the rule stands then, and false when it was there before.
func AddRule(layer, file string, effect policy.Effect, rule string) (line int, added bool, err error) {
	e := ruleEdit(layer, file)
	data, err := e.do(func(root []member) ([]member, error) {
		permissions, rules, err := rulesOf(root, effect)
		if err != nil || slices.Contains(rules, rule) {
			return nil, err
		}
		added = true
		return put(root, "permissions", joined(put(permissions, string(effect), listed(append(rules, rule))))), nil
	})
	if err != nil {
		return 0, false, err
	}
	for _, r := range decode(source{layer: layer, file: file, dir: filepath.Dir(file), data: data}).rules {
		if r.Effect == effect && r.Text == rule {
			line = r.Line
		}
	}
	return line, added, nil
}

// RemoveRule takes a rule out of all lists of a settings file, and returns the effects that it had.
func RemoveRule(layer, file, rule string) (had []policy.Effect, err error) {
	e := ruleEdit(layer, file)
	_, err = e.do(func(root []member) ([]member, error) {
		for _, effect := range []policy.Effect{policy.Deny, policy.Ask, policy.Allow} {
			permissions, rules, err := rulesOf(root, effect)
			if err != nil {
				return nil, err
			}
			if left := slices.DeleteFunc(slices.Clone(rules), func(r string) bool { return r == rule }); len(left) < len(rules) {
				had = append(had, effect)
				permissions = put(permissions, string(effect), listed(left))
				if len(permissions) > 0 {
					root = put(root, "permissions", joined(permissions))
				} else {
					root = put(root, "permissions", nil)
				}
			}
		}
		if had == nil {
			return nil, nil
		}
		return append([]member{}, root...), nil // not nil
	})
	return had, err
}

func ruleEdit(layer, file string) edit {
	e := edit{layer: layer, file: file, mode: 0o600, check: func(src source) error { return refuse(decode(src).problems) }}
	if layer == layernames.Project { // everybody who works on the project reads it
		e.mode = 0o644
	}
	return e
}

// rulesOf are the permissions of a file, and the rules in the list of an effect.
func rulesOf(root []member, effect policy.Effect) (permissions []member, rules []string, err error) {
	if permissions, err = object(root, "permissions"); err != nil {
		return nil, nil, err
	}
	for _, m := range permissions {
		if m.key == string(effect) {
			if err := json.Unmarshal(m.value, &rules); err != nil {
				return nil, nil, fmt.Errorf("permissions.%s is no list of rules", effect)
			}
		}
	}
	return permissions, rules, nil
}

// listed is a list of rules, or nil.
func listed(rules []string) json.RawMessage {
	if len(rules) == 0 {
		return nil
	}
	b := []byte{'['}
	for i, r := range rules {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, Quote(r)...)
	}
	return append(b, ']')
}
