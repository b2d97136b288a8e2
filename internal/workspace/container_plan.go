package workspace

import "github.com/holdfast-dev/holdfast/internal/workspace/engine"

// step is the action that produces a running container.
type step string

const (
	stepReuse   step = "reuse"
	stepUnpause step = "unpause"
	stepStart   step = "start"
	stepCreate  step = "create"
	stepReplace step = "remove then create"
)

// plan decides what to do with a container so that it gets the wanted labels. The container is nil
// if there is none. A running container is kept at first, even if it is outdated: only its
// supervisor knows whether it is in use.
func plan(c *engine.Container, want map[string]string) (do step, outdated string) {
	if c == nil {
		return stepCreate, ""
	}
	if c.Labels[labelID] != want[labelID] {
		return stepReplace, "" // the container belongs to an earlier workspace, whose folders no longer exist
	}
	if c.Labels[labelConfig] != want[labelConfig] {
		outdated = "its settings or its image changed"
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
