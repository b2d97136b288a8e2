package workspace

import "github.com/holdfast-dev/holdfast/workspace/internal/engine"

// step is what is done to have a container that runs.
type step string

const (
	stepReuse   step = "reuse"
	stepUnpause step = "unpause"
	stepStart   step = "start"
	stepCreate  step = "create"
	stepReplace step = "remove then create"
)

// plan says what a container needs that was found, or nil where there is none, when
// its config hash should be another. One that runs and should be another is kept at
// first: whether somebody works in it its supervisor knows.
func plan(c *engine.Container, hash string) (do step, outdated string) {
	if c == nil {
		return stepCreate, ""
	}
	if c.Labels[labelConfig] != hash {
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
