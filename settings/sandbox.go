package settings

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// sandboxBlock reads seed 000's settings of the sandbox.
func (s *said) sandboxBlock(path string, n node) {
	if !s.want(path, n, kindObject) {
		return
	}
	box := &sandbox.Settings{}
	dec := json.NewDecoder(bytes.NewReader(s.data[n.at:n.end]))
	dec.DisallowUnknownFields()
	if err := dec.Decode(box); err != nil {
		s.fault(n.at, "", "%s: %s", path, strings.TrimPrefix(err.Error(), "json: "))
		return
	}
	s.sandbox = &Sandbox{Origin: s.origin(n, ""), Dir: s.dir, Settings: box}
}

// limits are what no rule and no mode opens.
func (s *Settings) limits() ([]policy.Named, error) {
	var list []policy.Named
	for _, box := range s.Sandboxes {
		c, err := sandbox.NewChecker(box.Settings, &sandbox.Options{Home: s.opt.User})
		if err != nil {
			return nil, err
		}
		list = append(list, policy.Named{Name: "sandbox " + string(box.Origin.Layer), Policy: c})
	}
	return list, nil
}
