package chat

import (
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// Expandable is a skill or command of the project that the user can call.
type Expandable struct{ Name, Help string }

// Commands returns the skills and commands that the user can call, as they were when the session was
// opened. Those that are not trusted are not among them.
func (s *Session) Commands() []Expandable { return s.at().commands }

func expandables(e *env.Env, rules *settings.Settings) (list []Expandable) {
	f, err := tools.FindSkills(e, rules)
	if err != nil {
		return nil
	}
	for _, sk := range f.Set.Skills {
		if sk.UserInvocable {
			list = append(list, Expandable{sk.Name, sk.Description})
		}
	}
	return list
}
