package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// ParseInput reads the JSON that a command would be given for an event, in either
// dialect. The event's own name in it may be left out. Errors are *[Error]: unknown
// fields, wrong types, an event that is another one.
func ParseInput(event Event, raw []byte) (Input, error) {
	in := Input{Event: event}
	if _, ok := event.Info(); !ok {
		return in, &Error{What: fmt.Sprintf("there is no event %q", event)}
	}
	root, err := parseTree(raw)
	if err != nil {
		return in, err
	}
	if root.Kind != jsontree.Object {
		return in, &Error{Offset: root.At, What: root.Show() + " stands where an object is needed"}
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		return in, &Error{What: "not JSON: " + err.Error()}
	}
	parts := inputParts(event, values)
	for i := range root.Members {
		m := &root.Members[i]
		if err := in.take(m.Key, values[m.Key], parts); err != nil {
			if e, ok := errors.AsType[*Error](err); ok {
				e.Field, e.Offset = m.Key, m.At
			}
			return in, err
		}
	}
	return in, nil
}

// inputParts are the fields that an input may have: those of Claude's dialect and,
// when it is not written in that, those of seed 000's.
func inputParts(event Event, values map[string]json.RawMessage) map[string]func(*Input) any {
	parts := map[string]func(*Input) any{}
	_, claude := values[claudeEvent]
	plans := wirePlans()
	if !claude {
		for _, p := range plans[Seed][event] {
			parts[p.name] = p.at
		}
	}
	for _, p := range plans[Claude][event] {
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
		return &Error{What: fmt.Sprintf("%s has no field %q", in.Event, name), Advice: nearest(name, parts)}
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
		return &Error{What: "it has the wrong type: " + strings.TrimPrefix(err.Error(), "json: ")}
	}
	return nil
}

func isEventName(raw json.RawMessage) bool {
	var name string
	if json.Unmarshal(raw, &name) != nil {
		return false
	}
	_, _, err := ParseEvent(name)
	return err == nil
}

func (in *Input) checkEvent(raw json.RawMessage) error {
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return &Error{What: "the name of an event is needed"}
	}
	event, _, err := ParseEvent(name)
	if err != nil {
		return err
	}
	if event != in.Event {
		return &Error{What: fmt.Sprintf("it is an input of %s, not of %s", event, in.Event), Advice: "name that event, or change the file"}
	}
	return nil
}
