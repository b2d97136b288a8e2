package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/spelling"
)

// UnmarshalJSON parses the JSON that commands read, in either dialect. If Event is set, the JSON
// may omit the event's name, but it must not contain the name of another event. Errors have the
// type *[Error]. They report unknown fields, wrong types, and a different event.
func (in *Input) UnmarshalJSON(raw []byte) error {
	root, err := parseTree(raw)
	if err != nil {
		return err
	}
	if root.Kind != jsontree.Object {
		return &Error{Offset: root.At, What: "want an object, not " + root.Show()}
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		return &Error{What: "not JSON: " + err.Error()}
	}
	if in.Event == "" {
		if in.Event, err = eventOf(values); err != nil {
			return err
		}
	}
	event := in.Event
	if _, ok := event.info(); !ok {
		return &Error{What: fmt.Sprintf("unknown event %q", event)}
	}
	parts := inputParts(event, values)
	for i := range root.Members {
		m := &root.Members[i]
		if err := in.take(m.Key, values[m.Key], parts); err != nil {
			if e, ok := errors.AsType[*Error](err); ok {
				e.Field, e.Offset = m.Key, m.At
			}
			return err
		}
	}
	return nil
}

// eventOf returns the event that an input names.
func eventOf(values map[string]json.RawMessage) (Event, error) {
	var name string
	for _, key := range [...]string{claudeEvent, seedEvent} {
		if raw, ok := values[key]; ok && json.Unmarshal(raw, &name) == nil {
			return Event(name).Canonical()
		}
	}
	return "", &Error{What: "the event name is missing", Advice: `write "hook_event_name"`}
}

// inputParts returns the fields that an input may have. These are the fields of Claude's dialect
// and, unless the input is in Claude's dialect, also the fields of the Open Agent SDK's dialect.
func inputParts(event Event, values map[string]json.RawMessage) map[string]func(*Input) any {
	parts := map[string]func(*Input) any{}
	_, claude := values[claudeEvent]
	plans := wirePlans()
	if !claude {
		for _, p := range plans[dialectSeed][event] {
			parts[p.name] = p.at
		}
	}
	for _, p := range plans[dialectClaude][event] {
		parts[p.name] = p.at
	}
	return parts
}

func (in *Input) take(name string, raw json.RawMessage, parts map[string]func(*Input) any) error {
	at, known := parts[name]
	switch {
	case name == claudeEvent, name == seedEvent && !known, name == seedEvent && isEventName(raw):
		return in.checkEvent(raw)
	case !known:
		return &Error{What: fmt.Sprintf("%s has no field %q", in.Event, name), Advice: spelling.Hint(name, slices.Sorted(maps.Keys(parts)), "the fields are")}
	case bytes.Equal(raw, []byte("null")):
		return nil
	}
	var err error
	switch at := at(in).(type) {
	case *time.Duration:
		var ms float64
		err = json.Unmarshal(raw, &ms)
		*at = time.Duration(ms * float64(time.Millisecond))
	case *json.RawMessage:
		*at = raw
	default:
		err = json.Unmarshal(raw, at)
	}
	if err != nil {
		return &Error{What: "wrong type: " + strings.TrimPrefix(err.Error(), "json: ")}
	}
	return nil
}

func isEventName(raw json.RawMessage) bool {
	var name string
	if json.Unmarshal(raw, &name) != nil {
		return false
	}
	_, _, err := parseEvent(name)
	return err == nil
}

func (in *Input) checkEvent(raw json.RawMessage) error {
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return &Error{What: "the event name is missing"}
	}
	event, _, err := parseEvent(name)
	if err != nil {
		return err
	}
	if event != in.Event {
		return &Error{What: fmt.Sprintf("the input is for %s, not for %s", event, in.Event), Advice: "use that event, or change the file"}
	}
	return nil
}
