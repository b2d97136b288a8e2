package settings

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// LayerFile returns the settings file that commands edit for a layer: layernames.User, Project or
// Local, for a project and HOLDFAST_HOME.
func LayerFile(layer, project, home string) string {
	switch layer {
	case layernames.User:
		return filepath.Join(home, projectFile)
	case layernames.Project:
		return filepath.Join(project, projectDir, projectFile)
	}
	return filepath.Join(project, projectDir, localFile)
}

// Lists that commands add to.
var (
	WritePaths     = []string{"sandbox", "additionalWritePaths"}
	ReadPaths      = []string{"sandbox", "additionalReadPaths"}
	AllowedDomains = []string{"sandbox", "network", "allowedDomains"}
)

// RuleList returns the list of rules of an effect.
func RuleList(effect policy.Effect) []string { return []string{"permissions", string(effect)} }

// AddText adds a text to a list of a settings file. It returns the line of the text, and false if
// it was already there.
func AddText(layer, file string, list []string, text string) (line int, added bool, err error) {
	e := listEdit(layer, file)
	data, err := e.do(func(root []member) ([]member, error) {
		root, err := changeList(root, list, func(texts []string) []string {
			if added = !slices.Contains(texts, text); added {
				texts = append(texts, text)
			}
			return texts
		})
		if !added {
			return nil, err
		}
		return root, err
	})
	if err != nil {
		return 0, false, err
	}
	at, err := parsedAt(data, list)
	if err != nil {
		return 0, false, err
	}
	for _, item := range at.Items {
		if item.Text == text {
			line, _ = position(data, item.At)
		}
	}
	return line, added, nil
}

// parsedAt returns the value at a path of keys.
func parsedAt(data []byte, path []string) (*jsontree.Node, error) {
	n, err := parse(data)
	if err != nil {
		return nil, err
	}
	at := &n
	for _, key := range path {
		at = at.Field(key)
	}
	return at, nil
}

// RemoveRule removes a rule from all lists of a settings file and returns the effects that it had.
func RemoveRule(layer, file, rule string) (had []policy.Effect, err error) {
	e := listEdit(layer, file)
	_, err = e.do(func(root []member) ([]member, error) {
		for _, effect := range []policy.Effect{policy.Deny, policy.Ask, policy.Allow} {
			root, err = changeList(root, RuleList(effect), func(rules []string) []string {
				if slices.Contains(rules, rule) {
					had = append(had, effect)
				}
				return slices.DeleteFunc(rules, func(r string) bool { return r == rule })
			})
			if err != nil {
				return nil, err
			}
		}
		if had == nil {
			return nil, nil
		}
		return root, nil
	})
	return had, err
}

func listEdit(layer, file string) fileEdit {
	e := fileEdit{layer: layer, file: file, mode: 0o600, check: func(src source) error { return fatalError(decode(src).problems) }}
	if layer == layernames.Project { // the file is shared with everyone who works on the project
		e.mode = 0o644
	}
	return e
}

// changeList changes the list at a path of keys. Empty containers are removed.
func changeList(object []member, path []string, change func([]string) []string) ([]member, error) {
	i := slices.IndexFunc(object, func(m member) bool { return m.key == path[0] })
	var value json.RawMessage
	if i >= 0 {
		value = object[i].value
	}
	if len(path) > 1 {
		var inner []member
		var err error
		if i >= 0 {
			if inner, err = members(value); err != nil {
				return nil, fmt.Errorf("%s: %w", path[0], err)
			}
		}
		if inner, err = changeList(inner, path[1:], change); err != nil {
			return nil, fmt.Errorf("%s.%w", path[0], err)
		}
		if len(inner) == 0 {
			return put(object, path[0], nil), nil
		}
		return put(object, path[0], joined(inner)), nil
	}
	var texts []string
	if i >= 0 {
		if err := json.Unmarshal(value, &texts); err != nil {
			return nil, fmt.Errorf("%s must be a list of strings", path[0])
		}
	}
	if texts = change(texts); len(texts) == 0 {
		return put(object, path[0], nil), nil
	}
	b := []byte{'['}
	for i, t := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, Quote(t)...)
	}
	return put(object, path[0], append(b, ']')), nil
}
