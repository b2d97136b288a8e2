package engine

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

// Event is a change of a container.
type Event struct {
	ID, Name string
	Labels   map[string]string
	Action   string // "create", "start", "oom", "die", "stop", "pause", "unpause", "destroy"
	Time     time.Time
}

// Watch yields the future events of containers that have all the labels, until the context or the
// loop ends. It ends with an error when the connection to the engine ends. A caller that connects
// again should first list the containers.
func (e *Engine) Watch(ctx context.Context, labels map[string]string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		query := filters{}.add("type", "container").
			add("event", "create", "start", "oom", "die", "stop", "pause", "unpause", "destroy").labels(labels).query()
		res, err := e.api.send(ctx, http.MethodGet, "/events", query, nil, nil)
		if err != nil {
			yield(Event{}, e.fail(ctx, "watch containers", "", err))
			return
		}
		defer res.Body.Close()
		for dec := json.NewDecoder(res.Body); ; {
			var m struct {
				Action string
				Actor  struct {
					ID         string
					Attributes map[string]string
				}
				TimeNano int64
			}
			if err := dec.Decode(&m); err != nil {
				yield(Event{}, e.fail(ctx, "watch containers", "", err))
				return
			}
			ev := Event{ID: m.Actor.ID, Name: m.Actor.Attributes["name"], Labels: m.Actor.Attributes, Action: m.Action, Time: time.Unix(0, m.TimeNano)}
			if hasLabels(ev.Labels, labels) && !yield(ev, nil) {
				return
			}
		}
	}
}
