package workspace

import "github.com/holdfast-dev/holdfast/internal/workspace/engine"

// step is what is done to have a container that runs.
type step string

const (
	stepReuse   step = "reuse"
	stepUnpause step = "unpause"
	stepStart   step = "start"
	stepCreate  step = "create"
	stepReplace step = "remove then create"
)

// plan says what a container needs that was found, nil where there is none, to be as the
// labels want it. One that runs and should be another is kept at first: whether somebody
// works in it its supervisor knows.
func plan(c *engine.Container, want map[string]string) (do step, outdated string) {
	if c == nil {
		return stepCreate, ""
	}
	if c.Labels[labelID] != want[labelID] {
		return stepReplace, "" // of an earlier workspace, whose folders are gone
	}
	if c.Labels[labelConfig] != want[labelConfig] {
		outdated = "its settings or its image have changed"
	}
	switch c.State {
	case engine.Running:
		return stepReuse, outdated
	case engine.Paused:
		return stepUnpause, outdated
	case engine.Exited, engine.Created:
		if outdated == "" && !c.OOMKilled {
			return stepStart, ""
		}
	}
	return stepReplace, ""
}
