package settings

import (
	"encoding/json"
	"fmt"
	"slices"
)

// SetText sets a single string in a settings file, at a path of keys, such as the model. It returns
// the line of the value, and false if it already had this value.
func SetText(layer, file string, path []string, text string) (line int, changed bool, err error) {
	e := listEdit(layer, file)
	data, err := e.do(func(root []member) ([]member, error) {
		root, err := setValue(root, path, Quote(text), &changed)
		if !changed {
			return nil, err
		}
		return root, err
	})
	if err != nil {
		return 0, false, err
	}
	at, err := parsedAt(data, path)
	if err != nil {
		return 0, false, err
	}
	line, _ = position(data, at.At)
	return line, changed, nil
}

func setValue(object []member, path []string, value json.RawMessage, changed *bool) ([]member, error) {
	i := slices.IndexFunc(object, func(m member) bool { return m.key == path[0] })
	if len(path) == 1 {
		if *changed = i < 0 || string(object[i].value) != string(value); !*changed {
			return object, nil
		}
		return put(object, path[0], value), nil
	}
	var inner []member
	if i >= 0 {
		var err error
		if inner, err = members(object[i].value); err != nil {
			return nil, fmt.Errorf("%s: %w", path[0], err)
		}
	}
	inner, err := setValue(inner, path[1:], value, changed)
	if err != nil {
		return nil, fmt.Errorf("%s.%w", path[0], err)
	}
	return put(object, path[0], joined(inner)), nil
}
