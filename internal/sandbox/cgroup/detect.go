//go:build linux

package cgroup

import "errors"

// Detect looks at which controllers there are, and makes nothing.
func Detect() Support { return machine().detect() }

func (s *system) detect() Support {
	var out Support
	for _, name := range known {
		c := Controller{Name: name}
		places, err := s.places([]string{name})
		absent, _ := errors.AsType[*AbsentError](err)
		switch {
		case absent != nil:
			c.Why, c.Hint = absent.Why, absent.hint
		case err != nil:
			c.Why = err.Error()
		default:
			c.There, c.Version, c.Folder = true, places[0].version, places[0].dir
		}
		out.Controllers = append(out.Controllers, c)
	}
	return out
}
