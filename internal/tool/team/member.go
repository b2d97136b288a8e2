package team

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/policy"
)

// leadName is the name of the lead in its team.
const leadName = "team-lead"

// broadcastName addresses all others in the team.
const broadcastName = "*"

// teammatePrefix is the prefix of the tags of teammates' sessions.
const teammatePrefix = "teammate:"

// formerPrefix is the prefix of the tags of teammates that have left.
const formerPrefix = "former-teammate:"

// member is the content of a teammate's tag.
//
//	teammate:TEAM:NAME:KIND;mode=plan;model=fast
type member struct {
	team, name, kind string
	mode             policy.Mode
	model            string
}

func (m member) tag(prefix string) string {
	s := prefix + m.team + ":" + m.name + ":" + m.kind
	if m.mode != "" {
		s += ";mode=" + string(m.mode)
	}
	if m.model != "" {
		s += ";model=" + m.model
	}
	return s
}

// parseTag parses a tag.
func parseTag(tag string) (m member, ok bool) {
	rest, ok := strings.CutPrefix(tag, teammatePrefix)
	if !ok {
		return m, false
	}
	parts := strings.SplitN(rest, ":", 3)
	if len(parts) != 3 {
		return m, false
	}
	m.team, m.name = parts[0], parts[1]
	var more string
	m.kind, more, _ = strings.Cut(parts[2], ";")
	for more != "" {
		var one string
		one, more, _ = strings.Cut(more, ";")
		switch key, value, _ := strings.Cut(one, "="); key {
		case "mode":
			m.mode = policy.Mode(value)
		case "model":
			m.model = value
		default:
			return m, false
		}
	}
	return m, checkName(m.team) == nil && checkName(m.name) == nil && m.kind != ""
}

// checkName rejects an invalid name of a team or a teammate. A valid name has at most 32
// characters, which are lower-case letters, digits and hyphens.
func checkName(name string) error {
	bad := strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") != ""
	if name == "" || len(name) > 32 || bad || strings.HasPrefix(name, "-") {
		return fmt.Errorf("invalid name %q: want at most 32 lower-case letters, digits and hyphens", name)
	}
	if name == leadName {
		return fmt.Errorf("%s is reserved for the lead", leadName)
	}
	return nil
}

// definition returns the agent definition of the member, with the model of the member.
func (m member) definition(s *agent.Subagents) (agent.Definition, error) {
	for _, d := range s.Definitions() {
		if d.Name == m.kind {
			d.Model = cmp.Or(m.model, d.Model)
			return m.withTeamPrompt(d), nil
		}
	}
	return agent.Definition{}, fmt.Errorf("the agent definition %q no longer exists", m.kind)
}

// withTeamPrompt adds the text about the team to an agent definition.
func (m member) withTeamPrompt(d agent.Definition) agent.Definition {
	d.Prompt = strings.TrimRight(d.Prompt, "\n") + fmt.Sprintf(`

You are %s, a teammate in the team %s, which %s leads. Use SendMessage to write to the others by name. No one reads your other output,
except your last message, which is sent to %s when you become idle. TaskList shows the tasks and their owners: set a task
to in_progress before you start it, and to completed when all of it is done. Messages arrive automatically: do not wait for them,
end your turn.`, m.name, m.team, leadName, leadName)
	return d
}
