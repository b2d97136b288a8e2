package engine

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"
)

// Event is something that happened to a container.
type Event struct {
	ID, Name string
	Labels   map[string]string
	Action   string // "create", "start", "oom", "die", "stop", "pause", "unpause", "destroy"
	Time     time.Time
}

// Watch tells what happens from now on to the containers that have all the labels,
// until the context ends or the loop does. It ends with an error when the engine goes
// away; who goes on then looks at the containers first.
func (e *Engine) Watch(ctx context.Context, labels map[string]string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		filters := client.Filters{}
		filters.Add("type", string(events.ContainerEventType))
		filters.Add("event", "create", "start", "oom", "die", "stop", "pause", "unpause", "destroy")
		for k, v := range labels {
			filters.Add("label", k+"="+v)
		}
		r := e.api.Events(ctx, client.EventsListOptions{Filters: filters})
		for {
			select {
			case m := <-r.Messages:
				ev := Event{ID: m.Actor.ID, Name: m.Actor.Attributes["name"], Labels: m.Actor.Attributes, Action: string(m.Action), Time: time.Unix(0, m.TimeNano)}
				if has(ev.Labels, labels) && !yield(ev, nil) {
					return
				}
			case err := <-r.Err:
				if err == nil {
					err = io.ErrUnexpectedEOF
				}
				yield(Event{}, e.fail(ctx, "watch containers", "", err))
				return
			}
		}
	}
}
