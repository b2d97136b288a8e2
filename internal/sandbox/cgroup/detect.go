//go:build linux

package cgroup

import "errors"

// Detect reports which controllers are available. It creates nothing.
func Detect() Support { return machine().detect() }

func (s *system) detect() Support {
	var out Support
	for _, name := range controllers {
		c := Controller{Name: name}
		places, err := s.places([]string{name})
		absent, _ := errors.AsType[*UnavailableError](err)
		switch {
		case absent != nil:
			c.Reason, c.Hint = absent.Reason, absent.hint
		case err != nil:
			c.Reason = err.Error()
		default:
			c.Available, c.Version, c.Folder = true, places[0].version, places[0].dir
		}
		out.Controllers = append(out.Controllers, c)
	}
	return out
}
